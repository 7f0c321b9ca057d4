//! What of a trace is looked at.

use std::path::Path;

use coldstart_profile::trace::figures::{Figures, FileFigures};
use coldstart_profile::trace::{FileId, Layer, Trace};

use super::is_meant;

/// A trace with its figures, and what of it is asked for.
#[derive(Clone, Copy)]
pub struct TraceView<'a> {
    /// The trace.
    pub trace: &'a Trace,
    /// What it amounts to.
    pub figures: &'a Figures,
    /// Patterns of the objects and files that are asked for; empty for all.
    pub names: &'a [String],
    /// Rows of each list.
    pub limit: usize,
}

impl<'a> TraceView<'a> {
    /// Whether an object or file is asked for.
    pub fn wants(&self, file: FileId) -> bool {
        let soname = || self.trace.object(file).and_then(|object| object.soname.as_deref());
        self.names.is_empty() || is_meant(self.names, self.path(file), soname)
    }

    /// Whether a kind of recording was made: else what it would tell is not zero, but unknown.
    pub fn has(&self, layer: Layer) -> bool {
        self.figures.basis.layers.contains(&layer)
    }

    /// Figures of the files that are asked for.
    pub fn files(&self) -> Vec<&'a FileFigures> {
        self.figures.files.iter().filter(|file| self.wants(file.file)).collect()
    }

    /// The path of a file of the trace.
    pub fn path(&self, file: FileId) -> &'a Path {
        self.trace.file(file).map_or(Path::new("(unknown)"), |file| file.path.as_path())
    }
}
