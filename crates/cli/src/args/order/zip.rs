//! Arguments of `coldstart order zip`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::args::output::ForceArgs;

#[derive(Debug, Args)]
pub(crate) struct ZipArgs {
    /// The zip file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Where to write the new one
    #[arg(long, short, value_name = "OUT")]
    pub(crate) output: PathBuf,

    /// Trace of a start that used FILE, with pages and files; may be given several times
    #[arg(long = "trace", required = true, value_name = "TRACE")]
    pub(crate) traces: Vec<PathBuf>,

    /// Where the central directory lies [default: as in FILE]
    #[arg(long, value_enum, value_name = "LAYOUT")]
    pub(crate) layout: Option<LayoutChoice>,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) force: ForceArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LayoutChoice {
    /// Behind the entries: every program reads that
    Plain,
    /// In front, with what Firefox reads ahead: for omni.ja; most other programs cannot read it
    Mozilla,
}

pub(crate) const HELP: &str = "\
Entries that the starts used come first, in the order of their first use, and are copied byte for byte; the central directory keeps its \
order. The new file is read again and compared before it gets its name. A jar's manifest stays first. Signed archives are refused: put them \
into order first, and sign them then.

Exit codes: 0 written; 2 refused, wrong usage, or something broke. FILE is never changed.

Examples:
  coldstart order zip app.jar -o ordered.jar --trace start.coldtrace
  coldstart order zip omni.ja -o new.ja --layout mozilla --trace firefox.coldtrace";
