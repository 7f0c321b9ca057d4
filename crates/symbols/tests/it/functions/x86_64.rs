//! Functions of programs for x86-64, and what is found in programs for other processors from there.

use std::path::{Path, PathBuf};

use coldstart_symbols::{FunctionStart, ObjectError, ObjectFile, StartSource, WantedPages, function_starts};

use super::{PLAIN, all_symbols, start_at};
use crate::support::{address_of, all_starts, build, build_with, instructions, library, run};

fn hold_against_objdump(file: &Path, part: Option<(u64, u64)>) {
    let found = all_starts(file);
    let known = instructions(file, part);
    let inside = |start: &&FunctionStart| part.is_none_or(|(from, to)| (from..to).contains(&start.address));
    let starts: Vec<&FunctionStart> = found.starts.iter().filter(inside).collect();
    assert!(starts.len() > 100, "{}: {} starts", file.display(), starts.len());
    // objdump goes on through strings and tables behind a function and finds the next one's start too late. There it is asked
    // again, from the start on: its instructions have to end where the function does.
    let strays: Vec<&FunctionStart> = starts.iter().copied().filter(|start| !known.contains(&start.address)).collect();
    assert!(strays.len() * 200 <= starts.len(), "{}: {} strays", file.display(), strays.len());
    for start in strays {
        assert_eq!(start.source, StartSource::Unwind, "{}: {start:x?} is no instruction", file.display());
        let end = start.address + start.size.unwrap();
        let again = instructions(file, Some((start.address, end + 16)));
        assert!(again.contains(&start.address) && again.contains(&end), "{}: {start:x?}", file.display());
    }
    assert!(found.starts.is_sorted_by(|one, next| one.address < next.address));
}

#[test]
fn each_start_is_an_instruction_to_objdump() {
    for name in ["libc.so.6", "libstdc++.so.6", "libcrypto.so.3", "ld-linux-x86-64.so.2"] {
        if let Some(file) = library(name) {
            hold_against_objdump(&file, None);
        }
    }
    // The largest one is looked at in parts.
    if let Some(file) = library("libLLVM-14.so.1").or_else(|| library("libLLVM-15.so.1")) {
        let starts = all_starts(&file).starts;
        for part in [starts.len() / 5, starts.len() / 2] {
            let from = starts[part].address;
            hold_against_objdump(&file, Some((from, from + 0x10_0000)));
        }
    }
}

/// Code and data as somebody might write them by hand. What each label is for stands beside it.
const MISLEADING: &str = include_str!("misleading.c");

#[test]
fn what_only_looks_like_a_function_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["-O1", "-shared", "-fPIC", "-fno-jump-tables", "-Wl,-z,notext"];
    for flags in [&flags[..], &["-O2", "-shared", "-fPIC"]] {
        let file = build(folder.path(), "misleading", MISLEADING, flags);
        let found = all_starts(&file);
        let source = |name: &str| start_at(&found.starts, address_of(&file, name)).map(|start| start.source);
        assert_eq!(source("clean"), Some(StartSource::Symbol));
        assert_eq!(source("outer"), Some(StartSource::Unwind));
        assert_eq!(source("jumps"), Some(StartSource::Unwind));
        assert_eq!(source("labels"), Some(StartSource::Unwind));
        for name in ["table", "unfinished", "broken", "amid"] {
            assert_eq!(source(name), None, "{name}");
        }
        let second = all_symbols(&file, "second");
        assert_eq!(start_at(&found.starts, second).map(|start| start.source), Some(StartSource::Relocation));
        // Labels of a computed jump are no functions.
        let labels = start_at(&found.starts, address_of(&file, "labels")).unwrap();
        let end = labels.address + labels.size.unwrap();
        assert!(!found.starts.iter().any(|start| start.address > labels.address && start.address < end));
        assert!(found.dropped.labels >= 2, "{:?}", found.dropped);
        assert!(found.dropped.mid_instruction >= 3 && found.dropped.no_code == 1, "{:?}", found.dropped);
        // Stripping takes symbols, and nothing of what the unwind tables prove.
        run("strip", &[], &file);
        let unwind = |starts: &[FunctionStart]| -> Vec<u64> {
            starts.iter().filter(|start| start.source == StartSource::Unwind).map(|start| start.address).collect()
        };
        assert_eq!(unwind(&all_starts(&file).starts), unwind(&found.starts));
    }
}

/// Unwind entries written by hand: two that overlap and agree with the code, and two that do not.
const OVERLAPPING: &str = r#"
__asm__(
    ".text\n"
    "one: mov $1,%eax\n two: add $2,%eax\n ret\n one_end:\n .balign 16\n"
    "three: mov $0x11223344,%eax\n ret\n three_end:\n .set four, three + 2\n"
    ".section .eh_frame,\"a\",@progbits\n"
    "common: .long common_end - . - 4\n .long 0\n .byte 1\n .asciz \"zR\"\n .byte 1,0x78,16,1,0x1b,0,0,0\n common_end:\n"
    ".macro entry from,to\n .long 16\n .long . - common\n .long \\from - .\n .long \\to - \\from\n .byte 0,0,0,0\n .endm\n"
    "entry one,one_end\n entry two,one_end\n entry three,three_end\n entry four,three_end\n"
    ".text\n"
);
"#;

#[test]
fn of_unwind_entries_that_overlap_the_code_decides() {
    let folder = tempfile::tempdir().unwrap();
    // GNU ld makes no search table of such entries.
    let flags = ["-shared", "-fPIC", "-nostdlib", "-Wl,--no-eh-frame-hdr"];
    let file = build(folder.path(), "overlapping", OVERLAPPING, &flags);
    let found = all_starts(&file);
    let source = |name: &str| start_at(&found.starts, all_symbols(&file, name)).map(|start| start.source);
    for (name, expected) in [("one", true), ("two", true), ("three", false), ("four", false)] {
        assert_eq!(source(name), expected.then_some(StartSource::Unwind), "{name}: {found:x?}");
    }
    assert_eq!(found.dropped.overlapping, 2);
}

fn built_for(compiler: &str) -> Option<(tempfile::TempDir, PathBuf)> {
    let folder = tempfile::tempdir().unwrap();
    let file =
        build_with(compiler, folder.path(), "plain", PLAIN, &["-O1", "-fPIE", "-pie", "-fasynchronous-unwind-tables"])?;
    Some((folder, file))
}

#[test]
fn other_machines_are_known_or_refused_by_name() {
    for compiler in ["i686-linux-gnu-gcc", "aarch64-linux-gnu-gcc"] {
        let Some((_folder, file)) = built_for(compiler) else { continue };
        let found = all_starts(&file);
        for name in ["main", "apply", "twice"] {
            let start = start_at(&found.starts, address_of(&file, name));
            assert_eq!(start.map(|start| start.source), Some(StartSource::Unwind), "{name} of {compiler}");
        }
        if compiler.starts_with("aarch64") {
            assert!(found.starts.iter().all(|start| start.address.is_multiple_of(4)));
        } else {
            let known = instructions(&file, None);
            assert!(found.starts.iter().all(|start| known.contains(&start.address)));
        }
    }
    let Some((_folder, file)) = built_for("riscv64-linux-gnu-gcc") else { return };
    let refused = function_starts(&ObjectFile::open(&file).unwrap(), &WantedPages::All);
    assert!(matches!(&refused, Err(ObjectError::Machine { machine, .. }) if machine == "riscv"), "{refused:?}");
}
