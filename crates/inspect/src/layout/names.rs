//! Names that the loader uses: needed libraries, the soname, and search paths.

use std::collections::HashSet;

use coldstart_elf::{NameRoom, Tag};
use serde::Serialize;

use super::text;
use crate::object::Object;

/// Names in the dynamic table.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LoaderNames {
    /// Needed libraries, in order (`DT_NEEDED`).
    pub needed: Vec<String>,
    /// Its own name (`DT_SONAME`).
    pub soname: Option<String>,
    /// `DT_RPATH` as stored.
    pub rpath: Option<String>,
    /// `DT_RUNPATH` as stored.
    pub runpath: Option<String>,
    /// Its interpreter (`PT_INTERP`).
    pub interpreter: Option<String>,
    /// Number of directories in the effective search path; the loader probes them in turn for each library.
    /// `DT_RPATH` is ignored if `DT_RUNPATH` is present (glibc `elf/dl-load.c`, `decompose_rpath`).
    pub search_directories: u64,
}

pub(super) fn names(object: &Object<'_>, problems: &mut Vec<String>) -> LoaderNames {
    let interpreter = object.file.interpreter().map(text);
    let Some(dynamic) = &object.dynamic else { return LoaderNames { interpreter, ..Default::default() } };
    let strings = match object.file.dynamic_strings(dynamic) {
        Ok(strings) => strings,
        Err(error) => {
            problems.push(error.to_string());
            return LoaderNames { interpreter, ..Default::default() };
        }
    };
    let name = |offset: u64| strings.get(offset).map(text);
    let of_tag = |tag| dynamic.get(tag).and_then(name);
    let (rpath, runpath) = (of_tag(Tag::RPATH), of_tag(Tag::RUNPATH));
    let mut room = NameRoom::of(&object.file);
    let mut needed = Vec::new();
    for name in dynamic.all(Tag::NEEDED).filter_map(|offset| strings.get(offset)) {
        if let Err(error) = room.take(name) {
            problems.push(error.to_string());
            break;
        }
        needed.push(text(name));
    }
    LoaderNames {
        needed,
        soname: of_tag(Tag::SONAME),
        search_directories: runpath.as_deref().or(rpath.as_deref()).map_or(0, directories),
        rpath,
        runpath,
        interpreter,
    }
}

/// Empty elements mean the current directory; an empty path has none. A repeated directory is searched once (glibc
/// `elf/dl-load.c`, `fillin_rpath`).
fn directories(path: &str) -> u64 {
    if path.is_empty() {
        return 0;
    }
    let without_slashes = |directory: &'_ str| match directory.trim_end_matches('/') {
        "" if !directory.is_empty() => "/".to_owned(),
        directory => directory.to_owned(),
    };
    let known: HashSet<String> = path.split(':').map(without_slashes).collect();
    known.len() as u64
}
