//! What may be typed after `coldstart verify`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct VerifyArgs {
    /// The packed file
    #[arg(value_name = "OUT")]
    pub(crate) output: PathBuf,

    /// The file that it was made from [default: what the note in OUT restores]
    #[arg(long, value_name = "FILE")]
    pub(crate) against: Option<PathBuf>,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

const HELP: &str = "\
Reads both files anew and applies their relocations as a loader would, at several addresses: all memory must come out \
the same, and so must symbols, versions, unwind tables and all else that a loader or debugger looks at. Nothing is run.

Exit codes: 0 the same; 1 they differ, or OUT cannot be restored; 2 something could not be read.

Examples:
  coldstart verify packed/libfoo.so --against libfoo.so
  coldstart verify /opt/app/libfoo.so";
