//! What may be typed after `coldstart verify`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::launching::WaitingArgs;

#[derive(Debug, Args)]
#[command(
    after_help = HELP,
    mut_arg("ready", |ready| ready.requires("run")),
    // An end that never comes is waited for twice.
    mut_arg("time_limit", |limit| limit.default_value("30").requires("run")),
    mut_arg("grace", |grace| grace.requires("run")),
)]
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
OUT must be as coldstart wrote it. Reads both files anew and applies their relocations as a loader would, at several addresses: all memory must come out \
the same, and so must symbols, versions, unwind tables and all else that a loader or debugger looks at. Of a bound \
program, by the loader's rules the same files must be loaded in the same order, and no probe may fail but those for \
variants of the first library. Nothing is run, unless --run is given.

With --run, a program that has not ended (or is not ready) at the time limit is ended with all its processes. What both \
loaded until then is compared; how they end and what relocation costs is not, so the answer is 1. Give --ready for a \
program that does not end by itself.

Exit codes: 0 the same; 1 they differ, OUT was changed since or cannot be restored, or not all could be compared; \
2 something could not be read or started.

Examples:
  coldstart verify packed/libfoo.so --against libfoo.so
  coldstart verify /opt/app/libfoo.so
  coldstart verify --run /opt/app/bin/app -- --version
  coldstart verify --run --ready port:8080 /opt/app/bin/server";
