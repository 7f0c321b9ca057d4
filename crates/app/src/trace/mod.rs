//! `trace`: record what one start of a program did, and summarise the recording.

mod phase_groups;
pub mod record;
mod show;
pub mod sql;
mod summary;
mod sums;

use std::os::unix::fs::FileExt;
use std::path::Path;

use coldstart_import::FleetTable;
use coldstart_output::{Inputs, OutputTarget};
use coldstart_profile::pattern::means_file;
use coldstart_profile::printable;
use coldstart_profile::trace::Trace;
use coldstart_sys::named_file::open_regular;
use coldstart_tracefile::{TraceFile, try_out, write_trace_at};

use crate::error::AppError;

pub use phase_groups::PhaseGroup;
pub use show::TraceView;
pub use summary::TraceSummary;
pub use sums::{InitialiserSum, LoaderTime, LongInitialiser, MissingNames};

/// Reads a trace file.
///
/// # Errors
/// If the file is missing, damaged, of a later format, or not a trace.
pub fn read(path: &Path) -> Result<Trace, AppError> {
    Ok(TraceFile::open(path)?.read()?)
}

/// Converts a recording of `perf record`, or a fleet table, to a trace, and writes it to `place`. Of a fleet table, what at least
/// `share` percent of the hosts touched; 1 if it is not given.
///
/// # Errors
/// If the recording or table cannot be read or has nothing that a trace can hold, or the trace cannot be written.
pub fn import(recording: &Path, share: Option<u8>, place: OutputTarget) -> Result<Trace, AppError> {
    let place = place.not_over(Inputs::default().with("the recording", recording));
    try_out(&place)?;
    let trace = match is_fleet_table(recording) {
        true => FleetTable::read(recording)?.trace(share.unwrap_or(1)),
        false if share.is_some() => {
            return Err(AppError::new(format!(
                "cannot import `{}` with a share: it is not a fleet table",
                printable(recording)
            )));
        }
        false => coldstart_import::import(recording)?,
    };
    write_trace_at(&place, &trace)?;
    Ok(trace)
}

/// Whether a file begins as a fleet table does. A file that cannot be read does not.
pub(crate) fn is_fleet_table(path: &Path) -> bool {
    let mut start = [0; 64];
    let read = open_regular(path).and_then(|file| file.read_at(&mut start, 0));
    read.is_ok_and(|read| coldstart_import::is_fleet_table(start.get(..read).unwrap_or_default()))
}

/// Whether one of the patterns matches an object or file; its soname is computed only if its path does not match.
fn is_meant<'a>(patterns: &[String], path: &Path, soname: impl Fn() -> Option<&'a str>) -> bool {
    patterns.iter().any(|pattern| means_file(pattern, path, &soname))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds;

    #[test]
    fn what_perf_did_not_record_is_refused_and_nothing_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let (recording, output) = (folder.path().join("perf.data"), folder.path().join("a.coldtrace"));
        std::fs::write(&recording, "no recording").unwrap();
        let place = OutputTarget::new(&output, kinds::TRACE, false).unwrap();
        assert!(import(&recording, None, place).is_err() && !output.exists());
    }

    #[test]
    fn a_trace_that_was_written_is_read_and_summed_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.coldtrace");
        coldstart_tracefile::write_trace(&path, &Trace::default()).unwrap();
        let trace = read(&path).unwrap();
        let figures = coldstart_profile::trace::figures::Figures::of(&trace);
        let summary = TraceView { trace: &trace, figures: &figures, names: &[], limit: 1 }.summary();
        let json = serde_json::to_value(summary).unwrap();
        assert!(json["run"]["command"].is_array() && json["files"].is_array(), "{json}");
    }
}
