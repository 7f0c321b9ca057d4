//! Traces that are looked at.

use std::path::{Path, PathBuf};

use coldstart_app::command;
use coldstart_profile::trace::Trace;
use coldstart_profile::trace::figures::Figures;
use coldstart_sys::named_file::read_beginning;
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
                        "perf recorded it: `{} -o FILE.coldtrace` makes a trace of it",
                        command::of_ours("trace import", [path.as_os_str()])
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
    const MAGIC: &[u8] = b"PERFILE2";
    read_beginning(path, MAGIC.len()).is_ok_and(|beginning| beginning == MAGIC)
}
