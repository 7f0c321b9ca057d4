//! What decides which parts of an archive come first.

use std::path::PathBuf;

use coldstart_profile::trace::Trace;

/// What the order is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OrderBy<'a> {
    /// The names of the entries of a zip file, or of the files of an AppImage below its root, in the order of their first use.
    Names(&'a [PathBuf]),
    /// A start from an AppImage.
    Start(&'a Trace),
}
