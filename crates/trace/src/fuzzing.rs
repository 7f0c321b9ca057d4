//! Parsers of untrusted bytes, for the fuzz targets of `fuzz/` only.
//!
//! Hidden, and not part of the public API.

use crate::page_fills::PageFill;
use crate::page_fills::line::Line;
use crate::start::disk::tracepoints::Step;

/// What the recorders take from a line of tracefs.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// The thread that caused it.
    pub thread: u32,
    /// A fill of the page cache.
    pub fill: Option<PageFill>,
    /// Whether it is a step of a read.
    pub is_step: bool,
}

/// Reads a line as all recorders do; `None` if it is not an event.
pub fn event(line: &str) -> Option<Event> {
    let line = Line::parse(line)?;
    Some(Event { thread: line.thread, fill: PageFill::parse(&line), is_step: Step::parse(&line).is_some() })
}
