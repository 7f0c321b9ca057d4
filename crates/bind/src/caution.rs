//! What a bound program does differently, although it loads the same.

use std::path::PathBuf;

use serde::Serialize;

use crate::{KeepReason, Writer};

/// Something that a bound program does differently in circumstances that are not those of the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Caution {
    /// `LD_LIBRARY_PATH` could replace these libraries, and no longer does: the program's search path is an RPATH.
    NotOverridable {
        /// Names asked for.
        libraries: Vec<String>,
    },
    /// These libraries were found by an RPATH, and `LD_LIBRARY_PATH` can replace them now.
    NowOverridable {
        /// Names asked for.
        libraries: Vec<String>,
    },
    /// A library keeps its own path and has no link.
    KeepsPath {
        /// Name asked for.
        library: String,
        /// Why.
        reason: KeepReason,
        /// Probes that fail before it is found, by the environment that was planned for.
        failed_probes: usize,
    },
    /// The options name a library to keep its path that the program does not search for.
    NotSearched {
        /// The name in the options.
        library: String,
    },
    /// What this library opens later was searched, too, by the path of one that brought it in; now the program brings it in.
    InheritedPathLost {
        /// Path of the library that may open others.
        library: String,
        /// Path of the one whose RPATH it inherited.
        from: String,
    },
    /// Paths are not searched: `LD_LIBRARY_PATH` replaces no library any more.
    LdLibraryPathLost,
    /// A library that is preloaded (`LD_PRELOAD`) from elsewhere stands beside the one named by its path.
    PreloadTwice,
    /// A name that is not the library's `DT_SONAME` is searched although its file is loaded.
    NameIsNotSoname {
        /// Name asked for.
        library: String,
        /// The library's own name.
        soname: Option<String>,
    },
    /// Probes that still fail because of the names above.
    ResidualProbes {
        /// How many.
        count: usize,
    },
    /// The variant for this processor level is chosen for all machines.
    LevelFrozen {
        /// The levels that were planned for, best first.
        levels: Vec<String>,
    },
    /// The program's own search path begins at its directory (`$ORIGIN`), and the bound one stands in another.
    OriginMoves,
    /// Users who cannot write to the program can write to its auditing library, whose code runs in the program.
    AuditLibraryWritable {
        /// The library, or the directory in which it can be replaced.
        path: PathBuf,
        /// Who may write there.
        by: Writer,
    },
    /// A name in the program's list has no meaning on this machine and was put at the end.
    NameWithoutMeaning {
        /// The name.
        name: String,
    },
}
