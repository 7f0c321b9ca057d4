//! How to bind a program.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The changes to the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// All names in load order, and one link directory first on the search path. `LD_LIBRARY_PATH` and `LD_PRELOAD`
    /// work as before.
    #[default]
    Soname,
    /// The libraries' absolute paths.
    Absolute,
    /// Paths relative to the program's directory (`$ORIGIN/...`) for libraries in its tree, absolute ones for others.
    Origin,
    /// Names and search path stay; an auditing library (`DT_AUDIT`) answers from a table.
    Audit,
}

/// The form of the link directory's name on the search path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FarmText {
    /// With `$ORIGIN` if it is below the program's directory and the program is not in secure mode, else absolute.
    #[default]
    Auto,
    /// With `$ORIGIN`, wherever it is, so that program and directory can move together.
    Origin,
    /// Absolute.
    Absolute,
}

/// How to bind a program. The default is mode `soname` with the directory `.NAME.libs` next to the program.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The changes to the program.
    pub mode: Mode,
    /// The path of the bound program; none for that of the original.
    pub output: Option<PathBuf>,
    /// The absolute path of the link directory; none for `.NAME.libs` next to the bound program.
    pub farm: Option<PathBuf>,
    /// The form of the link directory's name on the search path.
    pub farm_text: FarmText,
    /// The planned processor levels, best first ("x86-64-v3", "x86-64-v2"); none for all levels of the architecture.
    /// With an empty list, only the plain libraries are planned.
    pub levels: Option<Vec<String>>,
    /// Libraries to be opened by their own path, by requested name or `DT_SONAME`.
    pub keep_path: Vec<String>,
    /// Everything below this directory moves together with the program: in mode `origin` in addition to libraries
    /// found by `$ORIGIN`, in mode `audit` the paths that the table stores relative to the program.
    pub root: Option<PathBuf>,
    /// Mode `audit`: absolute path of the auditing library.
    pub audit_library: Option<PathBuf>,
    /// Mode `audit`: check that each file exists, at the cost of a system call, so that a missing one is searched
    /// for.
    pub check_files: bool,
    /// Also bind programs that gain privileges at start.
    pub allow_secure: bool,
    /// Bind a bound program again, from the original described in its note.
    pub rebind: bool,
}
