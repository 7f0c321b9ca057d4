//! Files that contradict themselves in ways that linkers never would, and files that are merely odd: each is refused in
//! words, or packed and proven.

use std::process::Command;

use crate::scene::Elf;
use coldstart_elf::{ElfFile, SegmentKind, Tag};
use coldstart_prove::{Source, prove};
use coldstart_rewrite::{ClosedWorld, PackDecision, PackOptions, World, plan_pack};
use coldstart_testing::{SHARING_SYMBOLS, library_of_one_name};

const SOURCE: &str = "
int printf(const char *, ...);
static int value[4];
#define P8 &value[0], &value[1], &value[2], &value[3], &value[1], &value[2], &value[3], &value[0],
#define P64 P8 P8 P8 P8 P8 P8 P8 P8
int *table[] = { P64 P64 P64 P64 P64 P64 P64 P64 };
int sum(int number) { return *table[number] + printf(\"\"); }
";

fn library(flags: &[&str]) -> Elf {
    built(SOURCE, flags)
}

fn built(text: &str, flags: &[&str]) -> Elf {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("library.c");
    std::fs::write(&source, text).unwrap();
    let out = folder.path().join("out");
    let mut gcc = Command::new("gcc");
    let built =
        gcc.args(["-O1", "-g0", "-fPIC", "-shared"]).args(flags).arg("-o").arg(&out).arg(&source).output().unwrap();
    assert!(built.status.success(), "{flags:?}: {}", String::from_utf8_lossy(&built.stderr));
    Elf(std::fs::read(&out).unwrap())
}

/// The library after an edit at a place that is looked up in it.
fn edited(place: impl Fn(&ElfFile<'_>) -> u64, bytes: &[u8]) -> Elf {
    let mut elf = library(&[]);
    let at = usize::try_from(place(&ElfFile::parse(&elf.0).unwrap())).unwrap();
    elf.0[at..at + bytes.len()].copy_from_slice(bytes);
    elf
}

fn section_offset(file: &ElfFile<'_>, name: &str) -> u64 {
    file.section(name).unwrap().header.offset.0
}

/// The refusal's code; or "packed", if that is proven.
fn outcome(elf: &Elf) -> String {
    match plan_pack(&ElfFile::parse(&elf.0).unwrap(), &PackOptions::default()) {
        Err(refusal) => refusal.code().to_owned(),
        Ok(PackDecision::Nothing(reason)) => format!("{reason:?}"),
        Ok(PackDecision::Pack(plan)) => {
            let packed = plan.script.to_vec(&elf.0).unwrap();
            let proof = prove(Source::in_memory(&elf.0), Source::in_memory(&packed));
            proof.map_or_else(|problem| problem.to_string(), |_| "packed".to_owned())
        }
    }
}

#[test]
fn the_library_as_it_is() {
    assert_eq!(outcome(&library(&[])), "packed");
}

#[test]
fn counted_as_relative_without_being_so() {
    // The type of the third record: R_X86_64_64 in place of R_X86_64_RELATIVE.
    let elf = edited(|file| section_offset(file, ".rela.dyn") + 2 * 24 + 8, &1_u32.to_le_bytes());
    assert_eq!(outcome(&elf), "layout");
}

#[test]
fn a_section_past_the_end_of_the_file() {
    let size_of_text = |file: &ElfFile<'_>| {
        let text = file.sections().iter().position(|section| section.name == b".text").unwrap() as u64;
        file.header().sections_offset.0 + text * 64 + 32
    };
    assert_eq!(outcome(&edited(size_of_text, &[0xff; 8])), "sections-lie");
}

#[test]
fn a_symbol_with_a_version_that_no_table_has() {
    let last = |file: &ElfFile<'_>| {
        let versions = file.sections().iter().find(|section| section.name == b".gnu.version").unwrap();
        versions.header.offset.0 + versions.header.size - 2
    };
    let elf = edited(last, &3_u16.to_le_bytes());
    assert_eq!(outcome(&elf), "layout");
}

#[test]
fn a_section_that_is_loaded_in_part() {
    // The last segment ends a byte early in the file.
    let size_of_last = |file: &ElfFile<'_>| {
        let last = file.segments().iter().rposition(|segment| segment.kind == SegmentKind::Load).unwrap() as u64;
        file.header().segments_offset.0 + last * 56 + 32
    };
    let original = library(&[]);
    let file = ElfFile::parse(&original.0).unwrap();
    let size = file.load_segments().last().unwrap().file_size - 1;
    assert_eq!(outcome(&edited(size_of_last, &size.to_le_bytes())), "sections-lie");
}

#[test]
fn a_segment_that_is_not_where_its_address_is() {
    let offset_of_relro = |file: &ElfFile<'_>| {
        let number = file.segments().iter().position(|segment| segment.kind == SegmentKind::Relro).unwrap() as u64;
        file.header().segments_offset.0 + number * 56 + 8
    };
    let odd = edited(offset_of_relro, &0x0010_0000_u64.to_le_bytes());
    assert_eq!(outcome(&odd), "layout");
}

/// The library with another tag in place of the one that promises nothing but the number of relative relocations.
fn with_entry(tag: u64, value: u64) -> Elf {
    let entry = |file: &ElfFile<'_>| {
        let dynamic = file.dynamic().unwrap().unwrap();
        let number = dynamic.entries().position(|entry| entry.tag == Tag::RELACOUNT).unwrap() as u64;
        dynamic.file_offset().0 + number * 16
    };
    edited(entry, &[tag.to_le_bytes(), value.to_le_bytes()].concat())
}

#[test]
fn tags_that_make_no_sense() {
    let original = library(&[]);
    let table = ElfFile::parse(&original.0).unwrap().section(".rela.dyn").unwrap().header.address.0;
    assert_eq!(outcome(&with_entry(Tag::RELRENT.0, 8)), "layout");
    assert_eq!(outcome(&with_entry(Tag::PREINIT_ARRAY.0, table + 8)), "unknown-pointer");
}

#[test]
fn needed_versions_that_share_a_record() {
    let library = library(&[]);
    let file = ElfFile::parse(&library.0).unwrap();
    let versions = file.section(".gnu.version_r").unwrap().header.offset.0;
    // Where the versions of the first file begin: at the file's own record.
    let elf = edited(|_| versions + 8, &0_u32.to_le_bytes());
    assert_ne!(outcome(&elf), "packed");
    assert!(["layout", "unreadable"].contains(&outcome(&elf).as_str()), "{}", outcome(&elf));
}

#[test]
fn versions_of_other_libraries_than_libc() {
    // glibc: "DT_RELR without GLIBC_ABI_DT_RELR dependency".
    let text = SOURCE
        .replace("printf(\"\")", "(int)sin(number)")
        .replace("int printf(const char *, ...);", "double sin(double);");
    let with_libc = built(&text, &["-nostdlib", "-Wl,--no-as-needed", "-l:libm.so.6", "-l:libc.so.6"]);
    assert_eq!(outcome(&with_libc), "layout");
    let without = built(&text, &["-nostdlib", "-Wl,--no-as-needed", "-l:libm.so.6"]);
    assert_eq!(outcome(&without), "packed");
}

#[test]
fn symbols_that_share_a_long_name_take_no_more_time_than_the_file() {
    let bytes = library_of_one_name();
    let file = ElfFile::parse(&bytes).unwrap();
    let world =
        ClosedWorld { world: World::default(), not_interposed: Some((0..2 * SHARING_SYMBOLS as u32).collect()) };
    let options = PackOptions {
        passes: "all-safe,bind-local".parse().unwrap(),
        closed_world: Some(world),
        ..PackOptions::default()
    };
    let Ok(PackDecision::Pack(plan)) = plan_pack(&file, &options) else { panic!("it has relocations to pack") };
    // What has no room left may be another object's.
    let own = plan.summary.own_references.unwrap();
    assert!(own.in_closed_world < 20 && own.all as usize >= SHARING_SYMBOLS, "{own:?}");
    let packed = plan.script.to_vec(&bytes).unwrap();
    let problem = prove(Source::in_memory(&bytes), Source::in_memory(&packed)).unwrap_err();
    assert!(problem.to_string().contains("too many names share their bytes"), "{problem}");
}
