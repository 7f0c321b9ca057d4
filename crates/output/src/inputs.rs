//! Files that a command reads, or uses otherwise: no output of the same command may replace them, whatever they are called.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{Stat, stat};

/// The files that a command reads. Names do not count: each is told by its device and number, so that another link leads
/// to the same answer.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    // Each of many outputs has them.
    files: Arc<HashMap<(u64, u64), String>>,
}

impl Inputs {
    /// Adds a file, of which `what` says what it is: "the trace `a.coldtrace`". One that is not there cannot be replaced.
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

    /// What the file is, if it is one of them.
    pub(crate) fn what(&self, found: &Stat) -> Option<&str> {
        self.files.get(&number_of(found)).map(String::as_str)
    }
}

#[allow(clippy::unnecessary_cast, clippy::useless_conversion, reason = "the fields' types differ between machines")]
fn number_of(found: &Stat) -> (u64, u64) {
    (found.st_dev as u64, found.st_ino as u64)
}
