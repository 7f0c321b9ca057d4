//! Starts of functions, against objdump, readelf and code that is made to mislead.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use coldstart_symbols::{FunctionStart, ObjectFile, StartSource, WantedPages, function_starts};

use crate::support::{address_of, all_starts, build, hex, library, output, run};

#[cfg(target_arch = "x86_64")]
mod x86_64;

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
