//! Lists of directories, and glibc's per-process memory of each directory.

use std::collections::{HashMap, HashSet};

/// The known state of one subdirectory of a directory (`enum r_dir_status` in glibc's ldsodefs.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Unknown,
    Absent,
    Exists,
}

/// A searched directory: its name with a trailing slash, or empty for the current directory.
#[derive(Debug)]
pub(crate) struct Directory {
    pub(crate) name: Vec<u8>,
    /// One for each subdirectory.
    pub(crate) status: Vec<Status>,
}

impl Directory {
    /// Whether any of its subdirectories or itself is not known to be absent.
    pub(crate) fn may_exist(&self) -> bool {
        self.status.iter().any(|&status| status != Status::Absent)
    }
}

/// All directories of a process, each once however many lists contain it (`_dl_all_dirs`).
#[derive(Debug, Default)]
pub(crate) struct Directories {
    all: Vec<Directory>,
    known: HashMap<Vec<u8>, usize>,
    subdirectories: usize,
}

impl Directories {
    /// An empty set; each directory will have this many subdirectories.
    pub(crate) fn new(subdirectories: usize) -> Self {
        Self { subdirectories, ..Self::default() }
    }

    pub(crate) fn get(&self, directory: usize) -> Option<&Directory> {
        self.all.get(directory)
    }

    pub(crate) fn get_mut(&mut self, directory: usize) -> Option<&mut Directory> {
        self.all.get_mut(directory)
    }

    /// The directories of a list, expanded by `expand`, without duplicates (`fillin_rpath` in elf/dl-load.c).
    pub(crate) fn list(
        &mut self,
        text: &[u8],
        separators: &[u8],
        expand: impl Fn(&[u8]) -> Option<Vec<u8>>,
    ) -> Vec<usize> {
        let mut list = Vec::new();
        let mut listed = HashSet::new();
        for element in text.split(|byte| separators.contains(byte)) {
            // An empty element is the current directory; one that becomes empty by expansion is skipped.
            let name = if element.is_empty() {
                Vec::new()
            } else {
                match expand(element) {
                    Some(name) if !name.is_empty() => with_one_slash(name),
                    _ => continue,
                }
            };
            let directory = self.enter(name);
            if listed.insert(directory) {
                list.push(directory);
            }
        }
        list
    }

    /// The index of a directory.
    pub(crate) fn enter(&mut self, name: Vec<u8>) -> usize {
        if let Some(&directory) = self.known.get(&name) {
            return directory;
        }
        // The current directory may change, so a relative directory is never remembered as absent.
        let status = if name.first() == Some(&b'/') { Status::Unknown } else { Status::Exists };
        self.known.insert(name.clone(), self.all.len());
        self.all.push(Directory { name, status: vec![status; self.subdirectories] });
        self.all.len() - 1
    }
}

/// The name with exactly one slash at the end.
pub(crate) fn with_one_slash(mut name: Vec<u8>) -> Vec<u8> {
    while name.len() > 1 && name.last() == Some(&b'/') {
        name.pop();
    }
    if name.last() != Some(&b'/') {
        name.push(b'/');
    }
    name
}
