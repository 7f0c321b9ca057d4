//! Decoding the ring's bytes into records, without trusting them.
//!
//! Every sample begins with the ID of its event (`PERF_SAMPLE_IDENTIFIER`), which determines the layout of the rest; every other record
//! ends with thread, time and that ID (`sample_id_all`). Layouts: `include/uapi/linux/perf_event.h`, `enum perf_event_type`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use perf_event_open_sys::bindings;

use super::record::{Fault, Mapped, PerfRecord, PerfRecordKind};
use super::tracepoint::FaultFields;

/// The layout of a sample, after event ID, thread and time.
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
        /// The offsets of its fields.
        fields: FaultFields,
        /// Whether the kernel used the page.
        by_kernel: bool,
    },
}

/// How to read the samples of one ring.
#[derive(Clone, Debug, Default)]
pub(super) struct RingLayout(Vec<(u64, SampleLayout)>);

impl RingLayout {
    /// Sets the layout of the samples of an event, by its ID.
    pub(super) fn add(&mut self, event: u64, layout: SampleLayout) {
        self.0.push((event, layout));
    }

    fn of(&self, event: u64) -> Option<SampleLayout> {
        self.0.iter().find(|(number, _)| *number == event).map(|(_, layout)| *layout)
    }
}

/// A decoded record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decoded {
    /// A record for the caller.
    Record(PerfRecord),
    /// A served fault that waited for the disk; reported before, when it began.
    Served(PerfRecord),
    /// This many records were lost because the ring was full.
    Lost(u64),
    /// The kernel dropped faults because there were too many.
    Throttled,
    /// Of no interest: a thread's new name, the end of throttling.
    Nothing,
    /// A record of a type or an event that was not requested.
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

/// The record at `offset` and the offset of the next one; `None` at the end, or if the bytes are not a record.
pub(super) fn record_at(bytes: &[u8], offset: usize) -> Option<(RawRecord<'_>, usize)> {
    let mut reader = Reader(bytes.get(offset..)?);
    let (kind, misc, size) = (reader.u32()?, reader.u16()?, reader.u16()?);
    // A size below that of the header would never come to an end.
    let body = reader.take(usize::from(size).checked_sub(8)?)?;
    Some((RawRecord { kind, misc: misc.into(), body }, offset.checked_add(size.into())?))
}

/// Decodes a record.
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
    fn record(self, read: impl Fn(&mut Reader<'_>) -> Option<(u32, u32, PerfRecordKind)>) -> Decoded {
        let read = || {
            let (body, end) = self.body.split_at_checked(self.body.len().checked_sub(24)?)?;
            let at = Reader(end.get(8..)?).u64()?;
            let (process, thread, what) = read(&mut Reader(body))?;
            Some(PerfRecord { at, process, thread, what })
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
fn served(reader: &mut Reader<'_>, major: bool, by_kernel: bool) -> Option<PerfRecord> {
    let instruction = reader.u64()?;
    let (process, thread, at) = (reader.u32()?, reader.u32()?, reader.u64()?);
    let address = reader.u64()?;
    let fault = Fault { address, instruction, write: None, fetch: None, major, by_kernel };
    Some(PerfRecord { at, process, thread, what: PerfRecordKind::Fault(fault) })
}

/// `pid`, `tid`, `time`, size of the tracepoint's record, that record.
fn begun(reader: &mut Reader<'_>, fields: FaultFields, by_kernel: bool) -> Option<PerfRecord> {
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
    Some(PerfRecord { at, process, thread, what: PerfRecordKind::Fault(fault) })
}

/// `pid`, `tid`, `addr`, `len`, `pgoff`, `maj`, `min`, `ino`, `ino_generation`, `prot`, `flags`, path with its NUL and padding.
fn mapped(reader: &mut Reader<'_>) -> Option<(u32, u32, PerfRecordKind)> {
    let (process, thread) = (reader.u32()?, reader.u32()?);
    let (address, length, offset) = (reader.u64()?, reader.u64()?, reader.u64()?);
    let (major, minor) = (u64::from(reader.u32()?), u64::from(reader.u32()?));
    let (inode, _generation) = (reader.u64()?, reader.u64()?);
    let (protection, flags) = (reader.u32()?, reader.u32()?);
    let path = reader.text();
    let device = major << 20 | minor;
    let mapped = Mapped { address, length, offset, device, inode, protection, flags, path };
    Some((process, thread, PerfRecordKind::Mapped(mapped)))
}

/// `pid`, `tid`, name.
fn executed(reader: &mut Reader<'_>) -> Option<(u32, u32, PerfRecordKind)> {
    let (process, thread) = (reader.u32()?, reader.u32()?);
    Some((process, thread, PerfRecordKind::Executed { name: reader.text() }))
}

/// `pid`, `ppid`, `tid`, `ptid`, `time`.
fn began(reader: &mut Reader<'_>) -> Option<(u32, u32, PerfRecordKind)> {
    let (process, parent) = (reader.u32()?, reader.u32()?);
    let (thread, parent_thread) = (reader.u32()?, reader.u32()?);
    Some((process, thread, PerfRecordKind::Began { parent, parent_thread }))
}

fn ended(reader: &mut Reader<'_>) -> Option<(u32, u32, PerfRecordKind)> {
    began(reader).map(|(process, thread, _)| (process, thread, PerfRecordKind::Ended))
}

/// Reads from the front; every method returns `None` at the end.
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
