//! Files of old linkers, whose segments are aligned to 2 MiB: with lower alignments they lose what they lose with pages of 4 KiB, and do what
//! they did.

use std::path::Path;
use std::process::Command;

use coldstart_elf::{ElfFile, SegmentKind};
use coldstart_prove::{BindEdit, Source, prove, prove_bound, prove_identity};
use coldstart_rewrite::{
    ChangedFile, NothingToPack, PackDecision, PackOptions, PackSummary, Pass, PassOutcome, Passes, Refusal, plan_pack,
};
use coldstart_testing::{compile, succeed};

use crate::rewritten_scene::restored;
use crate::scene::linkers;

/// 6144 pointers, thread-local data, and zero-filled memory that must stay so.
const TEMPLATE: &str = "\
#include <stdio.h>\n\
static int numbers[8192];\n\
static int *volatile all[] = { POINTERS };\n\
static __thread int own = 42;\n\
static char empty[70000];\n\
#ifdef LARGE\nint large[4] __attribute__((aligned(LARGE))) = { 1, 2, 3, 4 };\n#endif\n\
int check(void) {\n\
  for (unsigned i = 0; i < sizeof all / sizeof *all; i++) if (all[i] != numbers + i) return 1;\n\
  for (unsigned i = 0; i < sizeof empty; i++) if (empty[i]) return 2;\n\
  return own == 42 ? 0 : 3;\n\
}\n\
#ifdef PROGRAM\nint main(void) { return check(); }\n#endif\n";

fn source() -> String {
    let pointers: Vec<String> = (0..6144).map(|place| format!("&numbers[{place}]")).collect();
    TEMPLATE.replace("POINTERS", &pointers.join(", "))
}

const OPENER: &str = "\
#include <dlfcn.h>\n#include <stdio.h>\n\
int main(int count, char **words) {\n\
  void *library = dlopen(words[count - 1], RTLD_NOW);\n\
  if (!library) { puts(dlerror()); return 9; }\n\
  return ((int (*)(void))dlsym(library, \"check\"))();\n}\n";

fn options(passes: &[Pass]) -> PackOptions {
    PackOptions { passes: Passes::of(passes.iter().copied()), drop_syment: true, ..PackOptions::default() }
}

fn decision(bytes: &[u8], passes: &[Pass]) -> PackDecision {
    plan_pack(&ElfFile::parse(bytes).unwrap(), &options(passes)).unwrap()
}

fn packed(bytes: &[u8], passes: &[Pass]) -> (Vec<u8>, PackSummary) {
    match decision(bytes, passes) {
        PackDecision::Pack(plan) => (plan.script.to_vec(bytes).unwrap(), plan.summary),
        PackDecision::Nothing(nothing) => panic!("{nothing:?}"),
    }
}

fn outcome(summary: &PackSummary) -> Option<&PassOutcome> {
    summary.passes.iter().find(|report| report.pass == Pass::LowerAlignment).map(|report| &report.outcome)
}

fn proves(original: &[u8], output: &[u8], edit: &BindEdit) -> Result<(), String> {
    let proof = prove_bound(Source::in_memory(original), Source::in_memory(output), edit);
    proof.map(drop).map_err(|error| error.to_string())
}

fn library(directory: &Path, options: &[&str]) -> Vec<u8> {
    let mut all = vec!["-O1", "-fPIC", "-shared"];
    all.extend(options);
    std::fs::read(compile("gcc", &directory.join("library.so"), &source(), &all)).unwrap()
}

/// Runs the file, as a program or by opening it.
fn works(directory: &Path, name: &str, is_program: bool) {
    let at = directory.join(name);
    match is_program {
        true => succeed(&mut Command::new(&at)),
        false => succeed(Command::new(directory.join("opener")).arg(&at)),
    };
}

#[test]
fn files_of_every_linker_lose_all_freed_bytes_and_do_what_they_did() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    compile("gcc", &at.join("opener"), OPENER, &[]);
    let mut lowered = 0;
    for linker in linkers() {
        let linker_option = format!("-fuse-ld={linker}");
        for (size, separate) in [("0x200000", false), ("0x200000", true), ("0x10000", false)] {
            let size_option = format!("-Wl,-z,max-page-size={size}");
            for is_program in [false, true] {
                let mut words = vec!["-O1", "-Wl,-z,now", &linker_option, &size_option];
                words.extend(if is_program { &["-fPIE", "-pie", "-DPROGRAM"][..] } else { &["-fPIC", "-shared"] });
                if linker != "gold" {
                    words.push("-Wl,-z,nopack-relative-relocs");
                    words.push(if separate { "-Wl,-z,separate-code" } else { "-Wl,-z,noseparate-code" });
                }
                let what = format!("{linker}, {size}, separate code {separate}, program {is_program}");
                let original = std::fs::read(compile("gcc", &at.join("original"), &source(), &words)).unwrap();
                let passes = [Pass::LowerAlignment, if is_program { Pass::Relr } else { Pass::Stub }];
                for packing in [&[Pass::LowerAlignment, Pass::Relr], &passes] {
                    let (bytes, summary) = match plan_pack(&ElfFile::parse(&original).unwrap(), &options(packing)) {
                        Ok(PackDecision::Pack(plan)) => (plan.script.to_vec(&original).unwrap(), plan.summary),
                        // No room for the program header that a segment in two parts needs, or for the stub.
                        Ok(PackDecision::Nothing(NothingToPack::NoGain { .. })) | Err(Refusal::NoCodeRoom) => continue,
                        other => panic!("{what}: {other:?}"),
                    };
                    let edit = BindEdit {
                        stub: packing.contains(&Pass::Stub),
                        lower_alignment: summary.lowers_alignment(),
                        ..BindEdit::default()
                    };
                    proves(&original, &bytes, &edit).unwrap_or_else(|error| panic!("{what}: {error}"));
                    prove_identity(Source::in_memory(&bytes)).unwrap();
                    assert!(restored(&bytes, ChangedFile::Refuse).unwrap() == original, "{what}");
                    std::fs::write(at.join("packed"), &bytes).unwrap();
                    let permissions = std::fs::metadata(at.join("original")).unwrap().permissions();
                    std::fs::set_permissions(at.join("packed"), permissions).unwrap();
                    works(at, "packed", is_program);
                    succeed(Command::new("strip").arg(at.join("packed")));
                    works(at, "packed", is_program);
                    if let Some(PassOutcome::Lowered { from, to, bytes: more }) = outcome(&summary) {
                        assert!((*from, *to) == (u64::from_str_radix(&size[2..], 16).unwrap(), 4096), "{what}");
                        let freed = summary.record_bytes_before - summary.record_bytes_after - summary.relr_bytes;
                        let lost = summary.size_before - summary.size_after;
                        // A page at the seam, and the note.
                        assert!(lost + 3 * 4096 > freed && freed > 100_000 && *more > 0, "{what}: {lost} of {freed}");
                        lowered += 1;
                    }
                }
            }
        }
    }
    assert!(lowered >= 20, "{lowered}");
}

#[test]
fn alignments_are_lowered_only_where_it_is_asked_and_needed() {
    let directory = tempfile::tempdir().unwrap();
    let both = [Pass::LowerAlignment, Pass::Relr];
    let old = ["-Wl,-z,max-page-size=0x200000,-z,noseparate-code"];
    let nothing = decision(&library(directory.path(), &old), &[Pass::Relr]);
    assert!(matches!(nothing, PackDecision::Nothing(NothingToPack::NoGain { stuck: Some(_), .. })), "{nothing:?}");

    let (bytes, summary) = packed(&library(directory.path(), &[]), &both);
    let expected = PassOutcome::Nothing { cause: NothingToPack::AlignmentCostsNothing };
    assert_eq!(outcome(&summary), Some(&expected));
    assert!(!summary.lowers_alignment() && ElfFile::parse(&bytes).is_ok());

    // Data that is aligned for huge pages on purpose.
    let large = library(directory.path(), &[old[0], "-DLARGE=0x200000"]);
    let nothing = decision(&large, &both);
    assert!(matches!(nothing, PackDecision::Nothing(NothingToPack::NoGain { stuck: Some(_), .. })), "{nothing:?}");
    // As much as the data needs, and no less.
    let some = library(directory.path(), &[old[0], "-DLARGE=16384"]);
    let (bytes, summary) = packed(&some, &both);
    assert!(matches!(outcome(&summary), Some(PassOutcome::Lowered { from: 0x20_0000, to: 16384, .. })), "{summary:?}");
    proves(&some, &bytes, &BindEdit { lower_alignment: true, ..BindEdit::default() }).unwrap();
}

#[test]
fn the_proof_accepts_no_alignment_that_the_edit_does_not_lower_or_the_contents_need() {
    let directory = tempfile::tempdir().unwrap();
    let original = library(directory.path(), &["-Wl,-z,max-page-size=0x200000,-z,noseparate-code", "-DLARGE=16384"]);
    let (bytes, _) = packed(&original, &[Pass::LowerAlignment, Pass::Relr]);
    let edit = BindEdit { lower_alignment: true, ..BindEdit::default() };
    proves(&original, &bytes, &edit).unwrap();
    assert!(prove(Source::in_memory(&original), Source::in_memory(&bytes)).is_err());
    assert!(proves(&original, &bytes, &BindEdit::default()).unwrap_err().contains("alignment"));
    let file = ElfFile::parse(&bytes).unwrap();
    let table = usize::try_from(file.header().segments_offset.0).unwrap();
    let size = usize::from(file.header().segment_entry_size);
    let loads: Vec<usize> =
        (0..file.segments().len()).filter(|number| file.segments()[*number].kind == SegmentKind::Load).collect();
    for number in loads {
        let field = table + number * size + 48;
        for wrong in [1_u64, 2048, 4096, 8192] {
            let mut tampered = bytes.clone();
            tampered[field..field + 8].copy_from_slice(&wrong.to_le_bytes());
            let error = proves(&original, &tampered, &edit).unwrap_err();
            assert!(error.contains("alignment"), "{number}, {wrong}: {error}");
        }
    }
}

/// patchelf before 0.12 lets the program headers grow over notes that it has moved to the end, and leaves their segment as it was: so are the
/// libraries of many Python wheels.
#[test]
fn a_segment_of_notes_that_leads_into_the_program_headers_says_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    compile("gcc", &at.join("opener"), OPENER, &[]);
    let mut original = library(at, &["-Wl,-z,max-page-size=0x200000,-z,noseparate-code", "-Wl,--build-id"]);
    let file = ElfFile::parse(&original).unwrap();
    // One that this C library does not need.
    let number = file.segments().iter().position(|segment| segment.kind == SegmentKind::EhFrameHeader).unwrap();
    let header = usize::try_from(file.header().segments_offset.0).unwrap() + number * 56;
    original[header..header + 4].copy_from_slice(&4_u32.to_le_bytes());
    let into_headers = 64 + 56_u64;
    for (field, value) in [(8, into_headers), (16, into_headers), (24, into_headers), (32, 36), (40, 36), (48, 4)] {
        original[header + field..header + field + 8].copy_from_slice(&value.to_le_bytes());
    }
    std::fs::write(at.join("original"), &original).unwrap();
    works(at, "original", false);
    let (bytes, summary) = packed(&original, &[Pass::LowerAlignment, Pass::Relr]);
    assert!(summary.lowers_alignment(), "{summary:?}");
    let edit = BindEdit { lower_alignment: true, ..BindEdit::default() };
    proves(&original, &bytes, &edit).unwrap();
    assert!(restored(&bytes, ChangedFile::Refuse).unwrap() == original);
    std::fs::write(at.join("packed"), &bytes).unwrap();
    works(at, "packed", false);
    // Its entry is one for a segment now, and no other segment of notes may go.
    let count = |bytes: &[u8]| {
        let file = ElfFile::parse(bytes).unwrap();
        file.segments().iter().filter(|segment| segment.kind == SegmentKind::Note).count()
    };
    assert_eq!(count(&bytes) + 1, count(&original));
    let whole = library(at, &["-Wl,--build-id"]);
    let file = ElfFile::parse(&whole).unwrap();
    let number = file.segments().iter().position(|segment| segment.kind == SegmentKind::Note).unwrap();
    let header = usize::try_from(file.header().segments_offset.0).unwrap() + number * 56;
    let mut without = whole.clone();
    without[header..header + 4].copy_from_slice(&0_u32.to_le_bytes());
    assert!(prove(Source::in_memory(&whole), Source::in_memory(&without)).is_err());
}
