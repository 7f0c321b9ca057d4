//! Traces in the formats of other viewers: Perfetto's (and Chrome's) and the Firefox profiler's.
//!
//! Everything in a trace that has a moment is in both; what has none (tables of symbols and relocations) is named where it is
//! used. What a newcomer would not guess: a touch or a read has a moment and no duration, and none is made up for it. So they are
//! instants, on tracks of their own beside the phases, and counters show how they add up.

mod counting;
mod firefox;
mod names;
mod perfetto;
#[cfg(test)]
mod testing;

use std::io::{self, Write};

use coldstart_profile::trace::Trace;

/// A trace, and what it is called where two of them stand side by side.
#[derive(Clone, Copy, Debug)]
pub struct TraceExport<'a> {
    /// Its file's name.
    pub source: &'a str,
    /// What it holds.
    pub trace: &'a Trace,
}

/// How much was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Records of the viewer's own kind: slices, instants, points of counters, names; or markers and points of counters.
    pub records: u64,
}

/// Writes traces as JSON in the Trace Event Format, which Perfetto and Chrome's tracing read ("Trace Event Format", Google, 2016;
/// Perfetto: `src/trace_processor/importers/json`). All traces begin at 0 and have processes of their own.
///
/// # Errors
/// What `out` says.
pub fn write_perfetto(traces: &[TraceExport<'_>], out: &mut dyn Write) -> io::Result<Exported> {
    perfetto::write(traces, out)
}

/// Writes traces as JSON in the Firefox profiler's processed format. All traces begin at 0 and have processes of their own.
///
/// # Errors
/// What `out` says.
pub fn write_firefox(traces: &[TraceExport<'_>], out: &mut dyn Write) -> io::Result<Exported> {
    firefox::write(traces, out)
}
