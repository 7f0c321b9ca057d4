//! `image`: make, verify, show and mount start images.

mod closure;
mod complete;
mod exclude;
mod in_place;
mod make;
mod mount;
mod of_start;
mod outside;
pub(crate) mod rooted;
mod second_start;
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

pub use coldstart_image::Compression;
pub use coldstart_image::start::uuid_text;
pub use make::{MakeOptions, MakeOutcome, RecordedStart, make};
pub use mount::{MountOutcome, mount, unmount};
pub(crate) use mount::{is_mounted, unmount_uuid};
pub(crate) use of_start::{ImageOfStart, image_of_start};
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
