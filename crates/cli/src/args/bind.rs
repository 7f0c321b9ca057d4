//! Arguments of `coldstart bind`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::rewriting::PlaceArgs;

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct BindArgs {
    /// The programs
    #[arg(required = true, value_name = "PROGRAM")]
    pub(crate) programs: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) place: PlaceArgs,

    /// Show the plan; write nothing
    #[arg(long, conflicts_with_all = ["output", "in_place"])]
    pub(crate) dry_run: bool,

    /// How the program finds its libraries
    #[arg(long, value_enum, value_name = "MODE", default_value = "soname")]
    pub(crate) mode: ModeChoice,

    /// Directory of links [default: .NAME.libs beside the bound program]
    #[arg(long, value_name = "DIR")]
    pub(crate) farm: Option<PathBuf>,

    /// How the program refers to the directory of links
    #[arg(long, value_enum, value_name = "HOW", default_value = "auto")]
    pub(crate) farm_text: FarmTextChoice,

    /// Processor levels to plan for, as `x86-64-v3,x86-64-v2`; `none` for plain libraries only [default: all]
    #[arg(long, value_name = "LIST")]
    pub(crate) levels: Option<String>,

    /// A library to open by its own path, because it looks for files beside itself; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) keep_path: Vec<String>,

    /// Modes origin and audit: everything below DIR moves together with the program
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,

    /// Mode audit: path of the audit library [default: .NAME.audit.so beside the bound program]
    #[arg(long, value_name = "FILE")]
    pub(crate) audit_library: Option<PathBuf>,

    /// Mode audit: check that each file exists before returning it; one system call each
    #[arg(long)]
    pub(crate) check_files: bool,

    /// Bind an already bound program again
    #[arg(long)]
    pub(crate) rebind: bool,

    /// Also bind a program if binding does not reduce its failed probes
    #[arg(long)]
    pub(crate) anyway: bool,

    /// Keep the old file as PATH; below PATH, if there are several
    #[arg(long, value_name = "PATH", requires = "in_place", conflicts_with_all = ["output", "dry_run"])]
    pub(crate) keep_original: Option<PathBuf>,

    /// Also bind privileged programs: set-user-ID, set-group-ID, file capabilities
    #[arg(long)]
    pub(crate) allow_setuid: bool,

    /// Also bind signed programs, which invalidates the signature
    #[arg(long)]
    pub(crate) allow_signed: bool,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// How the program finds its libraries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeChoice {
    /// All sonames in load order, and a directory of links first on the search path; LD_LIBRARY_PATH works as before
    Soname,
    /// The libraries' absolute paths; LD_LIBRARY_PATH no longer replaces them
    Absolute,
    /// Paths from the program's own directory for libraries of its tree
    Origin,
    /// An audit library that answers the loader; covers libraries opened later, too
    Audit,
}

/// How the program refers to the directory of links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FarmTextChoice {
    /// By $ORIGIN if it is below the program's directory, else by its absolute path
    Auto,
    /// By $ORIGIN, so that both can move together
    Origin,
    /// By its absolute path
    Absolute,
}

const HELP: &str = "\
The loader then finds each library at the first try: the program itself needs all of them, in the existing load order, \
and finds each in one directory of links. Libraries are not changed; the old search path is kept as a fallback. \
Each result is written beside its target, verified, and then renamed into place; the program is not run.

Exit codes: 0 bound; 1 a program was refused; 2 something could not be read or written, or was not proven.

Examples:
  coldstart resolve /opt/app/bin/app
  coldstart bind --in-place /opt/app/bin/app
  coldstart bind app -o bound/app --farm /opt/app/libs
  coldstart verify --run /opt/app/bin/app -- --version";
