//! Starts of functions, against objdump, readelf and code that is made to mislead.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use coldstart_symbols::{FunctionStart, ObjectError, ObjectFile, StartSource, WantedPages, function_starts};

use crate::support::{address_of, all_starts, build, build_with, hex, instructions, library, output, run};

fn start_at(starts: &[FunctionStart], address: u64) -> Option<FunctionStart> {
    starts.iter().find(|start| start.address == address).copied()
}

/// Starts of unwind entries with a size, as readelf prints them.
fn frames(file: &Path) -> BTreeSet<u64> {
    // It ends with 1 where something else is amiss, as in Debian's libc; what it prints is whole all the same.
    let output =
        Command::new("readelf").env("LC_ALL", "C").args(["--debug-dump=frames", "-W"]).arg(file).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let ranges = text.lines().filter_map(|line| line.split_once(" FDE ")?.1.split_once("pc=")?.1.split_once(".."));
    ranges.filter(|(from, to)| hex(from) < hex(to)).map(|(from, _)| hex(from)).collect()
}

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

#[cfg(target_arch = "x86_64")]
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

#[test]
fn unwind_entries_are_those_of_readelf() {
    for file in ["libc.so.6", "libstdc++.so.6", "libcrypto.so.3"].iter().filter_map(|name| library(name)) {
        let known = frames(&file);
        let found = all_starts(&file);
        let unwind: BTreeSet<u64> = found
            .starts
            .iter()
            .filter(|start| start.source == StartSource::Unwind)
            .map(|start| start.address)
            .collect();
        assert!(unwind.is_subset(&known));
        let missing = known.difference(&unwind).count() as u64;
        assert_eq!(missing, found.dropped.no_function, "{}: only PLTs and trampolines are left out", file.display());
        assert!(found.coverage.is_enough(), "{:?}", found.coverage);
    }
}

#[test]
fn pages_that_are_asked_for_give_the_same_as_all() {
    let Some(file) = library("libcrypto.so.3") else { return };
    let all = all_starts(&file);
    let pages: BTreeSet<u64> = all.starts.iter().map(|start| start.file_offset / 4096).step_by(7).collect();
    let some = function_starts(&ObjectFile::open(&file).unwrap(), &WantedPages::Of(&pages)).unwrap();
    let wanted = all.starts.iter().filter(|start| pages.contains(&(start.file_offset / 4096)));
    assert_eq!(some.starts, wanted.copied().collect::<Vec<FunctionStart>>());
    assert_eq!(some.coverage, all.coverage);
}

/// Code and data as somebody might write them by hand. What each label is for stands beside it.
#[cfg(target_arch = "x86_64")]
const MISLEADING: &str = include_str!("functions/misleading.c");

#[cfg(target_arch = "x86_64")]
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
#[cfg(target_arch = "x86_64")]
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

#[cfg(target_arch = "x86_64")]
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

/// The address of any symbol, one without a kind as well.
fn all_symbols(file: &Path, name: &str) -> u64 {
    let text = output("nm", &[], file);
    hex(text.lines().find(|line| line.ends_with(&format!(" {name}"))).unwrap().split_whitespace().next().unwrap())
}

#[test]
fn parts_moved_apart_are_marked() {
    let folder = tempfile::tempdir().unwrap();
    let source = "extern void abort(void); void rare(int) __attribute__((cold, noreturn)); void rare(int x) { (void)x; abort(); }
        int often(int x) { if (__builtin_expect(x < 0, 0)) { rare(x * 3 + 1); } return x * 2; }";
    let file = build(folder.path(), "parts", source, &["-O2", "-shared", "-fPIC"]);
    let cold = all_symbols(&file, "often.cold");
    let starts = all_starts(&file).starts;
    assert!(start_at(&starts, cold).unwrap().is_part);
    assert!(!start_at(&starts, address_of(&file, "often")).unwrap().is_part);
}

#[test]
fn programs_without_unwind_tables_are_not_enough() {
    let folder = tempfile::tempdir().unwrap();
    let functions: String =
        (0..300).map(|number| format!("int f{number}(int x) {{ return x * {number} + (x >> 3); }}\n")).collect();
    let flags = ["-O1", "-shared", "-fPIC", "-fvisibility=hidden"];
    let with = build(folder.path(), "with", &functions, &flags);
    let without =
        build(folder.path(), "without", &functions, &[&flags[..], &["-fno-asynchronous-unwind-tables"]].concat());
    run("strip", &[], &with);
    // With symbols, the code tells.
    let named = all_starts(&without);
    assert!(named.coverage.is_enough() && named.starts.len() >= 300, "{:?}", named.coverage);
    run("strip", &[], &without);
    let (with, without) = (all_starts(&with).coverage, all_starts(&without).coverage);
    assert!(with.is_enough() && with.share() > 0.9, "{with:?}");
    assert!(!without.is_enough() && without.share() < 0.2, "{without:?}");
}

const PLAIN: &str = "static int twice(int x) { return x * 2; } int (*volatile pointer)(int) = twice;
    int apply(int x) { return pointer(x) + 1; } int main(void) { return apply(0) - 1; }";

fn built_for(compiler: &str) -> Option<(tempfile::TempDir, PathBuf)> {
    let folder = tempfile::tempdir().unwrap();
    let file =
        build_with(compiler, folder.path(), "plain", PLAIN, &["-O1", "-fPIE", "-pie", "-fasynchronous-unwind-tables"])?;
    Some((folder, file))
}

#[cfg(target_arch = "x86_64")]
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

#[test]
fn a_file_without_section_headers_has_the_same_functions() {
    let folder = tempfile::tempdir().unwrap();
    let file = build(folder.path(), "plain", PLAIN, &["-O1", "-fPIE", "-pie"]);
    run("strip", &[], &file);
    let bare = folder.path().join("bare");
    crate::support::without_section_headers(&file, &bare);
    let [whole, bare_starts] = [&file, &bare].map(|file| all_starts(file).starts);
    // Without sections a PLT is not known to be one.
    assert!(whole.iter().all(|start| bare_starts.contains(start)), "{bare_starts:x?}");
    assert!(fs::metadata(&bare).is_ok() && bare_starts.len() <= whole.len() + 3);
}
