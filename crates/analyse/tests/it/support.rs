//! Hand-made records, notes and objects, in few words.

use std::path::{Path, PathBuf};

use coldstart_analyse::{
    Analysed, FileSeen, Image, InitialiserTime, Joined, LinkedObject, LoaderState, Note, NoteKind, Recorded, finish,
    join,
};
use coldstart_profile::FileIdentity;
use coldstart_profile::trace::{
    Event, EventKind, FileId, ObjectSection, ObjectSegment, Phase, PhaseKind, RelocationRun, Touch, TracedObject,
};
use coldstart_sys::fault_recorder::{Fault, Mapped, PerfRecord, PerfRecordKind};

pub(crate) const FIRST: u32 = 100;
pub(crate) const DEVICE: u64 = 8 << 20;

/// A recording in the making. Times are nanoseconds since the launch.
#[derive(Clone, Debug)]
pub(crate) struct Tape {
    pub(crate) records: Vec<PerfRecord>,
    pub(crate) notes: Vec<Note>,
    pub(crate) until: u64,
    pub(crate) process: u32,
    pub(crate) thread: u32,
}

pub(crate) const LAUNCHED: u64 = 1_000_000;

impl Default for Tape {
    fn default() -> Self {
        Self { records: Vec::new(), notes: Vec::new(), until: 100_000, process: FIRST, thread: FIRST }
    }
}

pub(crate) fn fault(address: u64) -> Fault {
    Fault { address, instruction: 0, write: Some(false), fetch: Some(false), major: false, by_kernel: false }
}

impl Tape {
    /// Of the first process, which has executed its program at moment 10.
    pub(crate) fn executed() -> Self {
        let mut tape = Self::default();
        tape.record(10, PerfRecordKind::Executed { name: "program".into() });
        tape
    }

    pub(crate) fn by(&mut self, process: u32, thread: u32) -> &mut Self {
        (self.process, self.thread) = (process, thread);
        self
    }

    pub(crate) fn record(&mut self, at: u64, what: PerfRecordKind) -> &mut Self {
        let (process, thread) = (self.process, self.thread);
        self.records.push(PerfRecord { at: LAUNCHED + at, process, thread, what });
        self
    }

    pub(crate) fn note(&mut self, at: u64, what: NoteKind) -> &mut Self {
        let (process, thread) = (self.process, self.thread);
        self.notes.push(Note { at: LAUNCHED + at, process, thread, what });
        self
    }

    pub(crate) fn map_named(
        &mut self,
        at: u64,
        path: &str,
        inode: u64,
        range: (u64, u64),
        offset: u64,
        protection: u32,
    ) -> &mut Self {
        let (address, length) = range;
        let device = if inode == 0 { 0 } else { DEVICE };
        let path = path.into();
        self.record(
            at,
            PerfRecordKind::Mapped(Mapped { address, length, offset, device, inode, protection, flags: 2, path }),
        )
    }

    pub(crate) fn map(&mut self, at: u64, inode: u64, range: (u64, u64), offset: u64, protection: u32) -> &mut Self {
        self.map_named(at, &format!("/lib/{inode}"), inode, range, offset, protection)
    }

    pub(crate) fn anonymous(&mut self, at: u64, range: (u64, u64)) -> &mut Self {
        self.map_named(at, "//anon", 0, range, range.0, 3)
    }

    /// The library that [`object`] describes, mapped as glibc does it: five records, one nanosecond each.
    pub(crate) fn library(&mut self, at: u64, inode: u64, base: u64) -> &mut Self {
        self.map(at, inode, (base, 0x9000), 0, 1)
            .map(at + 1, inode, (base + 0x1000, 0x2000), 0x1000, 5)
            .map(at + 2, inode, (base + 0x3000, 0x1000), 0x3000, 1)
            .map(at + 3, inode, (base + 0x4000, 0x3000), 0x3000, 3)
            .anonymous(at + 4, (base + 0x7000, 0x2000))
    }

    pub(crate) fn fault(&mut self, at: u64, fault: Fault) -> &mut Self {
        self.record(at, PerfRecordKind::Fault(fault))
    }

    pub(crate) fn read(&mut self, at: u64, address: u64) -> &mut Self {
        self.fault(at, fault(address))
    }

    pub(crate) fn write(&mut self, at: u64, address: u64, instruction: u64) -> &mut Self {
        self.fault(at, Fault { write: Some(true), instruction, ..fault(address) })
    }

    pub(crate) fn fetch(&mut self, at: u64, address: u64) -> &mut Self {
        self.fault(at, Fault { fetch: Some(true), instruction: address, ..fault(address) })
    }

    pub(crate) fn image(&mut self, at: u64, entry: u64, loader_base: u64) -> &mut Self {
        let image = Image {
            program: "/bin/program".into(),
            arguments: vec!["program".into()],
            entry,
            loader_base,
            is_32_bit: false,
        };
        self.note(at, NoteKind::Executed(image))
    }

    pub(crate) fn loader(&mut self, at: u64, state: LoaderState) -> &mut Self {
        self.note(at, NoteKind::Loader(state))
    }

    /// Objects by inode and load bias.
    pub(crate) fn linked(&mut self, at: u64, objects: &[(u64, u64)]) -> &mut Self {
        let object = |&(inode, bias): &(u64, u64)| LinkedObject {
            bias,
            name: format!("/lib/{inode}").into(),
            dynamic: bias.wrapping_add(0x4800),
        };
        self.note(at, NoteKind::Linked(objects.iter().map(object).collect()))
    }

    pub(crate) fn protected(&mut self, at: u64, bias: u64) -> &mut Self {
        self.note(at, NoteKind::Protected { address: bias + 0x4000, length: 0x1000 })
    }

    /// Calls by moment, load bias and address without it.
    pub(crate) fn initialisers(&mut self, at: u64, calls: &[(u64, u64, u64)]) -> &mut Self {
        let time = |&(at, bias, address): &(u64, u64, u64)| InitialiserTime {
            address: bias + address,
            at: LAUNCHED + at,
            bias,
        };
        self.note(at, NoteKind::Initialisers(calls.iter().map(time).collect()))
    }

    pub(crate) fn forked(&mut self, at: u64, parent: u32, shares_memory: bool) -> &mut Self {
        self.note(at, NoteKind::Forked { parent, shares_memory })
    }

    pub(crate) fn joined(&self) -> Joined {
        let mut records = self.records.clone();
        records.sort_by_key(|record| record.at);
        let mut notes = self.notes.clone();
        notes.sort_by_key(|note| note.at);
        let until = LAUNCHED + self.until;
        join(&Recorded { records: &records, notes: &notes, launched_at: LAUNCHED, until, first: FIRST }, &seen)
    }

    /// With every file whose number is below 1000 described as an object.
    pub(crate) fn analysed(&self) -> Analysed {
        let joined = self.joined();
        let objects = objects(&joined);
        finish(joined, &objects, &|_, _| None)
    }
}

/// The file system knows `/lib/N` as number N, and the program as number 1.
pub(crate) fn seen(path: &Path) -> Option<FileSeen> {
    let inode = match path.strip_prefix("/lib") {
        Ok(number) => number.to_str()?.parse().ok()?,
        Err(_) => 1,
    };
    let identity = FileIdentity { size: 0x6100, modified: 0 };
    Some(FileSeen { path: PathBuf::from(path), device: DEVICE, inode, identity })
}

pub(crate) fn objects(joined: &Joined) -> Vec<TracedObject> {
    let files = joined.files.iter().enumerate().filter(|(_, file)| file.inode < 1000);
    files.map(|(number, file)| object(FileId(u32::try_from(number).unwrap()), file.inode)).collect()
}

/// Headers and relocation table, code, data at an address that is a page behind its place in the file, zero-filled memory.
pub(crate) fn object(file: FileId, inode: u64) -> TracedObject {
    let segment = |address, offset, file_size, memory_size, flags| ObjectSegment {
        address,
        offset,
        file_size,
        memory_size,
        flags,
    };
    let section = |name: &str, address, offset, size, entry_size| ObjectSection {
        name: name.into(),
        address,
        offset,
        size,
        entry_size,
        is_zero_filled: name == ".bss",
    };
    TracedObject {
        file,
        soname: Some(if inode == 3 { "libc.so.6".into() } else { format!("lib{inode}.so") }),
        build_id: None,
        machine: 62,
        is_64_bit: true,
        entry: 0x1000,
        segments: vec![
            segment(0, 0, 0x1000, 0x1000, 4),
            segment(0x1000, 0x1000, 0x2000, 0x2000, 5),
            segment(0x3000, 0x3000, 0x800, 0x800, 4),
            segment(0x4800, 0x3800, 0x2700, 0x4800, 6),
        ],
        sections: vec![
            section(".rela.dyn", 0x400, 0x400, 0xc00, 24),
            section(".text", 0x1000, 0x1000, 0x2000, 0),
            section(".dynamic", 0x4800, 0x3800, 0x200, 16),
            section(".data", 0x5000, 0x4000, 0x1f00, 0),
            section(".bss", 0x6f00, 0x5f00, 0x2100, 0),
        ],
        symbols: Vec::new(),
        relocations: vec![RelocationRun {
            table: ".rela.dyn".into(),
            first: 0,
            count: 10,
            kind: "RELATIVE".into(),
            section: ".data".into(),
            from: 0x5000,
            to: 0x5ff8,
        }],
    }
}

pub(crate) fn touches(analysed: &Analysed) -> Vec<(&Event, Touch)> {
    let touch = |event| match event {
        &Event { kind: EventKind::Touch(touch), .. } => Some(touch),
        _ => None,
    };
    analysed.events.iter().filter_map(|event| Some((event, touch(event)?))).collect()
}

/// Inode and page of each touch.
pub(crate) fn pages(analysed: &Analysed) -> Vec<(u64, u64)> {
    touches(analysed).iter().map(|(event, _)| (inode(analysed, event.file.unwrap()), event.page)).collect()
}

pub(crate) fn inode(analysed: &Analysed, file: FileId) -> u64 {
    analysed.files[file.0 as usize].inode
}

/// Each phase in one line: its depth as dots, kind, inode, begin and end, how it is known.
pub(crate) fn lines(analysed: &Analysed) -> Vec<String> {
    let mut lines = Vec::new();
    tree(analysed, None, 0, &mut lines);
    lines
}

fn tree(analysed: &Analysed, parent: Option<u32>, depth: usize, lines: &mut Vec<String>) {
    for (number, phase) in analysed.phases.iter().enumerate().filter(|(_, phase)| phase.parent.map(|id| id.0) == parent)
    {
        lines.push(format!("{}{}", ".".repeat(depth), line(analysed, phase)));
        tree(analysed, Some(u32::try_from(number).unwrap()), depth + 1, lines);
    }
}

fn line(analysed: &Analysed, phase: &Phase) -> String {
    let file = phase.file.map(|file| format!(" {}", inode(analysed, file))).unwrap_or_default();
    let address = phase.address.map(|address| format!(" {address:#x}")).unwrap_or_default();
    let Phase { kind, begin, end, known, .. } = phase;
    format!("{}{file}{address} {}-{} {}", kind.name(), begin.0, end.0, known.name())
}

pub(crate) fn of_kind(analysed: &Analysed, kind: PhaseKind) -> Vec<&Phase> {
    analysed.phases.iter().filter(|phase| phase.kind == kind).collect()
}
