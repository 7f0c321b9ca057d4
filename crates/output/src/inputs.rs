//! A command's input files: no output of the same command may replace one, under any name.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{Stat, stat};

/// The input files of a command, each identified by device and inode number, so that other names of the same file are
/// recognised.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    // Shared by many outputs.
    files: Arc<HashMap<(u64, u64), String>>,
}

impl Inputs {
    /// Adds a file with its description: "the trace `a.coldtrace`". A missing file cannot be replaced, so it is skipped.
    pub fn add(&mut self, what: impl Into<String>, path: &Path) {
        if let Ok(found) = stat(path) {
            Arc::make_mut(&mut self.files).entry(number_of(&found)).or_insert_with(|| what.into());
        }
    }

    /// As [`Self::add`].
    #[must_use]
    pub fn with(mut self, what: impl Into<String>, path: &Path) -> Self {
        self.add(what, path);
        self
    }

    /// The description of the file, if it is one of them.
    pub(crate) fn what(&self, found: &Stat) -> Option<&str> {
        self.files.get(&number_of(found)).map(String::as_str)
    }
}

#[allow(clippy::unnecessary_cast, clippy::useless_conversion, reason = "the fields' types differ between machines")]
fn number_of(found: &Stat) -> (u64, u64) {
    (found.st_dev as u64, found.st_ino as u64)
}
