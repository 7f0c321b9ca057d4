//! `coldstart image install`: an image where people start the program.

use coldstart_app::install::ImageToInstall;

use crate::args::image::InstallImageArgs;
use crate::commands::installing::{self, StartFiles, opened, recording};
use crate::commands::launching::waiting;
use crate::error::CliError;
use crate::exit::Exit;

pub(super) fn run(args: &InstallImageArgs) -> Result<Exit, CliError> {
    let recording = recording(&waiting(&args.waiting), args.input.as_deref(), None, true)?;
    let files = StartFiles {
        image: Some(ImageToInstall::open(&args.image, &args.exclude)?),
        index: opened(args.index.as_deref())?,
        ..StartFiles::default()
    };
    installing::run(&args.installing, &args.program, files, recording, args.json)
}
