//! The audit library's results: from requester and name to a file.
//!
//! Names and paths are bytes, as everywhere in the loader's rules.

use std::collections::{BTreeMap, BTreeSet};

/// The path of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// An absolute path. It cannot contain a `$`: the loader expands `$ORIGIN` and the like in names.
    Absolute(Vec<u8>),
    /// A path relative to the directory of the running program (`/proc/self/exe`, so links to the program are
    /// followed). The first one costs the program one system call.
    FromProgram(Vec<u8>),
}

/// The requester of a library.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Requester {
    /// The program itself.
    Program,
    /// A library, by the path under which the loader opened it, in the same spelling: the path from a table, or
    /// directory and name from the loader's search. An object with another path is in no group.
    Library(Place),
}

/// The result for a name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Found {
    /// The file.
    pub place: Place,
    /// Found by `DT_RPATH`, which the loader searches before `LD_LIBRARY_PATH`; other results are used only if no
    /// directory in `LD_LIBRARY_PATH` contains the name.
    pub before_library_path: bool,
}

/// Requesters with the same results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// The requesters; each may be in one group only.
    pub requesters: BTreeSet<Requester>,
    /// By requested name: mostly a plain name, but names with slashes are possible.
    pub entries: BTreeMap<Vec<u8>, Found>,
}

/// All results for one program. The loader searches for other names as before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// Whether the library checks that a file exists before it returns its path; this costs a system call each.
    /// Without the check, a removed file makes its load fail, because the loader does not continue the search.
    pub check_files: bool,
    /// Results for all requesters, also those in no group; a group's own result is preferred.
    pub for_all: BTreeMap<Vec<u8>, Found>,
    /// Results for some requesters.
    pub groups: Vec<Group>,
}

impl Table {
    /// Number of results in all groups.
    pub fn len(&self) -> usize {
        self.groups.iter().map(|group| group.entries.len()).fold(self.for_all.len(), usize::saturating_add)
    }

    /// Whether there are no results.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Place {
    /// The path, absolute or relative.
    pub fn path(&self) -> &[u8] {
        match self {
            Self::Absolute(path) | Self::FromProgram(path) => path,
        }
    }
}
