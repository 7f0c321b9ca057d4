//! What may be typed after `coldstart verify`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct VerifyArgs {
    /// The packed file or bound program
    #[arg(value_name = "OUT")]
    pub(crate) output: PathBuf,

    /// The file that it was made from [default: what the note in OUT restores]
    #[arg(long, value_name = "FILE")]
    pub(crate) against: Option<PathBuf>,

    /// Start a bound program and its original, and compare what the loader does and what it costs
    #[arg(long)]
    pub(crate) run: bool,

    /// How often each is started to compare the cost of relocation
    #[arg(long, value_name = "N", default_value = "7", requires = "run",
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) runs: u32,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,

    /// Arguments for the program, with --run
    #[arg(last = true, value_name = "ARGS", requires = "run")]
    pub(crate) arguments: Vec<OsString>,
}

const HELP: &str = "\
Reads both files anew and applies their relocations as a loader would, at several addresses: all memory must come out \
the same, and so must symbols, versions, unwind tables and all else that a loader or debugger looks at. Of a bound \
program, by the loader's rules the same files must be loaded in the same order, and no probe may fail but those for \
variants of the first library. Nothing is run, unless --run is given.

Exit codes: 0 the same; 1 they differ, or OUT cannot be restored; 2 something could not be read or started.

Examples:
  coldstart verify packed/libfoo.so --against libfoo.so
  coldstart verify /opt/app/libfoo.so
  coldstart verify --run /opt/app/bin/app -- --version";
