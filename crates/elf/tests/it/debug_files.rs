//! `.gnu_debuglink` as objcopy writes it, and `.gnu_debugdata` as xz does; then damaged ones and ones that unfold too far.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use coldstart_elf::{
    ElfFile, FileKind, MiniDebugError, MiniDebugLimits, crc_matches, debug_file_candidates, unpack_mini_debug,
};
use proptest::prelude::*;

const MIB: u64 = 1 << 20;
const LIMITS: MiniDebugLimits = MiniDebugLimits { output: MIB, memory: 16 * MIB };

fn run(program: &str, folder: &Path, arguments: &[&str]) {
    let status = Command::new(program).current_dir(folder).args(arguments).status().expect(program);
    assert!(status.success(), "{program} {arguments:?}");
}

/// A library with symbols, `a.so`, in a new folder.
fn build_library() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("a.c"),
        "static int inner(int x) { return x * 3; } int outer(int x) { return inner(x); }",
    )
    .unwrap();
    run("gcc", folder.path(), &["-g", "-O0", "-shared", "-fPIC", "-o", "a.so", "a.c"]);
    folder
}

#[test]
fn a_debug_link_names_the_file_and_its_checksum() {
    let folder = build_library();
    run("objcopy", folder.path(), &["--only-keep-debug", "a.so", "a.so.debug"]);
    run("objcopy", folder.path(), &["--strip-all", "--add-gnu-debuglink=a.so.debug", "a.so", "small.so"]);
    let bytes = fs::read(folder.path().join("small.so")).unwrap();
    let link = ElfFile::parse(&bytes).unwrap().debug_link().unwrap().unwrap();
    assert_eq!(link.file_name, b"a.so.debug");

    let candidates = debug_file_candidates(&folder.path().join("small.so"), None, Some(&link), &[]);
    assert_eq!(candidates[0], folder.path().join("a.so.debug"));
    let mut debug_file = fs::read(&candidates[0]).unwrap();
    assert!(crc_matches(&link, &debug_file));
    debug_file[100] ^= 1;
    assert!(!crc_matches(&link, &debug_file));

    let bytes = fs::read(folder.path().join("a.so")).unwrap();
    assert_eq!(ElfFile::parse(&bytes).unwrap().debug_link(), Ok(None));
}

#[test]
fn a_small_debug_file_inside_is_unpacked() {
    let folder = build_library();
    run("objcopy", folder.path(), &["--only-keep-debug", "--remove-section=.debug*", "a.so", "mini"]);
    let mini = fs::read(folder.path().join("mini")).unwrap();
    let Some(packed) = xz(&mini, &["--lzma2=dict=8MiB"]) else { return };
    fs::write(folder.path().join("mini.xz"), &packed).unwrap();
    run("objcopy", folder.path(), &["--strip-all", "--add-section", ".gnu_debugdata=mini.xz", "a.so", "small.so"]);
    let bytes = fs::read(folder.path().join("small.so")).unwrap();
    let file = ElfFile::parse(&bytes).unwrap();
    let unpacked = file.mini_debug_file(LIMITS).unwrap().unwrap();
    assert_eq!(unpacked, mini);
    assert!(ElfFile::parse(&unpacked).unwrap().section(".symtab").is_some());

    let exact = MiniDebugLimits { output: mini.len() as u64, ..LIMITS };
    assert_eq!(unpack_mini_debug(&packed, exact).unwrap(), mini);
    let short = MiniDebugLimits { output: mini.len() as u64 - 1, ..LIMITS };
    assert!(matches!(unpack_mini_debug(&packed, short), Err(MiniDebugError::TooLarge { .. })));
    let starved = MiniDebugLimits { memory: MIB, ..LIMITS };
    assert!(matches!(unpack_mini_debug(&packed, starved), Err(MiniDebugError::TooHungry { .. })));
    assert_eq!(unpack_mini_debug(&packed, MiniDebugLimits::default()).unwrap(), mini);

    let bytes = fs::read(folder.path().join("a.so")).unwrap();
    assert!(ElfFile::parse(&bytes).unwrap().mini_debug_file(LIMITS).unwrap().is_none());
}

#[test]
fn what_unfolds_too_far_ends_at_the_limit() {
    let mut zeros = vec![0; 64 * MIB as usize];
    zeros[..4].copy_from_slice(b"\x7fELF");
    let Some(packed) = xz(&zeros, &["-0"]) else { return };
    assert!(packed.len() < 100_000);
    match unpack_mini_debug(&packed, LIMITS) {
        Err(MiniDebugError::TooLarge { limit: MIB }) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_no_xz_or_no_elf_or_cut_off_is_refused() {
    let elf = [b"\x7fELF".as_slice(), &[7; 3000]].concat();
    let Some(packed) = xz(&elf, &["--x86", "--lzma2"]) else { return };
    assert_eq!(unpack_mini_debug(&packed, LIMITS).unwrap().len(), elf.len());
    for length in 0..packed.len() {
        let outcome = unpack_mini_debug(&packed[..length], LIMITS);
        assert!(matches!(outcome, Err(MiniDebugError::Damaged(_))), "{length}: {outcome:?}");
    }
    assert!(matches!(unpack_mini_debug(b"#!/bin/sh\n", LIMITS), Err(MiniDebugError::Damaged(_))));
    let script = xz(b"#!/bin/sh\n", &[]).unwrap();
    assert!(matches!(unpack_mini_debug(&script, LIMITS), Err(MiniDebugError::NotElf(FileKind::Script))));
    let nothing = xz(b"", &[]).unwrap();
    assert!(matches!(unpack_mini_debug(&nothing, LIMITS), Err(MiniDebugError::NotElf(FileKind::Empty))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn damage_is_noticed_and_never_a_panic(changes in prop::collection::vec(any::<(prop::sample::Index, u8)>(), 1..4)) {
        let elf: Vec<u8> = [b"\x7fELF".to_vec(), (0..4000u32).map(|number| ((number * number) >> 3) as u8).collect()].concat();
        if let Some(mut packed) = xz(&elf, &[]) {
            for (place, value) in changes {
                let place = place.index(packed.len());
                packed[place] = value;
            }
            if let Ok(unpacked) = unpack_mini_debug(&packed, LIMITS) {
                prop_assert_eq!(unpacked, elf);
            }
        }
    }
}

/// Packs bytes with the xz program; `None` where there is none.
fn xz(bytes: &[u8], options: &[&str]) -> Option<Vec<u8>> {
    let mut command = Command::new("xz");
    command.arg("--stdout").args(options).stdin(Stdio::piped()).stdout(Stdio::piped());
    let Ok(mut child) = command.spawn() else {
        coldstart_testing::skip("there is no xz");
        return None;
    };
    let mut input = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        scope.spawn(move || input.write_all(bytes).unwrap());
        child.wait_with_output().unwrap()
    });
    assert!(output.status.success());
    Some(output.stdout)
}
