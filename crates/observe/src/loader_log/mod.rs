//! The loader's activity in one start, from its own log (`LD_DEBUG` of glibc, `ld.so(8)`).
//!
//! After a change to a program's library search, the same objects have to be mapped in the same order and initialised in
//! the same order; [`compare()`] checks that. Not obvious: the log names the path of a library only where it was tried, and
//! a search that ends at a file already loaded under another name looks like one that found nothing, so the parser needs
//! to know which files are objects.
//!
//! Only the first program of the first process counts: after `execve` glibc appends to
//! the same file, which is cut off here ([`LoaderLog::became_another_program`]). musl's loader writes no log.

mod compare;
mod error;
mod lines;
mod parse;
mod program;
mod run;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use coldstart_launch::End;

pub use compare::{FirstDifference, LoaderDifference, compare};
pub use error::{LoaderLogError, NoLog};
pub use parse::parse;
pub use run::{LoaderLogMode, loader_log, relocation_cycles};

/// The loader's activity in one start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoaderLog {
    /// The program, by the name passed to the kernel; `None` if control was never transferred to it.
    pub program: Option<PathBuf>,
    /// Objects mapped before the first initialiser ran, in order: preloaded and needed ones. The program
    /// and the loader itself are mapped by the kernel, and not included.
    pub objects: Vec<MappedObject>,
    /// Objects mapped later (`dlopen`), in order.
    pub opened_later: Vec<MappedObject>,
    /// Initialisers run before control was transferred to the program, in order.
    pub initialisers: Vec<Initialiser>,
    /// Initialisers run later.
    pub initialisers_later: Vec<Initialiser>,
    /// Failed probes, in order.
    pub failed_probes: Vec<FailedProbe>,
    /// Libraries that were not found at all. `dlopen` reports that to its caller, which may ignore it.
    pub missing: Vec<Missing>,
    /// Times and counts of relocation; `None` in a listing, and if the program ended before.
    pub statistics: Option<Statistics>,
    /// The process executed another program, whose lines were cut off.
    pub became_another_program: bool,
    /// The log was longer than 256 MiB, and its end was not read.
    pub incomplete: bool,
    /// How the program ended; `None` for a log that was parsed only.
    pub end: Option<End>,
}

/// An object mapped by the loader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappedObject {
    /// As requested: a name, or a path.
    pub name: OsString,
    /// The file that was opened; as requested if no search was needed. May be relative to the program's working directory.
    pub path: PathBuf,
    /// Path of the requesting object.
    pub requester: Option<PathBuf>,
    /// Namespace: 0 for the program's own; others contain audit libraries and objects of `dlmopen`.
    pub namespace: u64,
}

/// One initialiser call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Initialiser {
    /// `DT_PREINIT_ARRAY` of the program.
    Early(PathBuf),
    /// `DT_INIT` and `DT_INIT_ARRAY` of a library.
    Library(PathBuf),
    /// Those of the program.
    Program(PathBuf),
}

impl Initialiser {
    /// The object that contains the code.
    pub fn path(&self) -> &Path {
        match self {
            Self::Early(path) | Self::Library(path) | Self::Program(path) => path,
        }
    }
}

/// A file that was tried and does not exist, or does not fit this program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedProbe {
    /// The requested library.
    pub name: OsString,
    /// The file tried.
    pub path: PathBuf,
    /// After control was transferred to the program, or in an initialiser.
    pub later: bool,
}

/// A library that was not found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// As requested.
    pub name: OsString,
    /// Path of the requesting object.
    pub requester: Option<PathBuf>,
    /// After control was transferred to the program, or in an initialiser.
    pub later: bool,
}

/// The loader's own statistics (`print_statistics` in `elf/rtld.c`), taken before the first initialiser. Times are in
/// cycles of the processor's time-stamp counter, or nanoseconds on processors without one that glibc uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Time from the loader's first instruction.
    pub total_cycles: Option<u64>,
    /// Time needed for relocation.
    pub relocation_cycles: Option<u64>,
    /// Time needed to find and map objects.
    pub load_cycles: Option<u64>,
    /// Relocations that needed a symbol look-up.
    pub relocations: Option<u64>,
    /// Look-ups answered by the previous one.
    pub relocations_from_cache: Option<u64>,
    /// Relocations that only add the load bias.
    pub relative_relocations: Option<u64>,
}
