//! Symbol versions: the needed ones by library, and the number of defined ones.

use coldstart_elf::VersionTable;
use serde::Serialize;

use super::text;
use crate::object::Object;

/// The versions of an object.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Versions {
    /// The libraries with needed versions.
    pub needed: Vec<NeededVersions>,
    /// Number of needed versions of all libraries. The loader looks up each of them at the start.
    pub needed_count: u64,
    /// Number of defined versions, including that of the file itself.
    pub defined_count: u64,
}

/// A library and the versions needed from it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NeededVersions {
    /// The library's name.
    pub library: String,
    /// The versions, such as `GLIBC_2.34`.
    pub versions: Vec<String>,
}

pub(super) fn versions(object: &Object<'_>, problems: &mut Vec<String>) -> Versions {
    let table = object.dynamic.as_ref().map(|dynamic| VersionTable::parse(&object.file, dynamic));
    let table = match table {
        Some(Ok(table)) => Some(table),
        Some(Err(error)) => {
            problems.push(error.to_string());
            None
        }
        None => None,
    };
    let needed: Vec<NeededVersions> = table
        .iter()
        .flat_map(VersionTable::needed)
        .map(|file| NeededVersions {
            library: text(file.file),
            versions: file.versions.iter().map(|version| text(version.name)).collect(),
        })
        .collect();
    Versions {
        needed_count: needed.iter().map(|file| file.versions.len() as u64).fold(0, u64::saturating_add),
        defined_count: table.map_or(0, |table| table.defined().len() as u64),
        needed,
    }
}
