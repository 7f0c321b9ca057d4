//! `image`: make, verify and show start images.

mod closure;
mod make;
mod rooted;
mod show;
mod target;
mod verify;

use std::fs::File;
use std::path::Path;

use anyhow::Context;
use coldstart_image::read::{Image, ReadError};
use coldstart_profile::printable;
use coldstart_sys::named_file::open_regular;

use crate::error::AppError;

pub use make::{MakeOptions, MakeOutcome, RecordedStart, make};
pub use show::{HotFileSummary, ProgramSummary, ShowOutcome, show};
pub use verify::{AgainstOutcome, KernelOutcome, ShownDifference, VerifyOptions, VerifyOutcome, verify};

/// Opens an image by name.
fn open(path: &Path) -> Result<Image<File>, AppError> {
    let named = || format!("cannot use the image `{}`", printable(path));
    let file = open_regular(path).with_context(named)?;
    Ok(image_of(file).with_context(named)?)
}

/// The image in a file, which must end where the image ends.
fn image_of(file: File) -> Result<Image<File>, ReadError> {
    let image = Image::open(file)?;
    if image.behind()? == 0 {
        return Ok(image);
    }
    let problem = "there are bytes behind the image";
    Err(ReadError::Malformed { what: "the file", offset: image.superblock().length(), problem })
}

/// An image's UUID as text.
fn uuid_text(uuid: &[u8; 16]) -> String {
    let mut text = String::with_capacity(36);
    for (place, byte) in uuid.iter().enumerate() {
        if [4, 6, 8, 10].contains(&place) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}
