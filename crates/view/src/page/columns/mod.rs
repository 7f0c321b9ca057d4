//! Events, symbols and phases as columns of bytes.
//!
//! A million events as objects of JSON would be neither small nor fast to read. What a newcomer would not guess:
//! events stand grouped by file, because a map shows one file, and because differences within a file are small.

mod events;
mod phases;
mod symbols;
mod varint;

use coldstart_profile::trace::Trace;
use coldstart_profile::trace::figures::Figures;
use serde::Serialize;

pub(super) use events::EventGroups;
pub(super) use symbols::Symbols;

/// Where a column is after the head.
#[derive(Debug, Serialize)]
pub(super) struct ColumnHead {
    name: &'static str,
    offset: usize,
    length: usize,
    rows: usize,
}

/// All columns of a trace.
#[derive(Default)]
pub(super) struct Columns {
    columns: Vec<Column>,
}

struct Column {
    name: &'static str,
    rows: usize,
    bytes: Vec<u8>,
}

impl Columns {
    /// Of a trace, whose events and symbols are in these groups.
    pub(super) fn of(trace: &Trace, figures: &Figures, groups: &EventGroups, symbols: &Symbols<'_>) -> Self {
        let mut columns = Self::default();
        events::write(trace, groups, symbols, &mut columns);
        symbols.write(&mut columns);
        phases::write(trace, figures, symbols, &mut columns);
        columns
    }

    /// Where each stands.
    pub(super) fn heads(&self) -> Vec<ColumnHead> {
        let mut offset = 0usize;
        let heads = self.columns.iter().map(|column| {
            let length = column.bytes.len();
            let head = ColumnHead { name: column.name, offset, length, rows: column.rows };
            offset = offset.saturating_add(length);
            head
        });
        heads.collect()
    }

    /// Their bytes, one column after the other.
    pub(super) fn bytes(&self) -> impl Iterator<Item = &[u8]> {
        self.columns.iter().map(|column| column.bytes.as_slice())
    }

    fn push(&mut self, name: &'static str, rows: usize, bytes: Vec<u8>) {
        self.columns.push(Column { name, rows, bytes });
    }
}
