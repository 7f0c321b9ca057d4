//! Phases of a start.

use serde::{Deserialize, Serialize};

use super::{FileId, Moment, PhaseId, ProcessId};

/// An interval of a process's time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// The process.
    pub process: ProcessId,
    /// The kind.
    pub kind: PhaseKind,
    /// The object; `None` if it concerns all.
    pub file: Option<FileId>,
    /// Of an initialiser: its address without load bias.
    pub address: Option<u64>,
    /// First moment.
    pub begin: Moment,
    /// End, exclusive.
    pub end: Moment,
    /// The parent phase.
    pub parent: Option<PhaseId>,
    /// How its ends were determined.
    pub known: Known,
}

/// The kind of a phase. Ordered as in a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PhaseKind {
    /// The kernel replaces the process's image: from the call of `execve` to the first instruction.
    Exec,
    /// The loader relocates itself and reads its parameters, up to the first library.
    LoaderStart,
    /// Libraries are found and mapped.
    Mapping,
    /// Words are relocated and symbols looked up.
    Relocation,
    /// The loader clears the rest of a data segment's last page.
    Zeroing,
    /// Functions before `main` run.
    Initialisers,
    /// One of them.
    Initialiser,
    /// From the program's entry point to `main`, without initialisers.
    Runtime,
    /// From `main` to readiness, or to the end.
    Main,
    /// One `dlopen`: from the first change to the list of objects to the end of its initialisers.
    Dlopen,
    /// One `dlclose` that unmapped something.
    Dlclose,
}

impl PhaseKind {
    /// All, in order.
    pub const ALL: [Self; 11] = [
        Self::Exec,
        Self::LoaderStart,
        Self::Mapping,
        Self::Relocation,
        Self::Zeroing,
        Self::Initialisers,
        Self::Initialiser,
        Self::Runtime,
        Self::Main,
        Self::Dlopen,
        Self::Dlclose,
    ];

    /// In one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exec => "exec",
            Self::LoaderStart => "loader-start",
            Self::Mapping => "mapping",
            Self::Relocation => "relocation",
            Self::Zeroing => "zeroing",
            Self::Initialisers => "initialisers",
            Self::Initialiser => "initialiser",
            Self::Runtime => "runtime",
            Self::Main => "main",
            Self::Dlopen => "dlopen",
            Self::Dlclose => "dlclose",
        }
    }

    /// Its description.
    pub fn words(self) -> &'static str {
        match self {
            Self::Exec => "execve",
            Self::LoaderStart => "loader's own start",
            Self::Mapping => "finding and mapping libraries",
            Self::Runtime => "runtime, up to main",
            other => other.name(),
        }
    }
}

/// How the ends of a phase were determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Known {
    /// The program was seen at both ends.
    Exactly,
    /// The end is the next observation: it was over by then.
    EndAtMost,
    /// From the page touches between two observed ends.
    FromTouches,
}

impl Known {
    /// All, in order.
    pub const ALL: [Self; 3] = [Self::Exactly, Self::EndAtMost, Self::FromTouches];

    /// In a word or two.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exactly => "exactly",
            Self::EndAtMost => "end-at-most",
            Self::FromTouches => "from-touches",
        }
    }
}
