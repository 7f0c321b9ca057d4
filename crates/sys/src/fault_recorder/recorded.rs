//! What a recording has brought.

use super::decode::RingLayout;
use super::order::{Order, Place, order, read};
use super::record::Record;
use super::source::{FaultAbilities, FaultSource};

/// A finished recording. It keeps the kernel's own bytes; records are taken out of them one at a time.
#[derive(Debug)]
pub struct Recorded {
    rings: Vec<(Vec<u8>, RingLayout)>,
    places: Vec<Place>,
    /// What the recording can tell.
    pub abilities: FaultAbilities,
    /// How many records found a ring full; with tracepoints they may have been of other processes. On Linux before 6.0 those at the very end are not counted.
    pub lost: u64,
    /// How often the kernel left faults out because there were too many (`kernel.perf_event_max_sample_rate`); it is not known how many.
    pub throttled: u64,
    /// How many records could not be read, or were of a kind that nobody asked for.
    pub unreadable: u64,
    /// Processors that came online while it was recorded: what ran there is missing.
    pub late_processors: Vec<u32>,
}

impl Recorded {
    pub(super) fn new(
        rings: Vec<(Vec<u8>, RingLayout)>,
        process: u32,
        abilities: FaultAbilities,
        lost: Option<u64>,
        late_processors: Vec<u32>,
    ) -> Self {
        let begin_is_told = abilities.source == Some(FaultSource::Tracepoints);
        let Order { places, lost: told, throttled, unreadable } = order(&rings, process, begin_is_told);
        let lost = lost.unwrap_or(0).max(told);
        Self { rings, places, abilities, lost, throttled, unreadable, late_processors }
    }

    /// All records in order of time.
    pub fn records(&self) -> Records<'_> {
        Records { recorded: self, places: self.places.iter() }
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are no records at all.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Memory that it takes, in bytes.
    pub fn memory(&self) -> usize {
        let bytes: usize = self.rings.iter().map(|(bytes, _)| bytes.capacity()).sum();
        bytes.saturating_add(self.places.capacity().saturating_mul(size_of::<Place>()))
    }
}

/// Records in order of time.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    recorded: &'a Recorded,
    places: std::slice::Iter<'a, Place>,
}

impl Iterator for Records<'_> {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        self.places.find_map(|&place| read(&self.recorded.rings, place))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.places.len()))
    }
}
