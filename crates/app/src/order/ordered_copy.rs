//! A copy of a zip file or an AppImage in the order of a start, to take its place: for trials and installations.

use std::path::{Path, PathBuf};

use coldstart_launch::Interrupt;
use coldstart_profile::printable;
use coldstart_sys::file_view::FileView;
use coldstart_sys::named_file::open_regular;

use super::appimage::{appimage_signature, ordered_appimage};
use super::order_by::OrderBy;
use super::zip::ordered_zip;
use crate::error::{AppError, HintExt};

/// Writes `original` in another order to `replacement`, where nothing is, and proves that it holds the same. Returns the names that came first, in
/// their order.
///
/// # Errors
/// If it is neither a zip file nor an AppImage, is signed or damaged, holds nothing that the start used, or the copy cannot be written.
pub(crate) fn ordered_copy(
    original: &Path,
    by: OrderBy<'_>,
    replacement: &Path,
    interrupt: &Interrupt,
) -> Result<Vec<PathBuf>, AppError> {
    let file = open_regular(original)
        .map_err(|error| AppError::new(format!("cannot read `{}`: {error}", printable(original))))?;
    let view = FileView::map(file)?;
    if appimage_signature(view.bytes()).is_some() {
        return ordered_appimage(original, by, replacement, interrupt);
    }
    drop(view);
    match by {
        OrderBy::Names(names) => ordered_zip(original, names, replacement, interrupt).map(|()| names.to_vec()),
        OrderBy::Start(_) => Err(anyhow::anyhow!("`{}` is not an AppImage any more", printable(original)))
            .hint(|| "run it again when nothing replaces the file"),
    }
}
