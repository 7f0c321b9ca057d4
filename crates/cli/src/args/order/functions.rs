//! Arguments of `coldstart order functions`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use coldstart_app::order::{FunctionOrder, Linker};

use crate::args::output::ForceArgs;

#[derive(Debug, Args)]
pub(crate) struct FunctionsArgs {
    /// Trace with first calls (`coldstart trace --layers functions`); several for several starts or workloads
    #[arg(required = true, value_name = "TRACE")]
    pub(crate) traces: Vec<PathBuf>,

    /// Where to write the list
    #[arg(long, short, value_name = "LIST")]
    pub(crate) output: PathBuf,

    #[command(flatten)]
    pub(crate) force: ForceArgs,

    /// Who takes the list
    #[arg(long = "for", value_enum, value_name = "LINKER")]
    pub(crate) linker: LinkerChoice,

    /// The object to order, by file name, path or soname; `*`, `?` and `[...]` are wildcards [default: the program]
    #[arg(long, value_name = "NAME")]
    pub(crate) object: Option<String>,

    /// File with the names of a stripped object: the unstripped one, or its debug file
    #[arg(long, value_name = "FILE")]
    pub(crate) symbols: Option<PathBuf>,

    /// Ask the servers in DEBUGINFOD_URLS for the names of a stripped object
    #[arg(long, conflicts_with = "symbols")]
    pub(crate) debuginfod: bool,

    /// The order
    #[arg(long, value_enum, value_name = "ORDER", default_value = "first-use")]
    pub(crate) order: OrderChoice,

    /// Add variables on touched pages; the linker moves them if they were compiled with -fdata-sections
    #[arg(long)]
    pub(crate) data: bool,

    /// The map that GNU ld printed for the traced build (`-Wl,-Map=FILE`): which function is in which section
    #[arg(long, value_name = "FILE")]
    pub(crate) map: Option<PathBuf>,

    /// Object file or archive that the linker gets; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) objects: Vec<PathBuf>,

    /// GNU ld's own script (`gcc -Wl,--verbose`): write a whole script, for versions before 2.43
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// Who takes the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LinkerChoice {
    /// LLVM's linker, `--symbol-ordering-file`
    Lld,
    /// GNU ld, `--section-ordering-file`; needs --map or --objects
    Ld,
    /// LLVM's post-link optimiser, `--function-order`
    Bolt,
}

impl From<LinkerChoice> for Linker {
    fn from(choice: LinkerChoice) -> Self {
        match choice {
            LinkerChoice::Lld => Self::Lld,
            LinkerChoice::Ld => Self::Ld,
            LinkerChoice::Bolt => Self::Bolt,
        }
    }
}

/// How functions are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OrderChoice {
    /// By their first calls
    FirstUse,
    /// So that each of several starts touches few pages
    Balanced,
    /// All functions at random: a control for `order check`
    Random,
}

impl From<OrderChoice> for FunctionOrder {
    fn from(choice: OrderChoice) -> Self {
        match choice {
            OrderChoice::FirstUse => Self::FirstUse,
            OrderChoice::Balanced => Self::Balanced,
            OrderChoice::Random => Self::Random,
        }
    }
}

pub(crate) const HELP: &str = "\
The traced program may be stripped. Names come from its own file, its debug file (by build id or .gnu_debuglink), --symbols, or a debuginfod \
server, and must be of the traced build. All names of a function are listed. Linkers move sections, so compile with -ffunction-sections; Rust does.

Exit codes: 0 written; 2 something broke, and nothing was written.

Examples:
  coldstart trace --layers functions -o start.coldtrace -- ./app --version
  coldstart order functions start.coldtrace --symbols app.unstripped --for lld -o app.order
  coldstart order functions a.coldtrace b.coldtrace --order balanced --for lld -o app.order
  coldstart order functions start.coldtrace --for ld --map app.map -o app.order";
