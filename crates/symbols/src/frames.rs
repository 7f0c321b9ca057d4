//! The code range of each entry of the unwind tables (`.eh_frame`).

use coldstart_elf::{ElfFile, UnwindEntry, UnwindTable};

/// All unwind entries of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Frames {
    /// Where the tables begin.
    pub(super) address: u64,
    /// Their size in bytes, as far as they can be read.
    pub(super) size: u64,
    /// The entries with a size, ascending by start.
    pub(super) list: Vec<Frame>,
}

/// The code range of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Frame {
    /// First address, without load bias.
    pub(super) start: u64,
    /// End of the range (exclusive).
    pub(super) end: u64,
    /// Whether it is for code that the kernel returns to: its start is not an instruction.
    pub(super) is_signal: bool,
}

impl Frames {
    /// Reads them; `None` where there are none. What is malformed ends the reading, or is left out.
    pub(super) fn read(file: &ElfFile<'_>) -> Option<Self> {
        let table = UnwindTable::parse(file).ok()??;
        let (entries, size) = table.entries();
        let frame = |entry: UnwindEntry| Frame {
            start: entry.range.start.0,
            end: entry.range.end.0,
            is_signal: entry.is_signal_trampoline,
        };
        Some(Self { address: table.address().0, size, list: entries.into_iter().map(frame).collect() })
    }

    /// The entry with the nearest start at or below an address, if it contains the address.
    pub(super) fn at(&self, address: u64) -> Option<Frame> {
        let behind = self.list.partition_point(|frame| frame.start <= address);
        self.list.get(behind.checked_sub(1)?).copied().filter(|frame| address < frame.end)
    }
}
