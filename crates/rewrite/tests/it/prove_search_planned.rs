//! The proof of what the planner makes of another search for libraries, for programs of each linker and of this machine.
//!
//! Needs gcc; binutils for bfd and gold, lld, mold.

use std::path::PathBuf;

use crate::scene::*;
use crate::search_scene::*;
use coldstart_elf::ElfFile;
use coldstart_prove::{PathKind, SearchEdit, SearchPath};
use coldstart_rewrite::{EditNote, plan_search};

fn planned(original: &Elf, edit: &SearchEdit) -> Result<Elf, String> {
    let file = ElfFile::parse(&original.0).map_err(|error| error.to_string())?;
    let plan = plan_search(&file, edit, EditNote { name: "bind", content: None }).map_err(|error| error.to_string())?;
    Ok(Elf(plan.script.to_vec(&original.0).unwrap()))
}

/// Edits of every kind for a program.
fn edits(original: &Elf) -> Vec<(&'static str, SearchEdit)> {
    let few = edit(original, 1);
    let many = edit(original, 150);
    let path = |kind, text: &[u8]| Some(SearchPath { kind, text: text.to_vec() });
    vec![
        ("nothing more", edit(original, 0)),
        ("an old path", SearchEdit { path: path(PathKind::Rpath, b"/opt/lib"), ..few.clone() }),
        ("no path", SearchEdit { path: None, ..few.clone() }),
        ("an auditor", SearchEdit { audit: Some(b"/opt/audit.so".to_vec()), ..few.clone() }),
        ("a note", SearchEdit { loaded_note: Some(note()), ..few.clone() }),
        ("a note and many", SearchEdit { loaded_note: Some(note()), ..many.clone() }),
        ("few", few),
        ("many", many),
    ]
}

#[test]
fn plans_for_programs_of_each_linker_are_proven() {
    let mut count = 0;
    for linker in linkers() {
        for flags in [
            &["-pie"][..],
            &["-no-pie"],
            &["-pie", "-Wl,-z,now"],
            &["-pie", "-Wl,--hash-style=both"],
            &["-no-pie", "-Wl,-z,max-page-size=0x200000"],
            &["-pie", "-s"],
        ] {
            let original = program(linker, flags);
            for (name, edit) in edits(&original) {
                let place = format!("{linker} {flags:?} {name}");
                let output = planned(&original, &edit).unwrap_or_else(|error| panic!("{place}: {error}"));
                let proof = proof(&original, &output, &edit).unwrap_or_else(|error| panic!("{place}: {error}"));
                assert_eq!(proof.load_biases.len(), if flags[0] == "-pie" { 3 } else { 1 });
                count += 1;
                // What was planned for one edit is no other.
                for (other, asked) in edits(&original).iter().filter(|(_, asked)| *asked != edit) {
                    assert!(
                        crate::search_scene::proof(&original, &output, asked).is_err(),
                        "{place}: proven for {other}"
                    );
                }
            }
        }
    }
    assert!(count >= 96, "{count}");
}

#[test]
fn plans_for_programs_without_zeros_are_proven() {
    for linker in linkers() {
        let original = bare(linker);
        for (name, edit) in edits(&original) {
            let Ok(output) = planned(&original, &edit) else { continue };
            proof(&original, &output, &edit).unwrap_or_else(|error| panic!("{linker} {name}: {error}"));
        }
    }
}

/// A note is all that a library can get, besides another path.
#[test]
fn notes_for_libraries_are_proven() {
    let (mut count, mut refused) = (0, Vec::new());
    let built = linkers().into_iter().map(|linker| (linker.to_owned(), build(linker)));
    let installed =
        libraries(25).into_iter().map(|path| (path.display().to_string(), Elf(std::fs::read(path).unwrap())));
    for (name, original) in built.chain(installed) {
        if !original.0.starts_with(b"\x7fELF\x02\x01") || original.segments(2).is_empty() {
            continue;
        }
        let edit = SearchEdit { loaded_note: Some(note()), path: own_path(&original), ..edit(&original, 0) };
        match planned(&original, &edit) {
            Ok(output) => {
                let proof = proof(&original, &output, &edit).unwrap_or_else(|error| panic!("{name}: {error}"));
                assert!(!proof.dynamic_left_relro && !proof.moved_sections.contains(&".dynamic".to_owned()));
                count += 1;
            }
            Err(error) => refused.push(format!("{name}: {error}")),
        }
    }
    println!("{count} proven, {} refused:\n{}", refused.len(), refused.join("\n"));
    assert!(count > 0);
}

fn own_path(original: &Elf) -> Option<SearchPath> {
    let (kind, at) = match (original.tag(29), original.tag(15)) {
        (Some(at), _) => (PathKind::Runpath, at),
        (None, at) => (PathKind::Rpath, at?),
    };
    let at = original.offset(original.tag(5).unwrap()) + at as usize;
    Some(SearchPath { kind, text: original.0[at..].split(|byte| *byte == 0).next().unwrap().to_vec() })
}

/// patchelf leaves fillers, spare segments, and another order of everything.
#[test]
fn plans_for_what_patchelf_made_are_proven() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("program");
    let mut count = 0;
    for kind in ["-pie", "-no-pie"] {
        std::fs::write(&path, program("bfd", &[kind]).0).unwrap();
        for length in [200, 400] {
            let text = "/opt/".repeat(length / 5);
            let mut patchelf = std::process::Command::new("patchelf");
            patchelf.args(["--set-rpath", &text]).arg(&path);
            if patchelf.status().is_err() {
                coldstart_testing::skip("no patchelf");
                return;
            }
            let original = Elf(std::fs::read(&path).unwrap());
            for (name, edit) in edits(&original) {
                match planned(&original, &edit) {
                    Ok(output) => {
                        proof(&original, &output, &edit)
                            .unwrap_or_else(|error| panic!("{kind} {length} {name}: {error}"));
                        // The old names of sections are left in the gap: as they were, or not at all.
                        let at = original.content(".shstrtab").start + 3;
                        if output.0[at] == original.0[at] {
                            let mut damaged = output.clone();
                            damaged.0[at] ^= 1;
                            let error = crate::search_scene::proof(&original, &damaged, &edit).unwrap_err();
                            assert_eq!(error.what(), "bytes of no section");
                        }
                        count += 1;
                    }
                    Err(error) => println!("refused: {kind} {length} {name}: {error}"),
                }
            }
        }
    }
    assert!(count > 0);
}

/// Programs of this machine, an even selection.
fn programs(count: usize) -> Vec<PathBuf> {
    let found = std::fs::read_dir("/usr/bin").unwrap().filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let mut found: Vec<PathBuf> = found.filter(|path| path.is_file() && !path.is_symlink()).collect();
    found.sort();
    let step = (found.len() / count).max(1);
    found.into_iter().step_by(step).collect()
}

#[test]
fn plans_for_programs_of_this_machine_are_proven() {
    let limit = std::env::var("COLDSTART_PROVE_LIBRARIES").ok().and_then(|count| count.parse().ok()).unwrap_or(40);
    let (mut count, mut refused, mut failed) = (0, Vec::new(), Vec::new());
    for path in programs(limit) {
        let original = Elf(std::fs::read(&path).unwrap());
        let is_program = original.0.starts_with(b"\x7fELF\x02\x01") && original.0.len() < 8 << 20;
        if !is_program || original.segments(2).is_empty() || original.segments(3).is_empty() {
            continue;
        }
        for (name, edit) in edits(&original) {
            let output = match planned(&original, &edit) {
                Ok(output) => output,
                Err(error) => {
                    refused.push(format!("{} {name}: {error}", path.display()));
                    continue;
                }
            };
            count += 1;
            if let Err(error) = proof(&original, &output, &edit) {
                failed.push(format!("{} {name}: {error}", path.display()));
            }
        }
    }
    println!("{count} proven, {} refused:\n{}", refused.len(), refused.join("\n"));
    assert!(failed.is_empty(), "{} of {count}:\n{}", failed.len(), failed.join("\n"));
    assert!(count > 0);
}
