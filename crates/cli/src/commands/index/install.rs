//! `coldstart index install`: an index where people start the program.

use crate::args::index::InstallIndexArgs;
use crate::commands::installing::{self, StartFiles, opened, recording};
use crate::commands::launching::waiting;
use crate::error::CliError;
use crate::exit::Exit;

pub(super) fn run(args: &InstallIndexArgs) -> Result<Exit, CliError> {
    let recording = recording(&waiting(&args.waiting), args.input.as_deref(), None, false)?;
    let files = StartFiles { index: opened(Some(&args.index))?, ..StartFiles::default() };
    installing::run(&args.installing, &args.program, files, recording, args.json)
}
