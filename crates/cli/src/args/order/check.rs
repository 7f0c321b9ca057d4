//! Arguments of `coldstart order check`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use crate::args::launching::LaunchingArgs;

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The list
    #[arg(value_name = "LIST")]
    pub(crate) list: PathBuf,

    /// The build without the list, or its debug file
    #[arg(long, value_name = "OLD")]
    pub(crate) before: PathBuf,

    /// The build with the list
    #[arg(long, value_name = "NEW")]
    pub(crate) after: PathBuf,

    /// A build in a random order (`order functions --order random`)
    #[arg(long, value_name = "BUILD", requires = "words")]
    pub(crate) control: Option<PathBuf>,

    /// Trace of OLD, to predict the pages of its start; may be repeated
    #[arg(long, value_name = "TRACE")]
    pub(crate) trace: Vec<PathBuf>,

    /// Trace of OLD that the list was made without; may be repeated
    #[arg(long, value_name = "TRACE")]
    pub(crate) held_out: Vec<PathBuf>,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) launching: LaunchingArgs,

    /// A program to start with each build, which replaces `{}`
    #[arg(trailing_var_arg = true, value_name = "PROGRAM")]
    pub(crate) words: Vec<OsString>,
}

pub(crate) const HELP: &str = "\
Both builds must have the same functions of the same sizes, and symbols or debug files. Traces predict the pages; with a program, starts of both \
builds are traced and their pages of code are counted.

Exit codes: 0 a gain; 1 no gain, or the builds differ in more than the order; 2 something broke.

Examples:
  coldstart order check app.order --before app.old --after app --trace start.coldtrace
  coldstart order check app.order --before app.old --after app --control app.random -- {} --version
  coldstart order check lib.order --before old/libx.so --after libx.so -- env LD_PRELOAD={} ./app";
