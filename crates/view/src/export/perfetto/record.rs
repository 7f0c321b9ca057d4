//! One record of the Trace Event Format, and the file around them.

use std::io::{self, Write};

use serde::Serialize;

use super::super::Exported;

/// A process and a thread, by the numbers that the file knows them by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Track {
    pub(super) process: u64,
    pub(super) thread: u64,
}

/// One record. Members and their one-letter values are the format's.
#[derive(Debug, Serialize)]
pub(super) struct Record<'a> {
    /// "X" a slice with a duration, "i" an instant, "C" a point of a counter, "M" a name.
    #[serde(rename = "ph")]
    pub(super) phase: &'static str,
    pub(super) name: &'a str,
    #[serde(rename = "cat")]
    pub(super) category: &'static str,
    /// Microseconds.
    pub(super) ts: f64,
    #[serde(rename = "dur", skip_serializing_if = "Option::is_none")]
    pub(super) duration: Option<f64>,
    #[serde(rename = "pid")]
    pub(super) process: u64,
    #[serde(rename = "tid")]
    pub(super) thread: u64,
    /// Of instants: "t" for its track alone, "g" for all.
    #[serde(rename = "s", skip_serializing_if = "Option::is_none")]
    pub(super) scope: Option<&'static str>,
    #[serde(rename = "args", skip_serializing_if = "Arguments::is_empty")]
    pub(super) arguments: Arguments<'a>,
}

impl<'a> Record<'a> {
    /// Something at a moment (nanoseconds) on one track.
    pub(super) fn instant(name: &'a str, category: &'static str, at: u64, track: Track) -> Self {
        Self {
            phase: "i",
            name,
            category,
            ts: microseconds(at),
            duration: None,
            process: track.process,
            thread: track.thread,
            scope: Some("t"),
            arguments: Arguments::default(),
        }
    }
}

/// What viewers show when a record is chosen. Only what is there is written.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(super) struct Arguments<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) section: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) symbol: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) page: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pages: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    /// Of a counter, its value: viewers put the member's name after the counter's.
    pub(super) bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) access: Option<&'static str>,
    #[serde(skip_serializing_if = "is_false")]
    pub(super) by_kernel: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub(super) zero_filled: bool,
    /// Another process of the run had touched it before.
    #[serde(rename = "touched_by_another_before", skip_serializing_if = "is_false")]
    pub(super) again: bool,
    /// The function that did it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) by: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cause: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) asked: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) known: Option<&'static str>,
    /// Microseconds: the end of a phase that reaches beyond what it is drawn in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) really_ends: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) load_bias: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) readiness: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thread: Option<u32>,
    /// Of names: the name.
    #[serde(rename = "name", skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sort_index: Option<u64>,
}

impl Arguments<'_> {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// Nanoseconds as the format counts.
pub(super) fn microseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1000.0
}

/// The file's records, a line each.
pub(super) struct Records<'w> {
    out: &'w mut dyn Write,
    count: u64,
}

impl<'w> Records<'w> {
    pub(super) fn begin(out: &'w mut dyn Write) -> io::Result<Self> {
        out.write_all(b"{\"displayTimeUnit\":\"ms\",\"traceEvents\":[")?;
        Ok(Self { out, count: 0 })
    }

    pub(super) fn write(&mut self, record: &Record<'_>) -> io::Result<()> {
        self.out.write_all(if self.count == 0 { b"\n" } else { b",\n" })?;
        serde_json::to_writer(&mut *self.out, record)?;
        self.count = self.count.saturating_add(1);
        Ok(())
    }

    /// Closes the file with facts about the whole.
    pub(super) fn finish(self, about: &serde_json::Value) -> io::Result<Exported> {
        self.out.write_all(b"\n],\"otherData\":")?;
        serde_json::to_writer(&mut *self.out, about)?;
        self.out.write_all(b"}\n")?;
        Ok(Exported { records: self.count })
    }
}
