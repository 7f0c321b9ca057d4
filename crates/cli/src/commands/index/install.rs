//! `coldstart index install`: an index where people start the program.

use coldstart_app::install::{SCHEMA, install};

use crate::args::index::InstallIndexArgs;
use crate::commands::installing::{StartFiles, in_words, opened, recording, request};
use crate::commands::launching::{command_line, waiting};
use crate::commands::observer::Terminal;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, json};

pub(super) fn run(args: &InstallIndexArgs) -> Result<Exit, CliError> {
    let recording = recording(&waiting(&args.waiting), args.input.as_deref(), None, false)?;
    let files = StartFiles { index: opened(Some(&args.index))?, ..StartFiles::default() };
    let fixes = files.fixes();
    let request = request(&args.installing, command_line(&args.program), files, recording, fixes)?;
    let outcome = install(&request, &Terminal)?;
    match args.json {
        true => json::print(SCHEMA, &outcome)?,
        false => output::print(&in_words(&outcome))?,
    }
    Ok(Exit::Done)
}
