//! Converts a perf record to one of ours.
//!
//! What a newcomer would not guess: the fields of a record, and the position of its time, depend on its event, and
//! the event's id is in the record.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use coldstart_sys::fault_recorder::{Fault, Mapped, PerfRecord, PerfRecordKind};
use linux_perf_data::linux_perf_event_reader::{
    CpuMode, EventRecord, Mmap2FileId, RawData, RawEventRecord, RecordParseInfo, RecordType, SampleFormat, SampleRecord,
};

use super::bytes::Bytes;
use super::events::{Event, PREFIX, Source};
use super::frames::Frame;
use super::numbers::Numbers;

/// `PERF_RECORD_MISC_MMAP_BUILD_ID`: the mapping tells a build id in the place of device and inode.
const HAS_BUILD_ID: u16 = 1 << 14;
/// Where its length is in the body of such a record, and what it is at most.
const BUILD_ID_LENGTH: usize = 32;
const LONGEST_BUILD_ID: u8 = 20;
/// `PERF_RECORD_LOST_SAMPLES`, which the library hands on as it is.
const LOST_SAMPLES: RecordType = RecordType(13);
/// `PERF_RECORD_MISC_LOST_SAMPLES_BPF` of perf: a filter that was asked for left them out.
const FILTERED: u16 = 1 << 15;
/// Fields of the tracepoints of x86-64: behind eight bytes that all tracepoints have in common.
const COMMON_FIELDS: usize = 8;
/// Bits of the processor's error code (Intel SDM volume 3, 4.7).
const WRITE: u64 = 1 << 1;
const FETCH: u64 = 1 << 4;

/// What a record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decoded {
    /// Something for the trace.
    Record(PerfRecord),
    /// A fault that waited for the disk, or did not, beside another event that tells of the same fault.
    Served(PerfRecord, bool),
    /// So many found a buffer full.
    Lost(u64),
    /// A count of samples of one event that found a full buffer; part of `Lost`, repeated at the end.
    LostSamples(u64),
    /// The kernel stopped recording for a while.
    Throttled,
    /// Nothing for us.
    Nothing,
    /// It contradicts itself.
    Unreadable,
}

/// Knows the events.
#[derive(Debug)]
pub(super) struct Decoder<'a> {
    events: &'a [Event],
    by_number: HashMap<u64, usize>,
    /// Whether an event covers all faults, so that minor and major ones are recorded twice.
    told_twice: bool,
}

impl<'a> Decoder<'a> {
    /// `None` if records do not say which event they belong to.
    pub(super) fn new(events: &'a [Event]) -> Option<Self> {
        let first = events.first()?;
        let same = events.iter().all(|event| event.layout.id_parse_info == first.layout.id_parse_info);
        let marked = events.iter().all(|event| event.format.contains(SampleFormat::IDENTIFIER));
        let numbered = first.layout.id_parse_info.sample_record_id_offset_from_start.is_some();
        if events.len() > 1 && !(marked || same && numbered) {
            return None;
        }
        let numbers = events.iter().enumerate();
        let by_number = numbers.flat_map(|(place, event)| event.numbers.iter().map(move |&number| (number, place)));
        let tells_all = |event: &Event| event.source == Source::PageFaults || event.source.is_tracepoint();
        Some(Self { events, by_number: by_number.collect(), told_twice: events.iter().any(tells_all) })
    }

    /// Reads a record.
    pub(super) fn decode(&self, frame: &Frame<'_>, numbers: &mut Numbers) -> Decoded {
        let kind = RecordType(frame.kind);
        if kind.is_user_type() {
            return Decoded::Nothing;
        }
        let mut body = frame.body;
        let body = body.take(body.left()).unwrap_or_default();
        let Some(first) = self.events.first() else { return Decoded::Nothing };
        let data = RawData::Single(body);
        let number = RawEventRecord::new(kind, frame.misc, data, first.layout).id();
        // Records that perf made up itself belong to none.
        let event = number.and_then(|number| self.by_number.get(&number)).and_then(|&place| self.events.get(place));
        let event = event.unwrap_or(first);
        if kind == RecordType::SAMPLE {
            return self.sample(event, frame, body).unwrap_or(Decoded::Unreadable);
        }
        let raw = RawEventRecord::new(kind, frame.misc, data, event.layout);
        self.other(&raw, body, numbers).unwrap_or(Decoded::Unreadable)
    }

    fn other(&self, raw: &RawEventRecord<'_>, body: &[u8], numbers: &mut Numbers) -> Option<Decoded> {
        if raw.record_type == LOST_SAMPLES {
            let lost = Bytes::new(body, 0, numbers.order).u64();
            return lost
                .map(|count| if raw.misc & FILTERED == 0 { Decoded::LostSamples(count) } else { Decoded::Nothing });
        }
        if raw.record_type == RecordType::MMAP2
            && raw.misc & HAS_BUILD_ID != 0
            && body.get(BUILD_ID_LENGTH).is_none_or(|&length| length > LONGEST_BUILD_ID)
        {
            return None;
        }
        let at = raw.timestamp().unwrap_or(0);
        let (process, thread, what) = match raw.parse().ok()? {
            EventRecord::Mmap2(it) => {
                let path = text(&it.path);
                let (device, inode) = match it.file_id {
                    Mmap2FileId::InodeAndVersion(id) => (u64::from(id.major) << 20 | u64::from(id.minor), id.inode),
                    Mmap2FileId::BuildId(id) => numbers.of(&path, &id),
                };
                let (address, length, offset) = (it.address, it.length, it.page_offset);
                let (protection, flags) = (it.protection, it.flags);
                let mapped = Mapped { address, length, offset, device, inode, protection, flags, path };
                (it.pid, it.tid, PerfRecordKind::Mapped(mapped))
            }
            EventRecord::Mmap(it) => {
                let path = text(&it.path);
                let (device, inode) = numbers.of(&path, &[]);
                let (address, length, offset) = (it.address, it.length, it.page_offset);
                let (protection, flags) = (if it.is_executable { 5 } else { 1 }, 2);
                let mapped = Mapped { address, length, offset, device, inode, protection, flags, path };
                (it.pid, it.tid, PerfRecordKind::Mapped(mapped))
            }
            EventRecord::Comm(it) if it.is_execve => {
                (it.pid, it.tid, PerfRecordKind::Executed { name: text(&it.name) })
            }
            EventRecord::Fork(it) => {
                let (Ok(parent), Ok(parent_thread)) = (u32::try_from(it.ppid), u32::try_from(it.ptid)) else {
                    return Some(Decoded::Nothing);
                };
                (it.pid, it.tid, PerfRecordKind::Began { parent, parent_thread })
            }
            EventRecord::Exit(it) => (it.pid, it.tid, PerfRecordKind::Ended),
            EventRecord::Lost(it) => return Some(Decoded::Lost(it.count)),
            EventRecord::Throttle(_) => return Some(Decoded::Throttled),
            _ => return Some(Decoded::Nothing),
        };
        Some(record(at, process, thread, what).map_or(Decoded::Nothing, Decoded::Record))
    }

    fn sample(&self, event: &Event, frame: &Frame<'_>, body: &[u8]) -> Option<Decoded> {
        if event.source == Source::Other {
            return Some(Decoded::Nothing);
        }
        // Only the fields in front: after them stands what we do not need, or read ourselves.
        let layout = RecordParseInfo { sample_format: event.format.intersection(PREFIX), ..event.layout };
        let raw = RawEventRecord::new(RecordType::SAMPLE, frame.misc, RawData::Single(body), layout);
        let EventRecord::Sample(sample) = raw.parse().ok()? else { return None };
        let by_kernel = matches!(sample.cpu_mode, CpuMode::Kernel | CpuMode::GuestKernel);
        let fault = match event.source {
            Source::OfPrograms | Source::OfKernel => of_tracepoint(event, frame.body)?,
            source => Fault {
                address: sample.addr?,
                instruction: sample.ip.unwrap_or(0),
                write: None,
                fetch: None,
                major: source == Source::Major,
                by_kernel,
            },
        };
        let Some(record) = of_sample(&sample, fault)? else { return Some(Decoded::Nothing) };
        Some(match event.source {
            Source::Major if self.told_twice => Decoded::Served(record, true),
            Source::Minor if self.told_twice => Decoded::Served(record, false),
            _ => Decoded::Record(record),
        })
    }
}

/// Behind the fields in front and the calls that led there: size and bytes of the tracepoint's own record.
fn of_tracepoint(event: &Event, mut body: Bytes<'_>) -> Option<Fault> {
    let before = usize::try_from(event.format.intersection(PREFIX).bits().count_ones()).ok()?;
    body.take(before.checked_mul(8)?)?;
    if event.format.contains(SampleFormat::CALLCHAIN) {
        let calls = body.u64()?;
        body.take_wide(calls.checked_mul(8)?)?;
    }
    body.u32()?;
    body.take(COMMON_FIELDS)?;
    let (address, instruction, error_code) = (body.u64()?, body.u64()?, body.u64()?);
    Some(Fault {
        address,
        instruction,
        write: Some(error_code & WRITE != 0),
        fetch: Some(error_code & FETCH != 0),
        major: false,
        by_kernel: event.source == Source::OfKernel,
    })
}

/// `None` inside for events without a process.
fn of_sample(sample: &SampleRecord<'_>, fault: Fault) -> Option<Option<PerfRecord>> {
    Some(record(sample.timestamp?, sample.pid?, sample.tid?, PerfRecordKind::Fault(fault)))
}

/// The kernel's own mappings are of process -1, and so is what a process did that is gone already.
fn record(at: u64, process: i32, thread: i32, what: PerfRecordKind) -> Option<PerfRecord> {
    Some(PerfRecord { at, process: u32::try_from(process).ok()?, thread: u32::try_from(thread).ok()?, what })
}

fn text(data: &RawData<'_>) -> OsString {
    OsStr::from_bytes(&data.as_slice()).to_os_string()
}
