//! Arguments of `coldstart status`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct StatusArgs {
    /// Files that may have been rewritten
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

const HELP: &str = "\
Lists coldstart's edits in each file, and whether it was changed since. For a bound program it also lists later changes: libraries that \
were removed or have other content, links with another target, libraries that the program's own search path would now find \
elsewhere. Nothing is run.

Exit codes: 0 nothing has changed; 1 something has, or a file holds no edit of ours; 2 something could not be read.

Examples:
  coldstart status /opt/app/bin/app
  coldstart status --json /opt/app/bin/*";
