//! Bytes made by hand as the kernel writes them, and bytes that no kernel writes.

use proptest::prelude::*;

use super::super::order::{order, read};
use super::super::tracepoint::tests::fields;
use super::*;

const USER: u64 = 7;
const KERNEL: u64 = 8;
const MAJOR: u64 = 9;
const MINOR: u64 = 10;

fn layout() -> RingLayout {
    let mut layout = RingLayout::default();
    layout.add(USER, SampleLayout::Begun { fields: fields(), by_kernel: false });
    layout.add(KERNEL, SampleLayout::Begun { fields: fields(), by_kernel: true });
    layout.add(MAJOR, SampleLayout::Served { major: true });
    layout.add(MINOR, SampleLayout::Served { major: false });
    layout
}

/// A record's bytes, field by field.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn u32(mut self, value: u32) -> Self {
        self.0.extend(value.to_ne_bytes());
        self
    }

    fn u64(mut self, value: u64) -> Self {
        self.0.extend(value.to_ne_bytes());
        self
    }

    fn text(mut self, text: &str) -> Self {
        self.0.extend(text.as_bytes());
        self.0.push(0);
        while !self.0.len().is_multiple_of(8) {
            self.0.push(0);
        }
        self
    }

    /// Thread, moment and event behind a record that is not a sample.
    fn end(self, at: u64) -> Self {
        self.u32(100).u32(101).u64(at).u64(MAJOR)
    }

    fn record(self, kind: u32, misc: u32) -> Vec<u8> {
        let size = u16::try_from(self.0.len() + 8).unwrap();
        let mut bytes = kind.to_ne_bytes().to_vec();
        bytes.extend(u16::try_from(misc).unwrap().to_ne_bytes());
        bytes.extend(size.to_ne_bytes());
        bytes.extend(self.0);
        bytes
    }
}

fn begun_sample(event: u64, thread: u32, at: u64, address: u64, error_code: u64) -> Vec<u8> {
    let raw = Bytes::default().u64(event).u32(100).u32(thread).u64(at);
    // The tracepoint's record: eight bytes common to all, three fields, four bytes up to a multiple of eight.
    raw.u32(36).u64(0xbe).u64(address).u64(0x40_1000).u64(error_code).u32(0).record(bindings::PERF_RECORD_SAMPLE, 2)
}

fn served_sample(event: u64, thread: u32, at: u64, address: u64, misc: u32) -> Vec<u8> {
    let sample = Bytes::default().u64(event).u64(0x40_1000).u32(100).u32(thread).u64(at).u64(address);
    sample.record(bindings::PERF_RECORD_SAMPLE, misc)
}

/// All records of the rings in order.
fn all(rings: Vec<Vec<u8>>) -> Vec<PerfRecord> {
    let rings: Vec<_> = rings.into_iter().map(|bytes| (bytes, layout())).collect();
    let order = order(&rings, 100, true);
    assert_eq!((order.unreadable, order.lost, order.throttled), (0, 0, 0));
    order.places.iter().map(|&place| read(&rings, place).unwrap()).collect()
}

fn only(bytes: &[u8]) -> Decoded {
    let (raw, behind) = record_at(bytes, 0).unwrap();
    assert_eq!(behind, bytes.len());
    decode(raw, &layout())
}

fn faults(records: &[PerfRecord]) -> Vec<(u32, Fault)> {
    let fault = |record: &PerfRecord| match record.what {
        PerfRecordKind::Fault(fault) => Some((record.thread, fault)),
        _ => None,
    };
    records.iter().filter_map(fault).collect()
}

#[test]
fn the_error_code_tells_writes_and_fetches_apart() {
    let of = |code| match only(&begun_sample(USER, 101, 5, 0x7000, code)) {
        Decoded::Record(PerfRecord { at: 5, process: 100, thread: 101, what: PerfRecordKind::Fault(fault) }) => fault,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        (of(4).write, of(4).fetch, of(4).address, of(4).instruction),
        (Some(false), Some(false), 0x7000, 0x40_1000)
    );
    assert_eq!((of(6).write, of(7).write), (Some(true), Some(true)));
    assert_eq!((of(0x14).write, of(0x14).fetch), (Some(false), Some(true)));
    let Decoded::Record(record) = only(&begun_sample(KERNEL, 101, 5, 0x7000, 2)) else { panic!() };
    assert!(faults(&[record])[0].1.by_kernel);
}

#[test]
fn software_events_tell_of_the_kernel_by_its_mode() {
    for (misc, by_kernel) in [(bindings::PERF_RECORD_MISC_KERNEL, true), (bindings::PERF_RECORD_MISC_USER, false)] {
        let Decoded::Record(record) = only(&served_sample(MINOR, 101, 5, 0x7008, misc)) else { panic!() };
        let expected =
            Fault { address: 0x7008, instruction: 0x40_1000, write: None, fetch: None, major: false, by_kernel };
        assert_eq!(record.what, PerfRecordKind::Fault(expected));
    }
}

#[test]
fn a_mapping_has_file_place_and_path() {
    let record = Bytes::default().u32(100).u32(101).u64(0x7f00_0000_0000).u64(0x3000).u64(0x1000);
    let record = record.u32(254).u32(3).u64(4711).u64(99).u32(5).u32(2).text("/usr/lib/libfoo.so").end(77);
    let mapped = Mapped {
        address: 0x7f00_0000_0000,
        length: 0x3000,
        offset: 0x1000,
        device: 254 << 20 | 3,
        inode: 4711,
        protection: 5,
        flags: 2,
        path: "/usr/lib/libfoo.so".into(),
    };
    let expected = PerfRecord { at: 77, process: 100, thread: 101, what: PerfRecordKind::Mapped(mapped) };
    assert_eq!(only(&record.record(bindings::PERF_RECORD_MMAP2, 2)), Decoded::Record(expected));
}

#[test]
fn processes_begin_execute_and_end() {
    let task = || Bytes::default().u32(200).u32(100).u32(200).u32(101).u64(78).end(78);
    let expected = |what| Decoded::Record(PerfRecord { at: 78, process: 200, thread: 200, what });
    let began = PerfRecordKind::Began { parent: 100, parent_thread: 101 };
    assert_eq!(only(&task().record(bindings::PERF_RECORD_FORK, 0)), expected(began));
    assert_eq!(only(&task().record(bindings::PERF_RECORD_EXIT, 0)), expected(PerfRecordKind::Ended));
    let name = || Bytes::default().u32(200).u32(200).text("soffice.bin").end(78);
    let executed = PerfRecordKind::Executed { name: "soffice.bin".into() };
    let exec = bindings::PERF_RECORD_MISC_COMM_EXEC;
    assert_eq!(only(&name().record(bindings::PERF_RECORD_COMM, exec)), expected(executed));
    assert_eq!(only(&name().record(bindings::PERF_RECORD_COMM, 0)), Decoded::Nothing);
}

#[test]
fn what_is_missing_is_counted() {
    let lost = Bytes::default().u64(USER).u64(12).end(1).record(bindings::PERF_RECORD_LOST, 0);
    let samples = Bytes::default().u64(3).end(2).record(bindings::PERF_RECORD_LOST_SAMPLES, 0);
    let throttled = Bytes::default().u64(3).u64(1).u64(1).end(3).record(bindings::PERF_RECORD_THROTTLE, 0);
    let unthrottled = Bytes::default().u64(3).u64(1).u64(1).end(3).record(bindings::PERF_RECORD_UNTHROTTLE, 0);
    let of_nobody = served_sample(999, 1, 4, 0x1000, 2);
    let of_the_future = Bytes::default().u64(1).record(4242, 0);
    let cut = Bytes::default().u32(1).record(bindings::PERF_RECORD_MMAP2, 0);
    let tail = vec![1, 0, 0];
    let ring = [lost, samples, throttled, unthrottled, of_nobody, of_the_future, cut, tail].concat();
    let order = order(&[(ring, layout())], 100, true);
    assert_eq!((order.lost, order.throttled, order.unreadable, order.places.len()), (15, 1, 4, 0));
}

#[test]
fn rings_are_merged_and_major_faults_joined() {
    // The thread 101 waits for the disk and goes on on another processor.
    let first = [begun_sample(USER, 101, 10, 0x7000, 4), begun_sample(USER, 102, 11, 0x7000, 4)].concat();
    let second = [begun_sample(USER, 103, 5, 0x8000, 6), served_sample(MAJOR, 101, 20, 0x7000, 2)].concat();
    let records = all(vec![first, second]);
    assert_eq!(records.iter().map(|record| record.at).collect::<Vec<_>>(), [5, 10, 11]);
    let major: Vec<_> = faults(&records).into_iter().map(|(thread, fault)| (thread, fault.major)).collect();
    assert_eq!(major, [(103, false), (101, true), (102, false)]);
}

#[test]
fn a_major_fault_whose_begin_is_lost_stands_for_itself() {
    let ring = [begun_sample(USER, 101, 10, 0x9000, 4), served_sample(MAJOR, 101, 20, 0x7010, 2)].concat();
    let faults = faults(&all(vec![ring]));
    assert_eq!(
        faults.iter().map(|(_, fault)| (fault.address, fault.major)).collect::<Vec<_>>(),
        [(0x9000, false), (0x7010, true)]
    );
    assert_eq!(faults[1].1.write, None);
}

#[test]
fn faults_of_other_processes_are_left_out() {
    let of_200 = |at| {
        let raw = Bytes::default().u64(USER).u32(200).u32(200).u64(at).u32(36).u64(0xbe).u64(at << 12).u64(0).u64(4);
        raw.u32(0).record(bindings::PERF_RECORD_SAMPLE, 2)
    };
    let task = |at| Bytes::default().u32(200).u32(100).u32(200).u32(101).u64(at).end(at);
    let began = task(10).record(bindings::PERF_RECORD_FORK, 0);
    let ended = task(20).record(bindings::PERF_RECORD_EXIT, 0);
    let records = all(vec![[of_200(5), began, of_200(15), ended, of_200(25)].concat()]);
    assert_eq!(records.iter().map(|record| record.at).collect::<Vec<_>>(), [10, 15, 20]);
}

#[test]
fn a_raw_record_of_another_size_is_damaged() {
    let short = Bytes::default().u64(USER).u32(1).u32(1).u64(5).u32(20).u64(0).u64(0).u32(0);
    assert_eq!(only(&short.record(bindings::PERF_RECORD_SAMPLE, 2)), Decoded::Damaged);
    let beyond = Bytes::default().u64(USER).u32(1).u32(1).u64(5).u32(u32::MAX).u64(0);
    assert_eq!(only(&beyond.record(bindings::PERF_RECORD_SAMPLE, 2)), Decoded::Damaged);
}

proptest! {
    #[test]
    fn any_bytes_come_to_an_end(rings in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..400), 0..4)) {
        let rings: Vec<_> = rings.into_iter().map(|bytes| (bytes, layout())).collect();
        let order = order(&rings, 100, true);
        for &place in &order.places {
            prop_assert!(read(&rings, place).is_some());
        }
    }

    #[test]
    fn any_record_comes_to_an_end(
        records in prop::collection::vec((0u32..24, any::<u16>(), 0u64..12, prop::collection::vec(any::<u8>(), 0..120)), 0..20),
        cut in 0usize..64,
    ) {
        let mut ring = Vec::new();
        for (kind, misc, event, rest) in records {
            let mut body = Bytes::default().u64(event);
            body.0.extend(rest);
            ring.extend(body.record(kind, misc.into()));
        }
        ring.truncate(ring.len().saturating_sub(cut));
        let rings = vec![(ring, layout())];
        let order = order(&rings, 100, true);
        prop_assert!(order.places.iter().all(|&place| read(&rings, place).is_some()));
    }
}
