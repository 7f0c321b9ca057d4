//! Traces that are looked at.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use coldstart_profile::trace::Trace;
use coldstart_profile::trace::figures::Figures;
use coldstart_tracefile::TraceFile;
use coldstart_view::export::TraceExport;
use coldstart_view::page::TraceSource;

use crate::error::{CliError, HintExt};
use crate::output::path::printable;

/// A trace, read whole, and its figures.
pub(super) struct Source {
    pub(super) path: PathBuf,
    /// The path as it can be shown.
    pub(super) name: String,
    pub(super) trace: Trace,
    pub(super) figures: Figures,
}

impl Source {
    /// Reads a trace file.
    ///
    /// # Errors
    /// Not there, empty, damaged, of a later format, or something else altogether.
    pub(super) fn read(path: &Path) -> Result<Self, CliError> {
        let trace = TraceFile::open(path).and_then(|file| file.read());
        let trace = match trace {
            Err(error) if is_of_perf(path) => {
                return Err(error).hint(|| {
                    format!(
                        "perf recorded it: `coldstart trace import {} -o FILE.coldtrace` makes a trace of it",
                        printable(path)
                    )
                });
            }
            trace => trace?,
        };
        let figures = Figures::of(&trace);
        Ok(Self { path: path.to_owned(), name: printable(path), trace, figures })
    }

    pub(super) fn as_trace(&self) -> TraceSource<'_> {
        TraceSource { source: &self.name, trace: &self.trace, figures: &self.figures }
    }

    pub(super) fn as_export(&self) -> TraceExport<'_> {
        TraceExport { source: &self.name, trace: &self.trace }
    }
}

/// Whether it begins as `perf record` begins a file.
fn is_of_perf(path: &Path) -> bool {
    let mut magic = [0; 8];
    // A pipe would wait for somebody who writes.
    path.is_file() && File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && &magic == b"PERFILE2"
}
