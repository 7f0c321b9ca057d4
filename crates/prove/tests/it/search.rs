//! The proof of another search for libraries, on files that a writer by hand made: what is accepted, and each kind of damage.
//!
//! Needs gcc; binutils for bfd and gold, lld, mold; patchelf.

use std::process::Command;

use coldstart_prove::{LoadedNote, PathKind, SearchEdit, SearchPath, Source, prove};
use coldstart_testing::output_of;

use crate::scene::*;
use crate::search_scene::*;

/// The ways in which the writer by hand makes room.
const SHAPES: [Shape; 5] = [
    Shape { moves: false, split: false, grows: false, follows: false },
    Shape { moves: true, split: false, grows: false, follows: false },
    Shape { moves: true, split: true, grows: false, follows: false },
    Shape { moves: true, split: true, grows: false, follows: true },
    Shape { moves: true, split: false, grows: false, follows: true },
];

#[test]
fn programs_of_each_linker_are_proven_in_each_shape() {
    for linker in linkers() {
        for kind in ["-pie", "-no-pie"] {
            let original = program(linker, &[kind]);
            for shape in SHAPES {
                for count in [1, 30] {
                    let edit = edit(&original, count);
                    let output = write(&original, &edit, shape);
                    let place = format!("{linker} {kind} {shape:?} {count}");
                    let proof = proof(&original, &output, &edit).unwrap_or_else(|error| panic!("{place}: {error}"));
                    let moved = original.tag_place() != output.tag_place();
                    assert!(moved || !shape.moves && count == 1, "{place}");
                    assert_eq!(proof.dynamic_left_relro, moved, "{place}");
                    assert_eq!(proof.load_biases.len(), if kind == "-pie" { 3 } else { 1 });
                    assert_eq!(proof.moved_sections.contains(&".dynamic".to_owned()), moved, "{place}");
                    assert!(proof.moved_sections.contains(&".dynstr".to_owned()) && proof.bytes_freed < 0);
                    // The edit changes what the file means: without it, nothing is proven.
                    assert!(prove(Source::in_memory(&original.0), Source::in_memory(&output.0)).is_err(), "{place}");
                }
            }
        }
    }
}

#[test]
fn the_written_programs_run() {
    for linker in linkers() {
        for kind in ["-pie", "-no-pie"] {
            let original = program(linker, &[kind]);
            let edit = SearchEdit { needed: edit(&original, 0).needed, ..edit(&original, 0) };
            for shape in SHAPES {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("program");
                std::fs::write(&path, write(&original, &edit, shape).0).unwrap();
                let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
                std::fs::set_permissions(&path, mode).unwrap();
                let output = output_of(Command::new(&path).env("A", "B"));
                assert!(output.status.success(), "{linker} {kind} {shape:?}: {output:?}");
            }
        }
    }
}

#[test]
fn a_last_segment_without_zeros_may_grow() {
    let mut found = 0;
    for linker in linkers() {
        let original = bare(linker);
        let last = original.segments(1).pop().unwrap();
        if original.word(last + P_FILESZ.0) != original.word(last + P_MEMSZ.0) {
            continue;
        }
        found += 1;
        for moves in [false, true] {
            let edit = edit(&original, 2);
            let output = write(&original, &edit, Shape { moves, grows: true, ..Shape::default() });
            let proof = proof(&original, &output, &edit).unwrap_or_else(|error| panic!("{linker} {moves}: {error}"));
            assert!(proof.moved_sections.contains(&".dynstr".to_owned()));
            let mut damaged = output.clone();
            let last = damaged.segments(1).pop().unwrap();
            damaged.put(last + P_MEMSZ.0, 8, damaged.word(last + P_MEMSZ.0) + 8);
            assert_eq!(crate::search_scene::proof(&original, &damaged, &edit).unwrap_err().what(), "load segment");
        }
    }
    assert!(found > 0);
}

#[test]
fn every_part_of_an_edit_is_held_against_the_output() {
    let original = program("bfd", &["-pie"]);
    let whole = SearchEdit { audit: Some(b"/opt/audit.so".to_vec()), ..edit(&original, 3) };
    let output = write(&original, &whole, Shape { moves: true, ..Shape::default() });
    proof(&original, &output, &whole).unwrap();
    let path = |kind: PathKind, text: &[u8]| Some(SearchPath { kind, text: text.to_vec() });
    let with = |change: fn(&mut SearchEdit)| {
        let mut other = whole.clone();
        change(&mut other);
        other
    };
    let others = [
        with(|edit| edit.needed.swap(0, 1)),
        with(|edit| edit.needed.swap(3, 4)),
        with(|edit| edit.needed[0].push(b'x')),
        with(|edit| edit.needed[4][0] ^= 1),
        with(|edit| drop(edit.needed.pop())),
        with(|edit| drop(edit.needed.remove(0))),
        with(|edit| edit.needed.push(b"libmore.so".to_vec())),
        with(|edit| edit.needed.clear()),
        with(|edit| edit.path = None),
        with(|edit| edit.audit = None),
        with(|edit| edit.audit = Some(b"/opt/audit.s".to_vec())),
        SearchEdit { path: path(PathKind::Rpath, b"$ORIGIN/farm:/opt/lib"), ..whole.clone() },
        SearchEdit { path: path(PathKind::Runpath, b"$ORIGIN/farm"), ..whole.clone() },
        SearchEdit { path: path(PathKind::Runpath, b"$ORIGIN/farm:/opt/lib\0"), ..whole.clone() },
        SearchEdit { path: path(PathKind::Runpath, b"(outside the string table)"), ..whole.clone() },
        SearchEdit { loaded_note: Some(note()), ..whole.clone() },
        SearchEdit::default(),
    ];
    for other in others {
        let error = proof(&original, &output, &other).expect_err(&format!("{other:?}"));
        assert!(["dynamic table", "dynamic strings", "loaded note"].contains(&error.what()), "{other:?}: {error}");
    }
}

#[test]
fn a_path_may_change_its_kind_or_go() {
    let original = program("bfd", &["-pie", "-Wl,-rpath,/somewhere,--disable-new-dtags"]);
    assert!(original.tag(15).is_some());
    for kind in [Some(PathKind::Runpath), Some(PathKind::Rpath), None] {
        let path = kind.map(|kind| SearchPath { kind, text: b"/opt/lib".to_vec() });
        let edit = SearchEdit { path, ..edit(&original, 1) };
        proof(&original, &write(&original, &edit, Shape::default()), &edit).unwrap();
    }
    // Nothing at all is an edit, too; and the file itself is then the output.
    let same = SearchPath { kind: PathKind::Rpath, text: b"/somewhere".to_vec() };
    let nothing = SearchEdit { path: Some(same), ..edit(&original, 0) };
    proof(&original, &original, &nothing).unwrap();
}

#[test]
fn a_loaded_note_has_a_header_and_a_section() {
    for linker in linkers() {
        let original = program(linker, &["-pie"]);
        let edit = SearchEdit { loaded_note: Some(note()), ..edit(&original, 2) };
        for shape in SHAPES {
            let output = write(&original, &edit, shape);
            proof(&original, &output, &edit).unwrap_or_else(|error| panic!("{linker} {shape:?}: {error}"));
            for (name, damage) in NOTE_DAMAGES {
                let mut damaged = output.clone();
                damage(&mut damaged);
                assert!(damaged.0 != output.0);
                proof(&original, &damaged, &edit).expect_err(name);
            }
        }
        let of_gnu = [[4_u32, 4, 1].map(u32::to_le_bytes).concat().as_slice(), b"GNU\0", b"a\0b\0"].concat();
        for bytes in [of_gnu, note().bytes[..20].to_vec(), Vec::new()] {
            let note = LoadedNote { bytes, ..note() };
            let edit = SearchEdit { loaded_note: Some(note), ..edit.clone() };
            let output = write(&original, &edit, Shape { moves: true, ..Shape::default() });
            assert_eq!(proof(&original, &output, &edit).unwrap_err().what(), "loaded note");
        }
    }
}

/// A way to damage a file.
type Damage = (&'static str, fn(&mut Elf));

const NOTE_DAMAGES: &[Damage] = &[
    ("the note's bytes", |elf| {
        let at = elf.content(".note.nixos.ldcache").start;
        elf.0[at + 20] ^= 1;
    }),
    ("the note's flags", |elf| new_note(elf, (4, 4), 5)),
    ("the note's alignment", |elf| new_note(elf, P_ALIGN, 8)),
    ("the note's size", |elf| new_note(elf, P_FILESZ, 20)),
    ("the note's size in memory", |elf| new_note(elf, P_MEMSZ, 32)),
    ("the note's offset", |elf| new_note(elf, P_OFFSET, 0)),
    ("the note's physical address", |elf| new_note(elf, (24, 8), 0)),
    ("the note's type", |elf| new_note(elf, P_TYPE, 0x6474_e553)),
    ("the section's name", |elf| {
        let name = b".note.nixos.ldcache";
        let at = elf.0.windows(name.len()).rposition(|window| window == name).unwrap();
        elf.0[at + 7] ^= 1;
    }),
    ("the section's flags", |elf| new_section(elf, 8, 3)),
    ("the section's type", |elf| new_section(elf, 4, 1)),
    ("the section's address", |elf| new_section(elf, 16, 8)),
    ("the section's size", |elf| new_section(elf, 32, 20)),
];

fn new_note(elf: &mut Elf, field: (usize, usize), value: u64) {
    let note = elf.content(".note.nixos.ldcache").start as u64;
    let at = elf.segments(4).into_iter().find(|at| elf.word(at + P_OFFSET.0) == note).unwrap();
    elf.put(at + field.0, field.1, value);
}

fn new_section(elf: &mut Elf, field: usize, value: u64) {
    let at = elf.section(".note.nixos.ldcache").unwrap();
    elf.put(at + field, if field == 4 { 4 } else { 8 }, value);
}

/// patchelf rebuilds the order of program headers and moves the loader's path and notes into writable memory.
#[test]
fn what_patchelf_makes_is_not_what_was_asked_for() {
    let original = program("bfd", &["-pie"]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("program");
    for (force, kind) in [(&[][..], PathKind::Runpath), (&["--force-rpath"][..], PathKind::Rpath)] {
        std::fs::write(&path, &original.0).unwrap();
        let mut patchelf = std::process::Command::new("patchelf");
        patchelf.args(["--add-needed", "libdl.so.2", "--set-rpath", "/opt/lib"]).args(force).arg(&path);
        match patchelf.status() {
            Ok(status) => assert!(status.success()),
            Err(_) => {
                coldstart_testing::skip("no patchelf");
                return;
            }
        }
        let output = Elf(std::fs::read(&path).unwrap());
        let mut edit = edit(&original, 0);
        edit.needed.insert(0, b"libdl.so.2".to_vec());
        edit.path = Some(SearchPath { kind, text: b"/opt/lib".to_vec() });
        let error = proof(&original, &output, &edit).unwrap_err();
        assert!(["ELF header", "segment", "load segment"].contains(&error.what()), "{error}");
        // The reverse is no such edit, either.
        assert!(proof(&output, &original, &edit).is_err());
        // What it made is an original as good as any: the next edit moves the table from where it is now.
        let next = SearchEdit { needed: edit.needed.clone(), ..crate::search_scene::edit(&output, 40) };
        assert!(proof(&output, &output, &next).is_err());
    }
}
