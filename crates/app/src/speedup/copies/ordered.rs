//! Copies of zip files and AppImages in the order of a start.

use std::path::{Path, PathBuf};

use coldstart_launch::Interrupt;
use coldstart_sys::private_mounts::Overlay;

use super::resemble;
use crate::order::order_by::OrderBy;
use crate::order::ordered_copy::ordered_copy;

/// A copy, proven to hold the same as its original.
#[derive(Clone, Debug)]
pub(crate) struct OrderedCopy {
    /// The copy over its original.
    pub(crate) overlay: Overlay,
    /// The names of what comes first in it, in their order.
    pub(crate) names: Vec<PathBuf>,
}

/// Writes a zip file or an AppImage in another order into `replacement`.
///
/// # Errors
/// The reason why it is not written, as a clause.
pub(crate) fn ordered_from(
    file: &Path,
    by: OrderBy<'_>,
    replacement: &Path,
    interrupt: &Interrupt,
) -> Result<OrderedCopy, String> {
    let names = ordered_copy(file, by, replacement, interrupt).map_err(|error| error.sentence())?;
    let words = |error: std::io::Error| format!("its copy cannot be given its mode and time: {error}");
    resemble(replacement, file).map_err(words)?;
    Ok(OrderedCopy { overlay: Overlay { original: file.to_owned(), replacement: replacement.to_owned() }, names })
}
