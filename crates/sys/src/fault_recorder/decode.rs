//! From the ring's bytes to records, without trust in either.
//!
//! Every sample begins with the number of its event (`PERF_SAMPLE_IDENTIFIER`), which tells how to read the rest; every other record
//! ends with thread, moment and that number (`sample_id_all`). Layouts: `include/uapi/linux/perf_event.h`, `enum perf_event_type`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use perf_event_open_sys::bindings;

use super::record::{Fault, Mapped, Record, RecordKind};
use super::tracepoint::FaultFields;

/// What a sample consists of, besides number of the event, thread and moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SampleLayout {
    /// There are no samples.
    Nothing,
    /// Instruction and address: a fault has been served.
    Served {
        /// Whether it waited for the disk.
        major: bool,
    },
    /// The tracepoint's own record: a fault begins.
    Begun {
        /// Where its fields stand.
        fields: FaultFields,
        /// Whether the kernel used the page.
        by_kernel: bool,
    },
}

/// How to read the samples of one ring.
#[derive(Clone, Debug, Default)]
pub(super) struct RingLayout(Vec<(u64, SampleLayout)>);

impl RingLayout {
    /// Samples of the event with this number look so.
    pub(super) fn add(&mut self, event: u64, layout: SampleLayout) {
        self.0.push((event, layout));
    }

    fn of(&self, event: u64) -> Option<SampleLayout> {
        self.0.iter().find(|(number, _)| *number == event).map(|(_, layout)| *layout)
    }
}

/// What bytes of a ring mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decoded {
    /// A record for the caller.
    Record(Record),
    /// A fault that has been served after the disk was waited for; told of before, when it began.
    Served(Record),
    /// As many records found the ring full.
    Lost(u64),
    /// The kernel left faults out because there were too many.
    Throttled,
    /// Nothing that matters here: a thread's new name, the end of a throttling.
    Nothing,
    /// A record of a type, or of an event, that we did not ask for.
    Unknown,
    /// Too short for its type.
    Damaged,
}

/// A record's bytes with its header read.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawRecord<'a> {
    kind: u32,
    misc: u32,
    body: &'a [u8],
}

/// Takes the record at `offset` and says where the next one begins; `None` at the end, or if the bytes are not a record.
pub(super) fn record_at(bytes: &[u8], offset: usize) -> Option<(RawRecord<'_>, usize)> {
    let mut reader = Reader(bytes.get(offset..)?);
    let (kind, misc, size) = (reader.u32()?, reader.u16()?, reader.u16()?);
    // A size below that of the header would never come to an end.
    let body = reader.take(usize::from(size).checked_sub(8)?)?;
    Some((RawRecord { kind, misc: misc.into(), body }, offset.checked_add(size.into())?))
}

/// Says what a record means.
pub(super) fn decode(raw: RawRecord<'_>, layout: &RingLayout) -> Decoded {
    match raw.kind {
        bindings::PERF_RECORD_SAMPLE => sample(raw, layout),
        bindings::PERF_RECORD_MMAP2 => raw.record(mapped),
        bindings::PERF_RECORD_FORK => raw.record(began),
        bindings::PERF_RECORD_EXIT => raw.record(ended),
        bindings::PERF_RECORD_COMM if raw.misc & bindings::PERF_RECORD_MISC_COMM_EXEC == 0 => Decoded::Nothing,
        bindings::PERF_RECORD_COMM => raw.record(executed),
        // Number of the event, then the count.
        bindings::PERF_RECORD_LOST => {
            let mut reader = Reader(raw.body);
            reader.u64().and_then(|_| reader.u64()).map_or(Decoded::Damaged, Decoded::Lost)
        }
        bindings::PERF_RECORD_LOST_SAMPLES => Reader(raw.body).u64().map_or(Decoded::Damaged, Decoded::Lost),
        bindings::PERF_RECORD_THROTTLE => Decoded::Throttled,
        bindings::PERF_RECORD_UNTHROTTLE => Decoded::Nothing,
        _ => Decoded::Unknown,
    }
}

impl RawRecord<'_> {
    /// Reads a record that ends with thread (8 bytes), moment and number of the event.
    fn record(self, read: impl Fn(&mut Reader<'_>) -> Option<(u32, u32, RecordKind)>) -> Decoded {
        let read = || {
            let (body, end) = self.body.split_at_checked(self.body.len().checked_sub(24)?)?;
            let at = Reader(end.get(8..)?).u64()?;
            let (process, thread, what) = read(&mut Reader(body))?;
            Some(Record { at, process, thread, what })
        };
        read().map_or(Decoded::Damaged, Decoded::Record)
    }
}

fn sample(raw: RawRecord<'_>, layout: &RingLayout) -> Decoded {
    let mut reader = Reader(raw.body);
    let Some(event) = reader.u64() else { return Decoded::Damaged };
    match layout.of(event) {
        None | Some(SampleLayout::Nothing) => Decoded::Unknown,
        Some(SampleLayout::Served { major }) => {
            let by_kernel = raw.misc & bindings::PERF_RECORD_MISC_CPUMODE_MASK == bindings::PERF_RECORD_MISC_KERNEL;
            match served(&mut reader, major, by_kernel) {
                None => Decoded::Damaged,
                Some(record) if major => Decoded::Served(record),
                Some(record) => Decoded::Record(record),
            }
        }
        Some(SampleLayout::Begun { fields, by_kernel }) => {
            begun(&mut reader, fields, by_kernel).map_or(Decoded::Damaged, Decoded::Record)
        }
    }
}

/// `ip`, `pid`, `tid`, `time`, `addr`.
fn served(reader: &mut Reader<'_>, major: bool, by_kernel: bool) -> Option<Record> {
    let instruction = reader.u64()?;
    let (process, thread, at) = (reader.u32()?, reader.u32()?, reader.u64()?);
    let address = reader.u64()?;
    let fault = Fault { address, instruction, write: None, fetch: None, major, by_kernel };
    Some(Record { at, process, thread, what: RecordKind::Fault(fault) })
}

/// `pid`, `tid`, `time`, size of the tracepoint's record, that record.
fn begun(reader: &mut Reader<'_>, fields: FaultFields, by_kernel: bool) -> Option<Record> {
    let (process, thread, at) = (reader.u32()?, reader.u32()?, reader.u64()?);
    let size = usize::try_from(reader.u32()?).ok()?;
    let record = reader.take(size)?;
    let error_code = fields.error_code.read(record)?;
    let fault = Fault {
        address: fields.address.read(record)?,
        instruction: fields.instruction.read(record)?,
        write: Some(error_code & 2 != 0),
        fetch: Some(error_code & 16 != 0),
        major: false,
        by_kernel,
    };
    Some(Record { at, process, thread, what: RecordKind::Fault(fault) })
}

/// `pid`, `tid`, `addr`, `len`, `pgoff`, `maj`, `min`, `ino`, `ino_generation`, `prot`, `flags`, path with its NUL and padding.
fn mapped(reader: &mut Reader<'_>) -> Option<(u32, u32, RecordKind)> {
    let (process, thread) = (reader.u32()?, reader.u32()?);
    let (address, length, offset) = (reader.u64()?, reader.u64()?, reader.u64()?);
    let (major, minor) = (u64::from(reader.u32()?), u64::from(reader.u32()?));
    let (inode, _generation) = (reader.u64()?, reader.u64()?);
    let (protection, flags) = (reader.u32()?, reader.u32()?);
    let path = reader.text();
    let device = major << 20 | minor;
    let mapped = Mapped { address, length, offset, device, inode, protection, flags, path };
    Some((process, thread, RecordKind::Mapped(mapped)))
}

/// `pid`, `tid`, name.
fn executed(reader: &mut Reader<'_>) -> Option<(u32, u32, RecordKind)> {
    let (process, thread) = (reader.u32()?, reader.u32()?);
    Some((process, thread, RecordKind::Executed { name: reader.text() }))
}

/// `pid`, `ppid`, `tid`, `ptid`, `time`.
fn began(reader: &mut Reader<'_>) -> Option<(u32, u32, RecordKind)> {
    let (process, parent) = (reader.u32()?, reader.u32()?);
    let (thread, parent_thread) = (reader.u32()?, reader.u32()?);
    Some((process, thread, RecordKind::Began { parent, parent_thread }))
}

fn ended(reader: &mut Reader<'_>) -> Option<(u32, u32, RecordKind)> {
    began(reader).map(|(process, thread, _)| (process, thread, RecordKind::Ended))
}

/// Reads from the front; everything answers `None` at the end.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn u16(&mut self) -> Option<u16> {
        Some(u16::from_ne_bytes(self.take(2)?.try_into().ok()?))
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_ne_bytes(self.take(4)?.try_into().ok()?))
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_ne_bytes(self.take(8)?.try_into().ok()?))
    }

    /// All up to a NUL.
    fn text(&mut self) -> OsString {
        let text = self.0.split(|&byte| byte == 0).next().unwrap_or_default();
        OsStr::from_bytes(text).to_os_string()
    }
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
