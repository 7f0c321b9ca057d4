//! The image of one recorded start, for those who have the recording already.

use std::ffi::OsString;
use std::path::Path;

use anyhow::anyhow;
use coldstart_image::tree::Collector;
use coldstart_image::{Compression, FirstTouches, hot_order};
use coldstart_launch::{CommandLine, Interrupt, LaunchOptions};
use coldstart_output::OutputTarget;
use coldstart_profile::WorkingSet;

use super::closure::{self, LeftOut};
use super::complete::Completing;
use super::in_place::keep_coverable;
use super::make::text_of;
use super::outside;
use crate::error::AppError;
use crate::kinds;
use crate::observer::Silent;

/// An image of a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ImageOfStart {
    /// Its size.
    pub(crate) bytes: u64,
    /// Bytes that a start reads of it.
    pub(crate) read_bytes: u64,
}

/// Makes an image in the order of a recorded start, and starts the program from it.
///
/// # Errors
/// If it cannot be made, or no start from it is possible.
pub(crate) fn image_of_start(
    set: &WorkingSet,
    compression: Compression,
    command: &CommandLine,
    launch: &LaunchOptions,
    path: &Path,
    interrupt: &Interrupt,
) -> Result<ImageOfStart, AppError> {
    let output = OutputTarget::new(path, kinds::START_IMAGE, false)?;
    let mut collector = Collector::new(Path::new("/"))?;
    closure::add(&mut collector, set, &mut LeftOut::default())?;
    let (mut entries, trees) = collector.finish();
    let words: Vec<OsString> =
        std::iter::once(&command.program).chain(&command.arguments).map(|word| word.to_os_string()).collect();
    let program = text_of(&words);
    let touches = [FirstTouches::of_working_set(program.clone(), set)];
    let mut hot = hot_order(&touches).ok_or_else(|| anyhow!("no order of the start's pages can be made"))?;
    keep_coverable(&mut hot, &mut entries, false);
    hot.outside = outside::plans(&hot, &[(&program, set)])?;
    let completing = Completing {
        entries,
        trees,
        compression,
        output: &output,
        command,
        launch,
        drop_caches: true,
        program,
        interrupt,
        observer: &Silent,
    };
    let completed = completing.write(hot)?;
    match completed.untried {
        Some(error) => Err(error),
        None => {
            let size = completed.written.size;
            Ok(ImageOfStart { bytes: size.total, read_bytes: size.metadata.saturating_add(size.hot) })
        }
    }
}
