//! What the audit library answers: for which requester, under which name, is which file.
//!
//! Names and paths are bytes, as everywhere where the loader's rules are followed.

use std::collections::{BTreeMap, BTreeSet};

/// Where a file is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// An absolute path. The loader replaces `$ORIGIN` and its like in names, so a path with a dollar cannot be said.
    Absolute(Vec<u8>),
    /// A path from the directory of the running program (`/proc/self/exe`, so links to the program are followed). The first
    /// of them costs the program one system call.
    FromProgram(Vec<u8>),
}

/// Who asks for a library.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Requester {
    /// The program itself.
    Program,
    /// A library, by the path under which the loader opened it, spelt as it was: what a table gave out, or directory and
    /// name where the loader searched. An object under another path is known to no group.
    Library(Place),
}

/// The answer for a name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Found {
    /// The file.
    pub place: Place,
    /// Found by `DT_RPATH`, which the loader searches before `LD_LIBRARY_PATH`; other answers are given only when
    /// nothing in `LD_LIBRARY_PATH` has the name.
    pub before_library_path: bool,
}

/// Requesters with the same answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// Who they are; each may be in one group only.
    pub requesters: BTreeSet<Requester>,
    /// By the name as it is asked for: mostly a plain name, but one with slashes may stand here, too.
    pub entries: BTreeMap<Vec<u8>, Found>,
}

/// All answers for one program. Names that are not in it are searched by the loader as ever.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// Whether the library looks for a file before it answers with it, which costs a system call for each. Without, a
    /// file that has gone since makes its load fail, for the loader does not go on searching.
    pub check_files: bool,
    /// Answers for everybody, also for requesters in no group; a group's own answer goes first.
    pub for_all: BTreeMap<Vec<u8>, Found>,
    /// Answers for some.
    pub groups: Vec<Group>,
}

impl Table {
    /// How many answers there are, all groups together.
    pub fn len(&self) -> usize {
        self.groups.iter().map(|group| group.entries.len()).fold(self.for_all.len(), usize::saturating_add)
    }

    /// Whether there is no answer at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Place {
    /// The path, whatever it is relative to.
    pub fn path(&self) -> &[u8] {
        match self {
            Self::Absolute(path) | Self::FromProgram(path) => path,
        }
    }
}
