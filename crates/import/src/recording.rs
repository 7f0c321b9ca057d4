//! A complete recording: records in order of time, facts, and notes.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use coldstart_sys::fault_recorder::{Fault, PerfRecord, PerfRecordKind};
use linux_perf_data::UserRecordType;
use linux_perf_data::linux_perf_event_reader::RecordType;

use super::bytes::{Bytes, Order, until_nul};
use super::container::{Container, RawEvent};
use super::decode::{Decoded, Decoder};
use super::error::Damage;
use super::events::{self, Event, Source};
use super::facts::{Facts, build_ids};
use super::frames::{Frame, Frames};
use super::numbers::Numbers;
use super::unpack;

/// A recording of perf.
#[derive(Debug)]
pub(super) struct Recording {
    /// In order of time, in the nanoseconds of whatever clock it was.
    pub(super) records: Vec<PerfRecord>,
    pub(super) facts: Facts,
    /// Build ids by path, from facts and mappings.
    pub(super) build_ids: HashMap<PathBuf, Vec<u8>>,
    pub(super) lost: u64,
    /// A sentence each.
    pub(super) notes: Vec<String>,
    /// Whether it is all there.
    pub(super) complete: bool,
}

/// Why it cannot be read.
pub(super) enum Trouble {
    Damaged(Damage),
    Unfit(String, Option<&'static str>),
}

impl From<Damage> for Trouble {
    fn from(damage: Damage) -> Self {
        Self::Damaged(damage)
    }
}

impl Recording {
    /// Reads it.
    pub(super) fn read(bytes: &[u8], order: Order) -> Result<Self, Trouble> {
        let mut container = Container::parse(bytes, order)?;
        let mut early = container.cut.map(str::to_owned);
        let mut told = told_in_records(&mut container);
        let mut facts = Facts::read(&container.facts, order);
        facts.build_ids.append(&mut told.build_ids);
        let events = read_events(&container, &told.names, &facts)?;
        let (unpacked, trouble) = unpack::unpack(&told.compressed, bytes.len());
        early = early.or(trouble.map(str::to_owned));
        let decoder = Decoder::new(&events).ok_or_else(|| {
            Trouble::Unfit("its records do not identify their events".to_owned(), Some("record one event only"))
        })?;
        let mut gathered = Gathered::new(order);
        let mut frames = Frames::new(container.records);
        frames.by_ref().for_each(|frame| gathered.add(&decoder, &frame));
        let stopped = frames.stopped;
        let mut frames = Frames::new(Bytes::new(&unpacked, 0, order));
        frames.by_ref().for_each(|frame| gathered.add(&decoder, &frame));
        if let (Some(damage), true) = (stopped, gathered.records.is_empty()) {
            return Err(Trouble::Damaged(damage));
        }
        if let Some(Damage { offset, what }) = stopped {
            let why = early.map(|why| format!("{why}: ")).unwrap_or_default();
            early = Some(format!("{why}{what} (file offset {offset:#x})"));
        }
        Ok(gathered.finish(facts, &events, early))
    }
}

/// What records that perf wrote for itself tell.
#[derive(Default)]
struct Told {
    /// Names of events by their numbers.
    names: HashMap<u64, String>,
    build_ids: BTreeMap<PathBuf, Vec<u8>>,
    compressed: Vec<u8>,
}

/// When perf writes into a pipe, events and facts are records, too.
fn told_in_records(container: &mut Container<'_>) -> Told {
    let mut told = Told::default();
    for frame in Frames::new(container.records) {
        let mut body = frame.body;
        match UserRecordType::try_from(RecordType(frame.kind)) {
            Some(UserRecordType::PERF_HEADER_ATTR) if container.piped => {
                let Some(attribute) = attribute(&mut body) else { continue };
                let numbers = std::iter::from_fn(|| body.u64()).collect();
                container.events.push(RawEvent { attribute, numbers, at: frame.body.at });
            }
            Some(UserRecordType::PERF_HEADER_FEATURE) if container.piped => {
                let Some(number) = body.u64().and_then(|number| u32::try_from(number).ok()) else { continue };
                container.facts.insert(number, body.take(body.left()).unwrap_or_default());
            }
            Some(UserRecordType::PERF_HEADER_BUILD_ID) => {
                told.build_ids.append(&mut build_ids(Bytes::new(frame.whole, 0, container.order)));
            }
            Some(UserRecordType::PERF_EVENT_UPDATE) => {
                if let (Some(NAME), Some(number)) = (body.u64(), body.u64()) {
                    let name = until_nul(body.take(body.left()).unwrap_or_default());
                    told.names.insert(number, String::from_utf8_lossy(name).into_owned());
                }
            }
            _ => told.compressed.extend_from_slice(unpack::piece(&frame).unwrap_or_default()),
        }
    }
    told
}

/// `PERF_EVENT_UPDATE__NAME`.
const NAME: u64 = 2;

/// The attributes of an event say themselves how long they are, at their fifth byte.
fn attribute<'a>(body: &mut Bytes<'a>) -> Option<&'a [u8]> {
    let mut size = *body;
    size.u32()?;
    let size = size.u32()?;
    body.take_wide(size.into())
}

fn read_events(container: &Container<'_>, names: &HashMap<u64, String>, facts: &Facts) -> Result<Vec<Event>, Trouble> {
    let mut events = Vec::with_capacity(container.events.len());
    for (place, raw) in container.events.iter().enumerate() {
        let name = facts.events.get(place).or_else(|| raw.numbers.first().and_then(|number| names.get(number)));
        events.push(Event::read(raw, container.order, name.map(String::as_str))?);
    }
    if !events.iter().any(|event| event.source != Source::Other) {
        let what = match events.is_empty() {
            true => "the recorded events are unknown".to_owned(),
            false => format!("it has no page faults, but `{}`", events::names(&events)),
        };
        return Err(Trouble::Unfit(what, None));
    }
    if let Some((what, option)) = events.iter().find_map(Event::unfit) {
        return Err(Trouble::Unfit(what, Some(option)));
    }
    let foreign = facts.machine.as_deref().filter(|&machine| machine != "x86_64");
    if let (Some(machine), true) = (foreign, events.iter().any(|event| event.source.is_tracepoint())) {
        let what = format!("page fault tracepoints are supported on x86-64 only; the recording is from {machine}");
        return Err(Trouble::Unfit(what, Some("record `page-faults`")));
    }
    Ok(events)
}

/// Records as they come.
struct Gathered {
    numbers: Numbers,
    records: Vec<(PerfRecord, Option<bool>)>,
    lost: u64,
    lost_samples: u64,
    throttled: u64,
    unreadable: u64,
}

impl Gathered {
    fn new(order: Order) -> Self {
        let numbers = Numbers::new(order);
        Self { numbers, records: Vec::new(), lost: 0, lost_samples: 0, throttled: 0, unreadable: 0 }
    }

    fn add(&mut self, decoder: &Decoder<'_>, frame: &Frame<'_>) {
        match decoder.decode(frame, &mut self.numbers) {
            Decoded::Record(record) => self.records.push((record, None)),
            Decoded::Served(record, major) => self.records.push((record, Some(major))),
            Decoded::Lost(count) => self.lost = self.lost.saturating_add(count),
            Decoded::LostSamples(count) => self.lost_samples = self.lost_samples.saturating_add(count),
            Decoded::Throttled => self.throttled = self.throttled.saturating_add(1),
            Decoded::Nothing => {}
            Decoded::Unreadable => self.unreadable = self.unreadable.saturating_add(1),
        }
    }

    fn finish(self, facts: Facts, events: &[Event], early: Option<String>) -> Recording {
        let Self { numbers, records, lost, lost_samples, throttled, unreadable } = self;
        // A record that finds the ring full is told of by the next one that does not. What the events counted has the
        // last ones as well, and nothing but samples.
        let lost = lost.max(lost_samples);
        let mut notes = events::notes(events);
        if throttled > 0 {
            notes.push(format!("The kernel stopped recording {throttled} times because there were too many faults: all counts are too low."));
        }
        if unreadable > 0 {
            notes.push(format!("{unreadable} records of perf could not be read and are left out."));
        }
        if let Some(why) = &early {
            notes.push(format!("The recording ends too early: {why}. What comes before is here."));
        }
        let mut build_ids = numbers.build_ids;
        build_ids.extend(facts.build_ids.iter().map(|(path, id)| (path.clone(), id.clone())));
        Recording { records: served(records), facts, build_ids, lost, notes, complete: early.is_none() }
    }
}

/// Puts records in order of time, and what another event told of a fault into the fault itself: it comes when the
/// fault is over.
fn served(mut records: Vec<(PerfRecord, Option<bool>)>) -> Vec<PerfRecord> {
    records.sort_by_key(|(record, _)| record.at);
    let mut all: Vec<PerfRecord> = Vec::with_capacity(records.len());
    let mut latest: HashMap<u32, usize> = HashMap::new();
    for (record, told) in records {
        let PerfRecordKind::Fault(fault) = record.what else {
            all.push(record);
            continue;
        };
        let Some(major) = told else {
            latest.insert(record.thread, all.len());
            all.push(record);
            continue;
        };
        let begun = latest.get(&record.thread).and_then(|&place| all.get_mut(place)).map(|begun| &mut begun.what);
        match begun {
            Some(PerfRecordKind::Fault(begun)) if begun.address >> 12 == fault.address >> 12 => begun.major |= major,
            _ => all.push(with_major(record, fault, major)),
        }
    }
    all
}

fn with_major(record: PerfRecord, fault: Fault, major: bool) -> PerfRecord {
    PerfRecord { what: PerfRecordKind::Fault(Fault { major, ..fault }), ..record }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(at: u64, thread: u32, address: u64) -> PerfRecord {
        let (write, fetch) = (None, None);
        let fault = Fault { address, instruction: 0, write, fetch, major: false, by_kernel: false };
        PerfRecord { at, process: 1, thread, what: PerfRecordKind::Fault(fault) }
    }

    fn majors(records: Vec<(PerfRecord, Option<bool>)>) -> Vec<(u64, bool)> {
        let major = |record: PerfRecord| match record.what {
            PerfRecordKind::Fault(fault) => (record.at, fault.major),
            _ => (record.at, false),
        };
        served(records).into_iter().map(major).collect()
    }

    #[test]
    fn a_fault_learns_from_the_event_that_comes_when_it_is_over() {
        let records = vec![
            (fault(5, 1, 0x3000), Some(true)),
            (fault(1, 1, 0x3008), None),
            (fault(2, 2, 0x3000), None),
            (fault(3, 2, 0x3000), Some(false)),
        ];
        assert_eq!(majors(records), [(1, true), (2, false)]);
    }

    #[test]
    fn what_was_told_of_a_fault_that_was_not_recorded_is_kept() {
        let records = vec![(fault(1, 1, 0x3000), None), (fault(2, 1, 0x4000), Some(true))];
        assert_eq!(majors(records), [(1, false), (2, true)]);
    }
}
