//! Which entries a start used, from the pages of the archive that it used.

use std::collections::HashMap;

use super::ZipArchive;
use crate::used::used_parts;

/// The numbers of the entries that starts used, in the order of their first use. `starts` has the pages of each start in the order of their
/// first use. Of several starts, the smallest rank counts.
///
/// A page may hold many entries, so it is used for each of them. An entry that reaches over several pages is used only if a page was that has
/// nothing else; where it has none, both of its pages.
pub fn used_entries(archive: &ZipArchive<'_>, starts: &[Vec<u64>]) -> Vec<usize> {
    used_parts(archive.entries().iter().map(|entry| &entry.record), starts)
}

/// The numbers of the entries that have one of these names, in the order of the names. Names that no entry has are left out; of several entries
/// with one name, all are in.
pub fn named_entries<'name>(archive: &ZipArchive<'_>, names: impl IntoIterator<Item = &'name [u8]>) -> Vec<usize> {
    let mut numbers: HashMap<&[u8], Vec<usize>> = HashMap::new();
    for (number, entry) in archive.entries().iter().enumerate() {
        numbers.entry(&entry.name).or_default().push(number);
    }
    names.into_iter().filter_map(|name| numbers.remove(name)).flatten().collect()
}
