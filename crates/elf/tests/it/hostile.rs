//! Damaged files: real ones with bytes changed and cut off, given to every parser. Nothing may panic or go on for ever.
//!
//! The fuzz targets of `fuzz/` call the same functions with inputs of their own and take longer.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use coldstart_elf::{ElfError, ElfFile, SegmentKind};
use proptest::prelude::*;
use proptest::sample::Index;

/// A real file, and the places in it where one byte decides much.
struct Original {
    bytes: Vec<u8>,
    /// Ranges of the headers, the dynamic table and what else is small and read early.
    decisive: Vec<(usize, usize)>,
}

impl Original {
    fn new(bytes: Vec<u8>) -> Self {
        let file = ElfFile::parse(&bytes).unwrap();
        let header = file.header();
        let range = |start: u64, size: u64| (start as usize, size as usize);
        let mut decisive = vec![range(0, 64)];
        decisive.push(range(header.segments_offset.0, u64::from(header.segment_count) * 56));
        decisive.push(range(header.sections_offset.0, u64::from(header.section_count) * 64));
        let kinds = [SegmentKind::Dynamic, SegmentKind::Note, SegmentKind::EhFrameHeader];
        let segments = file.segments().iter().filter(|segment| kinds.contains(&segment.kind));
        decisive.extend(segments.map(|segment| range(segment.offset.0, segment.file_size)));
        let small = file.sections().iter().map(|section| &section.header).filter(|section| section.file_size() > 0);
        decisive.extend(small.map(|section| range(section.offset.0, section.file_size().min(256))));
        decisive.retain(|(start, size)| *size > 0 && start + size <= bytes.len());
        Self { bytes, decisive }
    }
}

/// The fuzz targets' seeds, of many machines; a library from this machine's compiler; a program of the system.
static ORIGINALS: LazyLock<Vec<Original>> = LazyLock::new(|| {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    let mut files: Vec<Vec<u8>> =
        fs::read_dir(seeds).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect();
    assert!(files.len() > 8);
    files.push(build_library());
    files.push(fs::read("/bin/true").unwrap());
    files.into_iter().map(Original::new).collect()
});

fn build_library() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let source = "
        #include <stdio.h>
        static int value; int *places[20] = { &value, &value, &value };
        __thread int own; void (*print)(const char *) = (void *)puts;
        int call(int x) { char room[x]; room[0] = 0; printf(\"%d\", *places[x] + own); return room[0]; }
        __attribute__((constructor)) static void start(void) { value = 3; }";
    fs::write(folder.path().join("a.c"), source).unwrap();
    let arguments = ["-g", "-O1", "-shared", "-fPIC", "-Wl,--hash-style=both,--build-id,-z,now", "-o", "a.so", "a.c"];
    let status = Command::new("gcc").current_dir(folder.path()).args(arguments).status().expect("gcc");
    assert!(status.success());
    fs::read(folder.path().join("a.so")).unwrap()
}

fn exercise_all(bytes: &[u8]) {
    crate::exercise::ALL.iter().for_each(|(_, exercise)| exercise(bytes));
}

/// A change of one place.
#[derive(Clone, Debug)]
struct Change {
    /// Which of the decisive ranges; the whole file for half of the numbers.
    range: Option<Index>,
    place: Index,
    value: Value,
}

#[derive(Clone, Debug)]
enum Value {
    Byte(u8),
    /// A number as a loader may trip over, written over 4 or 8 bytes.
    Number(u64, usize),
}

impl Change {
    fn apply(&self, original: &Original, bytes: &mut [u8]) {
        let (start, size) = match &self.range {
            Some(index) if !original.decisive.is_empty() => *index.get(&original.decisive),
            _ => (0, original.bytes.len()),
        };
        let at = start + self.place.index(size);
        match self.value {
            Value::Byte(byte) => bytes[at] = byte,
            Value::Number(number, width) => {
                let at = at - at % width;
                let end = bytes.len().min(at + width);
                bytes[at..end].copy_from_slice(&number.to_le_bytes()[..end - at]);
            }
        }
    }
}

fn change() -> impl Strategy<Value = Change> {
    let edges =
        prop::sample::select(vec![0, 1, 2, 7, 0xffff, 0x7fff_ffff, 0xffff_ffff, u64::MAX, u64::MAX - 7, 1 << 63]);
    let number = (prop_oneof![edges, 0..0x2_0000_u64], prop::sample::select(vec![4, 8]));
    let value =
        prop_oneof![any::<u8>().prop_map(Value::Byte), number.prop_map(|(number, width)| Value::Number(number, width))];
    let range = prop_oneof![3 => any::<Index>().prop_map(Some), 1 => Just(None)];
    (range, any::<Index>(), value).prop_map(|(range, place, value)| Change { range, place, value })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2500))]
    #[test]
    fn changed_and_cut_off_files_are_read_or_refused(
        original: Index,
        changes in prop::collection::vec(change(), 1..6),
        cut in prop::option::weighted(0.2, any::<Index>()),
    ) {
        let original = original.get(&ORIGINALS);
        let mut bytes = original.bytes.clone();
        changes.iter().for_each(|change| change.apply(original, &mut bytes));
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        exercise_all(&bytes);
    }

    #[test]
    fn any_bytes_as_a_table_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        exercise_all(&bytes);
    }
}

#[test]
fn whole_files_are_read() {
    ORIGINALS.iter().for_each(|original| exercise_all(&original.bytes));
    exercise_all(&fs::read(std::env::current_exe().unwrap()).unwrap());
    exercise_all(&[]);
}

#[test]
fn files_cut_off_anywhere_are_read_or_refused() {
    for original in ORIGINALS.iter().filter(|original| original.bytes.len() < 10_000) {
        // Odd, so that every kind of record is cut within.
        (0..original.bytes.len()).step_by(61).for_each(|length| exercise_all(&original.bytes[..length]));
    }
}

#[test]
fn section_names_that_share_their_bytes_take_no_more_time_than_the_file() {
    const SECTIONS: u64 = 20_000;
    let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    // Each section has the same name of 1 MB, which may have no end. The last one is the table of names.
    for end in [0, b'x'] {
        let names = [vec![b'x'; 1 << 20], vec![end]].concat();
        let size = names.len() as u64;
        let section = |kind: u64| words(&[kind << 32, 0, 0, 64, size, 0, 1, 0]);
        let counts = 64 << 16 | SECTIONS << 32 | (SECTIONS - 1) << 48;
        let bytes = [
            [&b"\x7fELF\x02\x01\x01"[..], &[0; 9]].concat(),
            words(&[3 | 62 << 16 | 1 << 32, 0, 0, 64 + size, 64 << 32 | 56 << 48, counts]),
            names,
            section(1).repeat(SECTIONS as usize - 1),
            section(3),
        ]
        .concat();
        let file = ElfFile::parse(&bytes).unwrap();
        let expected = (end == 0).then_some(&ElfError::OverlappingNames);
        assert_eq!(file.section_problem(), expected);
        assert!(file.sections().iter().all(|section| section.name.is_empty()));
    }
}
