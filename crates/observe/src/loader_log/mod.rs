//! What the loader did for one start, by its own account (`LD_DEBUG` of glibc, `ld.so(8)`).
//!
//! After a change to how a program's libraries are found, the same objects have to be mapped in the same order and initialised in
//! the same order; [`compare()`] says so. Not obvious: the log names the path of a library only where it tried it, and
//! a search that ends at a file already loaded under another name looks in the log like one that found nothing, so parsing needs
//! to be told which files are objects.
//!
//! Only the first process counts, and of it only the first program: what it becomes by `execve` is appended by glibc to
//! the same file, and cut off here ([`LoaderLog::became_another_program`]). musl's loader keeps no log.

mod compare;
mod error;
mod lines;
mod parse;
mod program;
mod run;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use coldstart_launch::End;

pub use compare::{LoaderDifference, Parting, compare};
pub use error::{LoaderLogError, NoLog};
pub use parse::parse;
pub use run::{LoaderLogMode, loader_log, relocation_cycles};

/// What the loader did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoaderLog {
    /// The program as the kernel was told its name; `None` if control was never transferred to it.
    pub program: Option<PathBuf>,
    /// Objects mapped before the first initialiser ran, in order: preloaded ones and those that the program needs. The program
    /// and the loader itself are mapped by the kernel, and not among them.
    pub objects: Vec<MappedObject>,
    /// Objects mapped later (`dlopen`), in order.
    pub opened_later: Vec<MappedObject>,
    /// Initialisers run until the program got control, in order.
    pub initialisers: Vec<Initialiser>,
    /// Initialisers run later.
    pub initialisers_later: Vec<Initialiser>,
    /// Files tried in vain, in order.
    pub failed_probes: Vec<FailedProbe>,
    /// Libraries that were not found at all. `dlopen` reports that to its caller, who may not mind.
    pub missing: Vec<Missing>,
    /// Times and counts of relocation; `None` in a listing, and if the program did not get so far.
    pub statistics: Option<Statistics>,
    /// The process went on to execute another program, whose lines were cut off.
    pub became_another_program: bool,
    /// The log was longer than 256 MiB, and its end has not been read.
    pub incomplete: bool,
    /// How the program ended; `None` for a log that was parsed only.
    pub end: Option<End>,
}

/// An object that the loader mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappedObject {
    /// As asked for: a name, or a path.
    pub name: OsString,
    /// The file that was opened; as asked for if no search was needed. May be relative to the program's working directory.
    pub path: PathBuf,
    /// Path of the object that asked.
    pub requester: Option<PathBuf>,
    /// 0 for the program's own; others hold audit libraries and what `dlmopen` loads.
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
    /// The object whose code it is.
    pub fn path(&self) -> &Path {
        match self {
            Self::Early(path) | Self::Library(path) | Self::Program(path) => path,
        }
    }
}

/// A file that was tried and is not there, or not fit for this program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedProbe {
    /// The library looked for.
    pub name: OsString,
    /// The file tried.
    pub path: PathBuf,
    /// After the program got control, or in an initialiser.
    pub later: bool,
}

/// A library that was not found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// As asked for.
    pub name: OsString,
    /// Path of the object that asked.
    pub requester: Option<PathBuf>,
    /// After the program got control, or in an initialiser.
    pub later: bool,
}

/// Figures of the loader's own (`print_statistics` in `elf/rtld.c`), taken before the first initialiser. Times are in
/// cycles of the processor's time-stamp counter, or nanoseconds on processors without one that glibc uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Time from the loader's first instruction.
    pub total_cycles: Option<u64>,
    /// Time needed for relocation.
    pub relocation_cycles: Option<u64>,
    /// Time needed to find and map objects.
    pub load_cycles: Option<u64>,
    /// Relocations that needed a symbol's look-up.
    pub relocations: Option<u64>,
    /// Look-ups answered by the one right before.
    pub relocations_from_cache: Option<u64>,
    /// Relocations that only add the load bias.
    pub relative_relocations: Option<u64>,
}
