//! `coldstart image install`: an image where people start the program.

use coldstart_app::install::{ImageToInstall, SCHEMA, install};

use crate::args::image::InstallImageArgs;
use crate::commands::installing::{StartFiles, in_words, opened, recording, request};
use crate::commands::launching::{command_line, waiting};
use crate::commands::observer::Terminal;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, json};

pub(super) fn run(args: &InstallImageArgs) -> Result<Exit, CliError> {
    let recording = recording(&waiting(&args.waiting), args.input.as_deref(), None, true)?;
    let files = StartFiles {
        image: Some(ImageToInstall::open(&args.image, &args.exclude)?),
        index: opened(args.index.as_deref())?,
        ..StartFiles::default()
    };
    let fixes = files.fixes();
    let request = request(&args.installing, command_line(&args.program), files, recording, fixes)?;
    let outcome = install(&request, &Terminal)?;
    match args.json {
        true => json::print(SCHEMA, &outcome)?,
        false => output::print(&in_words(&outcome))?,
    }
    Ok(Exit::Done)
}
