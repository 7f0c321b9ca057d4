//! Differences in the behaviour of a bound program that loads the same libraries.

use std::path::PathBuf;

use serde::Serialize;

use crate::{KeepReason, Writer};

/// A difference under circumstances other than the planned ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Caution {
    /// `LD_LIBRARY_PATH` could override these libraries and no longer can: the program's search path is an RPATH.
    NotOverridable {
        /// Requested names.
        libraries: Vec<String>,
    },
    /// These libraries were found by an RPATH, and `LD_LIBRARY_PATH` can now override them.
    NowOverridable {
        /// Requested names.
        libraries: Vec<String>,
    },
    /// A library keeps its own path and has no link.
    KeepsPath {
        /// Requested name.
        library: String,
        /// The reason.
        reason: KeepReason,
        /// Failed probes before it is found, in the planned environment.
        failed_probes: usize,
    },
    /// The options list a library that the program does not search for.
    NotSearched {
        /// The name in the options.
        library: String,
    },
    /// Libraries opened later by this one also searched an inherited RPATH; now the program loads it, and they do
    /// not.
    InheritedPathLost {
        /// Path of the library that may open others.
        library: String,
        /// Path of the object with that RPATH.
        from: String,
    },
    /// Paths are not searched: `LD_LIBRARY_PATH` no longer overrides any library.
    LdLibraryPathLost,
    /// A library preloaded from elsewhere (`LD_PRELOAD`) is loaded in addition to the one with the path.
    PreloadTwice,
    /// A name that is not the library's `DT_SONAME` is searched although its file is loaded.
    NameIsNotSoname {
        /// Requested name.
        library: String,
        /// The library's own name.
        soname: Option<String>,
    },
    /// Probes that still fail for the names above.
    ResidualProbes {
        /// Their number.
        count: usize,
    },
    /// The variant for this processor level is used on all machines.
    LevelFrozen {
        /// The planned levels, best first.
        levels: Vec<String>,
    },
    /// The program's own search path begins with `$ORIGIN`, and the bound program is in another directory.
    OriginMoves,
    /// Users without write access to the program can write to its auditing library, whose code runs in the program.
    AuditLibraryWritable {
        /// The library, or the directory in which it can be replaced.
        path: PathBuf,
        /// Who can write there.
        by: Writer,
    },
    /// A name in the program's list has no meaning on this machine and was moved to the end.
    NameWithoutMeaning {
        /// The name.
        name: String,
    },
}
