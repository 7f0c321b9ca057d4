//! Traces to write: a small one that is told by hand, and large ones such as big programs leave.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use coldstart_profile::FileIdentity;
use coldstart_profile::trace::*;
pub(crate) use coldstart_testing::skip;

pub(crate) fn section(name: &str, address: u64, offset: u64, size: u64) -> ObjectSection {
    let is_zero_filled = name == ".bss";
    ObjectSection { name: name.to_owned(), address, offset, size, entry_size: 0, is_zero_filled }
}

pub(crate) fn symbol(name: &str, address: u64, size: u64, is_function: bool) -> ObjectSymbol {
    ObjectSymbol { address, size, name: name.to_owned(), is_function }
}

pub(crate) fn touch(write: Option<bool>, execute: bool, major: bool) -> EventKind {
    EventKind::Touch(Touch { write, execute, major, first_of_run: true, ..Touch::default() })
}

pub(crate) fn event(at: u64, kind: EventKind, file: u32, page: u64, code: Option<(u32, u64)>) -> Event {
    let code = code.map(|(file, address)| CodeAddress { file: FileId(file), address });
    Event { at: Moment(at), thread: ThreadId(0), kind, file: Some(FileId(file)), page, pages: 1, code }
}

pub(crate) fn file(path: impl Into<PathBuf>, category: FileCategory) -> TracedFile {
    let identity = Some(FileIdentity { size: 40_960, modified: 1_700_000_000_000_000_000 });
    TracedFile { path: path.into(), device: 8 << 20 | 1, inode: 7, identity, category }
}

fn phase(kind: PhaseKind, begin: u64, end: u64, parent: Option<u32>) -> Phase {
    Phase {
        process: ProcessId(0),
        kind,
        file: None,
        address: None,
        begin: Moment(begin),
        end: Moment(end),
        parent: parent.map(PhaseId),
        known: Known::Exactly,
    }
}

/// A program `/opt/p`, its library `/opt/libq.so` and a file whose path is not UTF-8; ten events and three lookups.
pub(crate) fn small() -> Trace {
    let odd = PathBuf::from(OsString::from_vec(b"/home/u/caf\xe9.conf".to_vec()));
    let program = TracedObject {
        file: FileId(0),
        soname: None,
        build_id: Some("abcd".to_owned()),
        machine: 62,
        is_64_bit: true,
        entry: 0x1000,
        segments: vec![
            ObjectSegment { address: 0, offset: 0, file_size: 0x3000, memory_size: 0x3000, flags: 5 },
            ObjectSegment { address: 0x4000, offset: 0x3000, file_size: 0x1000, memory_size: 0x3000, flags: 6 },
        ],
        sections: vec![
            section(".text", 0x1000, 0x1000, 0x1800),
            section(".rodata", 0x2800, 0x2800, 0x800),
            section(".data", 0x4000, 0x3000, 0x1000),
            section(".bss", 0x5000, 0x4000, 0x2000),
        ],
        symbols: vec![
            symbol("_start", 0x1000, 0x20, true),
            symbol("main", 0x1020, 0x100, true),
            symbol("fn_2000", 0x2000, 0x80, true),
            symbol("settings", 0x4100, 0x40, false),
            symbol("buffer", 0x5000, 0x1800, false),
        ],
        relocations: vec![RelocationRun {
            table: ".rela.dyn".to_owned(),
            first: 0,
            count: 12,
            kind: "RELATIVE".to_owned(),
            section: ".data".to_owned(),
            from: 0x4000,
            to: 0x4058,
        }],
    };
    let library =
        TracedObject { file: FileId(1), soname: Some("libq.so".to_owned()), symbols: Vec::new(), ..program.clone() };
    let mut initialiser = phase(PhaseKind::Initialiser, 2_500_000, 2_900_000, Some(1));
    (initialiser.file, initialiser.address) = (Some(FileId(0)), Some(0x2000));
    let zero = EventKind::Touch(Touch { zero_filled: true, write: Some(true), ..Touch::default() });
    let lookup = |at, path: PathBuf, kind, file: Option<u32>| Lookup {
        at: Moment(at),
        process: Some(ProcessId(0)),
        path,
        kind,
        file: file.map(FileId),
        failed: file.is_none(),
    };
    Trace {
        run: Run {
            command: vec!["/opt/p".into(), OsString::from_vec(b"caf\xe9".to_vec())],
            started: 1_800_000_000,
            layers: vec![Layer::Pages, Layer::Phases],
            pages: PagesSeen::Each,
            state: StartState::Cold,
            ready_at: Some(Moment(9_000_000)),
            ended_at: Moment(10_000_000),
            end: RunEnd::Exited(0),
            readiness: "exit".to_owned(),
            lost_events: 0,
            stops: 7,
            stopped: 12_345,
            kernel: "6.18.0".to_owned(),
            processors: 2,
            complete: true,
            notes: vec!["one".to_owned(), "two".to_owned()],
        },
        processes: vec![TracedProcess {
            number: 4711,
            program: "/opt/p".into(),
            arguments: vec!["/opt/p".into(), "-x".into()],
            executed: true,
            pages: PagesSeen::Each,
            notes: vec!["a 32-bit program".to_owned()],
            ..TracedProcess::default()
        }],
        threads: vec![TracedThread { number: 4711, process: ProcessId(0) }],
        files: vec![
            file("/opt/p", FileCategory::Program),
            file("/opt/libq.so", FileCategory::Program),
            file(odd.clone(), FileCategory::Profile),
        ],
        objects: vec![program, library],
        loads: vec![Load { process: ProcessId(0), file: FileId(0), bias: 0x5555_0000_0000, at: Moment(1) }],
        phases: vec![
            phase(PhaseKind::Relocation, 1_000_000, 2_000_000, None),
            phase(PhaseKind::Initialisers, 2_000_000, 3_000_000, None),
            initialiser,
            phase(PhaseKind::Main, 3_000_000, 9_000_000, None),
        ],
        events: vec![
            event(500_000, EventKind::Fill(FillCause::Demand), 0, 0, None),
            event(1_000_000, touch(Some(true), false, true), 0, 3, Some((1, 0x1010))),
            event(1_500_000, touch(Some(false), false, false), 1, 2, Some((1, 0x1010))),
            event(2_600_000, touch(None, true, true), 0, 2, Some((0, 0x2000))),
            event(2_600_001, EventKind::Function, 0, 2, Some((0, 0x2000))),
            event(2_700_000, zero, 0, 6, Some((0, 0x2010))),
            event(3_000_000, EventKind::Function, 0, 1, Some((0, 0x1020))),
            Event { pages: 4, ..event(4_000_000, EventKind::Read, 2, 0, None) },
            Event { file: None, pages: 9, ..event(5_000_000, EventKind::Fill(FillCause::Other), 0, 77, None) },
            event(6_000_000, touch(Some(false), false, false), 0, 2, None),
        ],
        lookups: vec![
            lookup(400_000, "/etc/missing".into(), LookupKind::Open, None),
            lookup(3_900_000, odd, LookupKind::Open, Some(2)),
            lookup(3_950_000, "/link/to/p".into(), LookupKind::Ask, Some(0)),
        ],
    }
}

/// A trace as a big program leaves it: 150 objects, most events in the largest ones; six of ten events are touches, three
/// are functions of which a quarter has a long name. The same numbers each time.
pub(crate) fn large(events: u32) -> Trace {
    let mut trace = Trace { run: small().run, processes: small().processes, ..Trace::default() };
    trace.threads = (0..40).map(|thread| TracedThread { number: 4711 + thread, process: ProcessId(0) }).collect();
    for number in 0..150 {
        trace.files.push(file(format!("/usr/lib/libreoffice/program/libmodule{number}lo.so"), FileCategory::Program));
        trace.objects.push(large_object(number));
        let bias = 0x7f00_0000_0000 + (u64::from(number) << 28);
        trace.loads.push(Load { process: ProcessId(0), file: FileId(number), bias, at: Moment(number.into()) });
    }
    for number in 0..450 {
        trace.files.push(file(format!("/usr/share/icons/hicolor/48x48/apps/icon-{number}.png"), FileCategory::System));
    }
    trace.phases =
        (0..300).map(|at| phase(PhaseKind::Initialiser, at * 1_000_000, at * 1_000_000 + 900_000, None)).collect();
    let mut random = Random(1);
    for number in 0..events {
        // Eight seconds.
        let at = u64::from(number) * 8_000_000_000 / u64::from(events);
        let object = (random.below(150) * random.below(150) / 150) as u32;
        let pages = object_pages(object);
        let page = random.below(pages);
        let code = Some((object, page * 4096 + random.below(4096)));
        let kind = random.below(100);
        let mut event = match kind {
            0..40 => event(
                at,
                touch(Some(kind.is_multiple_of(2)), false, kind < 4),
                object,
                page,
                Some((0, 0x1f_e3c0 + kind)),
            ),
            40..62 => event(at, touch(None, true, kind < 42), object, page, code),
            62..90 => event(at, EventKind::Function, object, page, code),
            90..96 => event(at, EventKind::Read, 150 + random.below(450) as u32, random.below(64), None),
            _ => Event { pages: 32, ..event(at, EventKind::Fill(FillCause::Demand), object, page & !31, None) },
        };
        event.thread = ThreadId((random.below(40) * random.below(40) / 40) as u32);
        if let (EventKind::Function, Some(code)) = (event.kind, event.code) {
            let name = if kind.is_multiple_of(4) {
                format!("com::sun::star::module{object}::Component::create{:x}(void*, int)", code.address)
            } else {
                format!("fn_{:x}", code.address)
            };
            trace.objects[object as usize].symbols.push(symbol(&name, code.address, 64 + random.below(900), true));
        }
        trace.events.push(event);
    }
    for object in &mut trace.objects {
        object.symbols.sort_by_key(|symbol| symbol.address);
    }
    for number in 0..events / 40 {
        let at = Moment(u64::from(number) * 8_000_000_000 * 40 / u64::from(events));
        let found = number.is_multiple_of(3);
        let path = if found {
            trace.files[150 + number as usize % 450].path.clone()
        } else {
            format!("/usr/lib/x86_64-linux-gnu/glibc-hwcaps/missing-{number}.so").into()
        };
        let file = found.then_some(FileId(150 + number % 450));
        trace.lookups.push(Lookup {
            at,
            process: Some(ProcessId(0)),
            path,
            kind: LookupKind::Open,
            file,
            failed: !found,
        });
    }
    trace
}

fn object_pages(object: u32) -> u64 {
    40_000 / (u64::from(object) + 1) + 64
}

fn large_object(number: u32) -> TracedObject {
    const NAMES: [&str; 27] = [
        ".note.gnu.property",
        ".note.gnu.build-id",
        ".gnu.hash",
        ".dynsym",
        ".dynstr",
        ".gnu.version",
        ".gnu.version_r",
        ".rela.dyn",
        ".rela.plt",
        ".init",
        ".plt",
        ".plt.got",
        ".text",
        ".fini",
        ".rodata",
        ".eh_frame_hdr",
        ".eh_frame",
        ".gcc_except_table",
        ".tbss",
        ".init_array",
        ".fini_array",
        ".data.rel.ro",
        ".dynamic",
        ".got",
        ".got.plt",
        ".data",
        ".bss",
    ];
    let bytes = object_pages(number) * 4096;
    let mut at = 0x2a8;
    let sections = NAMES.map(|name| {
        let size = match name {
            ".text" => bytes / 2,
            ".rodata" | ".eh_frame" | ".data.rel.ro" | ".rela.dyn" => bytes / 10,
            _ => 0x40,
        };
        at += size;
        section(name, at - size, at - size, size)
    });
    let tenth = bytes / 10;
    let segment = |part: u64, flags| ObjectSegment {
        address: part * tenth,
        offset: part * tenth,
        file_size: tenth * 2,
        memory_size: tenth * 2,
        flags,
    };
    let run = |first| RelocationRun {
        table: ".rela.dyn".to_owned(),
        first,
        count: 800,
        kind: if first == 0 { "RELATIVE" } else { "GLOB_DAT" }.to_owned(),
        section: ".data.rel.ro".to_owned(),
        from: tenth * 8 + first,
        to: tenth * 8 + first + 6400,
    };
    TracedObject {
        file: FileId(number),
        soname: Some(format!("libmodule{number}lo.so")),
        build_id: Some(format!("{number:040x}")),
        machine: 62,
        is_64_bit: true,
        entry: 0,
        segments: vec![segment(0, 4), segment(2, 5), segment(4, 5), segment(6, 4), segment(8, 6)],
        sections: sections.into(),
        symbols: Vec::new(),
        relocations: (0..if number < 10 { 200 } else { 8 }).map(|first| run(first * 800)).collect(),
    }
}

/// A linear congruential generator: the same numbers everywhere.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}
