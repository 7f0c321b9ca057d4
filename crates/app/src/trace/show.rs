//! The part of a trace that is shown.

use std::path::Path;

use coldstart_profile::trace::figures::{Figures, FileFigures};
use coldstart_profile::trace::{FileId, Layer, Trace};

use super::is_meant;

/// A trace with its figures, and a filter.
#[derive(Clone, Copy)]
pub struct TraceView<'a> {
    /// The trace.
    pub trace: &'a Trace,
    /// Its figures.
    pub figures: &'a Figures,
    /// Patterns of the objects and files to show; empty for all.
    pub names: &'a [String],
    /// Maximum number of rows of each list.
    pub limit: usize,
}

impl<'a> TraceView<'a> {
    /// Whether a file matches the filter.
    pub fn wants(&self, file: FileId) -> bool {
        let soname = || self.trace.object(file).and_then(|object| object.soname.as_deref());
        self.names.is_empty() || is_meant(self.names, self.path(file), soname)
    }

    /// Whether a layer was recorded; if not, its figures are unknown rather than zero.
    pub fn has(&self, layer: Layer) -> bool {
        self.figures.basis.layers.contains(&layer)
    }

    /// Figures of the files that match the filter.
    pub fn files(&self) -> Vec<&'a FileFigures> {
        self.figures.files.iter().filter(|file| self.wants(file.file)).collect()
    }

    /// The path of a file of the trace.
    pub fn path(&self, file: FileId) -> &'a Path {
        self.trace.file(file).map_or(Path::new("(unknown)"), |file| file.path.as_path())
    }
}
