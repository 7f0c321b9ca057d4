//! How a program shall be bound.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What is written into the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// All names in load order, and one directory of links first on the search path. `LD_LIBRARY_PATH` and `LD_PRELOAD` work
    /// as before.
    #[default]
    Soname,
    /// The libraries' absolute paths.
    Absolute,
    /// Paths from the program's own directory (`$ORIGIN/...`) for libraries of its tree, absolute ones for others.
    Origin,
    /// Names and search path stay; a library that audits the loader (`DT_AUDIT`) answers from a table.
    Audit,
}

/// How the directory of links is named on the search path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FarmText {
    /// By `$ORIGIN` when it stands below the program's directory and the program gains no rights, else by its absolute path.
    #[default]
    Auto,
    /// By `$ORIGIN`, wherever it stands, so that program and directory can move together.
    Origin,
    /// By its absolute path.
    Absolute,
}

/// How a program shall be bound. The default is mode `soname` with the directory `.NAME.libs` beside the program.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What is written into the program.
    pub mode: Mode,
    /// Where the bound program will stand; none for the place of the original.
    pub output: Option<PathBuf>,
    /// The directory of links, as an absolute path; none for `.NAME.libs` beside the bound program.
    pub farm: Option<PathBuf>,
    /// How the directory of links is named on the search path.
    pub farm_text: FarmText,
    /// Processor levels to plan for, best first ("x86-64-v3", "x86-64-v2"); none for all that the machine's kind has.
    /// An empty list plans for the plain libraries alone.
    pub levels: Option<Vec<String>>,
    /// Libraries that shall be opened by their own path, by the name asked for or `DT_SONAME`.
    pub keep_path: Vec<String>,
    /// Everything below this directory moves together with the program: in mode `origin` besides what was found by `$ORIGIN`,
    /// in mode `audit` what the table names relative to the program.
    pub root: Option<PathBuf>,
    /// Mode `audit`: absolute path of the library that audits.
    pub audit_library: Option<PathBuf>,
    /// Mode `audit`: look for each file before it is named, at a system call each, so that one that has gone is searched for.
    pub check_files: bool,
    /// Bind programs, too, that gain rights when they start.
    pub allow_secure: bool,
    /// Bind a program that is bound already anew, from what its note says of the original.
    pub rebind: bool,
}
