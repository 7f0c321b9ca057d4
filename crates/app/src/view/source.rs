//! The viewed traces.

use std::path::{Path, PathBuf};

use coldstart_profile::trace::Trace;
use coldstart_profile::trace::figures::Figures;
use coldstart_profile::{printable, shell_word};
use coldstart_sys::named_file::read_beginning;
use coldstart_tracefile::TraceFile;
use coldstart_view::export::TraceExport;
use coldstart_view::page::TraceSource;

use crate::error::{AppError, HintExt};

/// A trace and its figures.
pub struct Source {
    /// Its file.
    pub path: PathBuf,
    /// The path, escaped.
    pub name: String,
    /// The trace.
    pub trace: Trace,
    /// Its figures.
    pub figures: Figures,
}

impl Source {
    /// Reads a trace file.
    ///
    /// # Errors
    /// If the file is missing, empty, damaged, of a later format, or not a trace.
    pub fn read(path: &Path) -> Result<Self, AppError> {
        let trace = TraceFile::open(path).and_then(|file| file.read());
        let trace = match trace {
            Err(error) if is_of_perf(path) => {
                return Err(error).hint(|| {
                    format!(
                        "it is a perf recording; convert it with `coldstart trace import {} -o FILE.coldtrace`",
                        shell_word(path.as_os_str())
                    )
                });
            }
            trace => trace?,
        };
        let figures = Figures::of(&trace);
        Ok(Self { path: path.to_owned(), name: printable(path), trace, figures })
    }

    /// As input for pages and comparisons.
    pub fn as_trace(&self) -> TraceSource<'_> {
        TraceSource { source: &self.name, trace: &self.trace, figures: &self.figures }
    }

    /// As input for exports.
    pub fn as_export(&self) -> TraceExport<'_> {
        TraceExport { source: &self.name, trace: &self.trace }
    }
}

/// Whether it begins with the magic number of `perf record`.
fn is_of_perf(path: &Path) -> bool {
    const MAGIC: &[u8] = b"PERFILE2";
    read_beginning(path, MAGIC.len()).is_ok_and(|beginning| beginning == MAGIC)
}
