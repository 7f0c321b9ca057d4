//! What may be typed after `coldstart bind`.

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

    /// Plan and say what would be done; write nothing
    #[arg(long, conflicts_with_all = ["output", "in_place"])]
    pub(crate) dry_run: bool,

    /// What is written into the program
    #[arg(long, value_enum, value_name = "MODE", default_value = "soname")]
    pub(crate) mode: ModeChoice,

    /// Where the folder of links goes [default: .NAME.libs beside the bound program]
    #[arg(long, value_name = "DIR")]
    pub(crate) farm: Option<PathBuf>,

    /// How the folder of links is named in the program
    #[arg(long, value_enum, value_name = "HOW", default_value = "auto")]
    pub(crate) farm_text: FarmTextChoice,

    /// Processor levels to plan for, as `x86-64-v3,x86-64-v2`; `none` for plain libraries alone [default: all]
    #[arg(long, value_name = "LIST")]
    pub(crate) levels: Option<String>,

    /// A library that shall be opened by its own path, because it looks for files beside itself; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) keep_path: Vec<String>,

    /// Modes origin and audit: everything below DIR moves together with the program
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,

    /// Mode audit: where the library that answers the loader goes [default: .NAME.audit.so beside the bound program]
    #[arg(long, value_name = "FILE")]
    pub(crate) audit_library: Option<PathBuf>,

    /// Mode audit: look for each file before it is named; one system call each
    #[arg(long)]
    pub(crate) check_files: bool,

    /// Bind a program that is bound already anew
    #[arg(long)]
    pub(crate) rebind: bool,

    /// Bind a program, too, whose libraries are found without trying more files than bound
    #[arg(long)]
    pub(crate) anyway: bool,

    /// Keep the file that was there before as PATH; below PATH, when there are several
    #[arg(long, value_name = "PATH", requires = "in_place", conflicts_with_all = ["output", "dry_run"])]
    pub(crate) keep_original: Option<PathBuf>,

    /// Bind programs that run with other rights than their caller's: set-user-ID, set-group-ID, capabilities
    #[arg(long)]
    pub(crate) allow_setuid: bool,

    /// Bind programs that are signed, whose signature will not fit any more
    #[arg(long)]
    pub(crate) allow_signed: bool,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// What is written into the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeChoice {
    /// All names in load order, and a folder of links first on the search path; LD_LIBRARY_PATH works as before
    Soname,
    /// The libraries' absolute paths; LD_LIBRARY_PATH no longer replaces them
    Absolute,
    /// Paths from the program's own folder for libraries of its tree
    Origin,
    /// Nothing but a library that answers the loader; covers what is opened later, too
    Audit,
}

/// How the folder of links is named in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FarmTextChoice {
    /// By $ORIGIN when it stands below the program's folder, else by its absolute path
    Auto,
    /// By $ORIGIN, so that both can move together
    Origin,
    /// By its absolute path
    Absolute,
}

const HELP: &str = "\
The loader then finds each library at the first try: the program asks for all of them itself, in the order in which they \
are loaded anyway, and finds each in one folder of links. Libraries are not touched; the old search path stays behind. \
Each result is written beside its target, proven, and only then put in place; the program is not run.

Exit codes: 0 bound; 1 a program was refused; 2 something could not be read or written, or was not proven.

Examples:
  coldstart resolve /opt/app/bin/app
  coldstart bind --in-place /opt/app/bin/app
  coldstart bind app -o bound/app --farm /opt/app/libs
  coldstart verify --run /opt/app/bin/app -- --version";
