//! Arguments of `coldstart verify`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::launching::WaitingArgs;

#[derive(Debug, Args)]
#[command(
    after_help = HELP,
    mut_arg("ready", |ready| ready.requires("run")),
    // A program that never ends is awaited twice.
    mut_arg("time_limit", |limit| limit.default_value("30").requires("run")),
    mut_arg("grace", |grace| grace.requires("run")),
)]
pub(crate) struct VerifyArgs {
    /// The packed file or bound program
    #[arg(value_name = "OUT")]
    pub(crate) output: PathBuf,

    /// The original file [default: what the note in OUT restores]
    #[arg(long, value_name = "FILE")]
    pub(crate) against: Option<PathBuf>,

    /// Start a bound program and its original, and compare the loader's work and cost
    #[arg(long)]
    pub(crate) run: bool,

    /// Starts of each, to compare the cost of relocation
    #[arg(long, value_name = "N", default_value = "7", requires = "run",
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) runs: u32,

    #[command(flatten)]
    pub(crate) waiting: WaitingArgs,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,

    /// Arguments for the program, with --run
    #[arg(last = true, value_name = "ARGS", requires = "run")]
    pub(crate) arguments: Vec<OsString>,
}

const HELP: &str = "\
OUT must be unchanged since coldstart wrote it. Both files are read and their relocations applied as by a loader, at several addresses: all memory must be \
the same, and so must symbols, versions, unwind tables and all else that a loader or debugger uses. For a bound \
program, by the loader's rules the same files must be loaded in the same order, and no probe may fail except for \
variants of the first library. Nothing is run, unless --run is given.

With --run, a program that has not ended (or is not ready) at the time limit is killed with all its processes. The libraries \
loaded until then are compared; their ends and the cost of relocation are not, so the exit code is 1. Give --ready for a \
program that does not end by itself.

Exit codes: 0 the same; 1 they differ, OUT was changed since or cannot be restored, or not all could be compared; \
2 something could not be read or started.

Examples:
  coldstart verify packed/libfoo.so --against libfoo.so
  coldstart verify /opt/app/libfoo.so
  coldstart verify --run /opt/app/bin/app -- --version
  coldstart verify --run --ready port:8080 /opt/app/bin/server";
