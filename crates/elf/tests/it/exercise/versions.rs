//! Symbol versions.

use std::hint::black_box;

use coldstart_elf::VersionTable;

use super::{Input, MOST_STEPS, open, walk};

/// Reads the version tables.
pub fn exercise(bytes: &[u8]) {
    let Input::File(file, Some(dynamic)) = open(bytes) else { return };
    match VersionTable::parse(&file, &dynamic) {
        Ok(table) => {
            for needed in table.needed() {
                assert!(!needed.file.contains(&0));
                walk(needed.versions.iter().map(|version| table.name_of(version.index)));
            }
            walk(table.defined().iter().map(|version| table.name_of(version.index)));
            let numbers = (0..MOST_STEPS as u32).chain([u32::MAX]);
            walk(numbers.filter_map(|number| table.version_of(number)).map(|version| table.name_of(version.index)));
            black_box(table.has_symbol_versions());
        }
        Err(error) => drop(black_box(error.to_string())),
    }
}
