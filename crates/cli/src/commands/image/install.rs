//! `coldstart image install`: an image where people start the program.

use coldstart_app::install::{ImageToInstall, SCHEMA, install};
use coldstart_install::FixInUse;

use crate::args::image::InstallImageArgs;
use crate::commands::installing::{StartFile, in_words, recording, request};
use crate::commands::launching::{command_line, waiting};
use crate::commands::observer::Terminal;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, json};

pub(super) fn run(args: &InstallImageArgs) -> Result<Exit, CliError> {
    let recording = recording(&waiting(&args.waiting), args.input.as_deref(), None, true)?;
    let fixes = vec![FixInUse { fix: "image".to_owned(), before_seconds: None, after_seconds: None }];
    let image = StartFile::Image(ImageToInstall::open(&args.image, &args.exclude)?);
    let request = request(&args.installing, command_line(&args.program), image, recording, fixes)?;
    let outcome = install(&request, &Terminal)?;
    match args.json {
        true => json::print(SCHEMA, &outcome)?,
        false => output::print(&in_words(&outcome))?,
    }
    Ok(Exit::Done)
}
