//! The result of a recording.

use super::decode::RingLayout;
use super::order::{Order, RecordPosition, order, read};
use super::record::PerfRecord;
use super::source::{FaultAbilities, FaultSource};

/// A finished recording. It keeps the kernel's bytes and decodes one record at a time.
#[derive(Debug)]
pub struct Recorded {
    rings: Vec<(Vec<u8>, RingLayout)>,
    places: Vec<RecordPosition>,
    /// What the recording covers.
    pub abilities: FaultAbilities,
    /// How many records were lost to full rings; with tracepoints they may belong to other processes. Linux before 6.0 does not count losses at the very end.
    pub lost: u64,
    /// How often the kernel throttled the faults (`kernel.perf_event_max_sample_rate`); the number of dropped faults is unknown.
    pub throttled: u64,
    /// How many records could not be decoded, or were not requested.
    pub unreadable: u64,
    /// Processors that came online during the recording: their records are missing.
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

    /// All records by ascending time.
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

    /// Its memory use, in bytes.
    pub fn memory(&self) -> usize {
        let bytes: usize = self.rings.iter().map(|(bytes, _)| bytes.capacity()).sum();
        bytes.saturating_add(self.places.capacity().saturating_mul(size_of::<RecordPosition>()))
    }
}

/// Records by ascending time.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    recorded: &'a Recorded,
    places: std::slice::Iter<'a, RecordPosition>,
}

impl Iterator for Records<'_> {
    type Item = PerfRecord;

    fn next(&mut self) -> Option<PerfRecord> {
        self.places.find_map(|&place| read(&self.recorded.rings, place))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.places.len()))
    }
}
