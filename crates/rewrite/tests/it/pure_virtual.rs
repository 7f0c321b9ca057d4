//! References to `__cxa_pure_virtual`: a program that calls a pure virtual function ends as before, whoever defines it; and the proof accepts
//! no other code than the jump, and it only where nothing else is.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use coldstart_elf::{ElfFile, Vaddr};
use coldstart_prove::{BindEdit, Source, prove, prove_bound, prove_identity};
use coldstart_rewrite::{
    ChangedFile, NothingToPack, PackDecision, PackOptions, PackSummary, Pass, PassOutcome, Refusal, plan_pack,
};
use coldstart_testing::{compile, succeed};

use crate::rewritten_scene::restored;
use crate::scene::linkers;

/// Interfaces enough to be worth packing, and three that are called before their objects are complete.
const LIBRARY: &str = "\
template <int N> struct Interface { virtual int one() = 0; virtual int two(int) = 0; virtual ~Interface() {} };\n\
template <int N> struct Part : Interface<N> { int own; Part() : own(N) {} int one() override { return own; } };\n\
template <int N> struct Whole : Part<N> { int two(int a) override { return a + N; } };\n\
template <int N> int all() { Whole<N> whole; Interface<N> *seen = &whole; return seen->one() + seen->two(1) + all<N - 1>(); }\n\
template <> int all<0>() { return 0; }\n\
extern \"C\" int sum() { return all<400>(); }\n\
template <int N> struct Early { Early(); virtual void late() = 0; virtual ~Early() {} };\n\
template <int N> __attribute__((noinline)) void call(Early<N> *early) { early->late(); }\n\
template <int N> Early<N>::Early() { call(this); }\n\
template <int N> struct Child : Early<N> { void late() override {} };\n\
extern \"C\" void early(int which) { if (which == 1) Child<1>(); if (which == 2) Child<2>(); if (which == 3) Child<3>(); }\n";

const PROGRAM: &str = "\
#include <cstdio>\n#include <cstdlib>\n#include <exception>\n\
extern \"C\" int sum(); extern \"C\" void early(int);\n\
#ifdef OWN\nextern \"C\" void __cxa_pure_virtual() { std::printf(\"own\\n\"); std::exit(7); }\n#endif\n\
int main(int count, char **words) {\n\
  std::printf(\"%d\\n\", sum()); std::fflush(stdout);\n\
  if (count > 2) std::set_terminate([] { std::printf(\"handled\\n\"); std::fflush(stdout); std::_Exit(8); });\n\
  early(count > 1 ? std::atoi(words[1]) : 0);\n}\n";

/// The library's code, for any linker.
fn object(compiler: &str, directory: &Path) -> PathBuf {
    let options = ["-c", "-O2", "-fno-inline", "-fPIC", "-ftemplate-depth=1000"];
    compile(compiler, &directory.join(format!("{compiler}.o")), LIBRARY, &options)
}

fn library(object: &Path, linker: &str, path: &Path) {
    let mut link = Command::new("g++");
    link.args(["-shared", "-Wl,-soname,libearly.so", "-Wl,-z,now,-Bsymbolic"]).arg(format!("-fuse-ld={linker}"));
    if linker != "gold" {
        link.arg("-Wl,-z,nopack-relative-relocs");
    }
    succeed(link.arg("-o").arg(path).arg(object));
}

fn options(passes: &str) -> PackOptions {
    PackOptions { passes: passes.parse().unwrap(), drop_syment: true, ..PackOptions::default() }
}

fn packed(bytes: &[u8], passes: &str) -> (Vec<u8>, PackSummary) {
    match plan_pack(&ElfFile::parse(bytes).unwrap(), &options(passes)).unwrap() {
        PackDecision::Pack(plan) => (plan.script.to_vec(bytes).unwrap(), plan.summary),
        PackDecision::Nothing(nothing) => panic!("{nothing:?}"),
    }
}

const EDIT: fn() -> BindEdit = || BindEdit { pure_virtual: true, ..BindEdit::default() };

fn is_proven(original: &[u8], output: &[u8], edit: &BindEdit) -> bool {
    let proof = prove_bound(Source::in_memory(original), Source::in_memory(output), edit);
    proof.inspect_err(|error| println!("not proven: {error}")).is_ok()
}

/// How a program ends with each of the three, with and without a handler.
fn ends(program: &Path) -> Vec<(String, Option<i32>, Option<i32>)> {
    let cases: [&[&str]; 5] = [&[], &["1"], &["2"], &["3"], &["1", "handler"]];
    let end = |words: &&[&str]| {
        let Output { status, stdout, stderr } = Command::new(program).args(*words).output().unwrap();
        let said = String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr);
        (said, status.code(), status.signal())
    };
    cases.iter().map(end).collect()
}

#[test]
fn a_call_ends_the_program_as_before() {
    let linkers = linkers();
    let by_clang = linkers.contains(&"lld").then_some(("clang++", "lld"));
    let scratch = tempfile::tempdir().unwrap();
    let by_gcc = object("g++", scratch.path());
    let by_clang = by_clang.map(|(compiler, linker)| (object(compiler, scratch.path()), linker));
    for (object, linker) in linkers.iter().map(|linker| (by_gcc.clone(), *linker)).chain(by_clang) {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        library(&object, linker, &at("libearly.so"));
        let link = format!("-L{}", directory.path().display());
        for (name, own) in [("program", &[][..]), ("program-own", &["-DOWN", "-rdynamic"][..])] {
            let options = [&[link.as_str(), "-learly", "-Wl,-rpath,$ORIGIN"], own].concat();
            compile("g++", &at(name), PROGRAM, &options);
        }
        let all = || (ends(&at("program")), ends(&at("program-own")));
        let before = all();
        assert!(before.0[1].0.contains("pure virtual method called") && before.0[1].2 == Some(6), "{before:?}");
        assert!(before.0[4].0.ends_with("handled\n") || before.0[4].1 == Some(8), "{before:?}");
        assert!(before.1[2].0.ends_with("own\n") && before.1[2].1 == Some(7), "{before:?}");

        let original = std::fs::read(at("libearly.so")).unwrap();
        for passes in ["pure-virtual", "pure-virtual,relr", "all-safe"] {
            let (bytes, summary) = packed(&original, passes);
            assert!(summary.pure_virtual >= 402, "{linker}, {passes}: {summary:?}");
            assert!(is_proven(&original, &bytes, &EDIT()), "{linker}, {passes}");
            assert!(
                !is_proven(&original, &bytes, &BindEdit::default()),
                "{linker}, {passes}: the edit says what it does"
            );
            assert!(prove(Source::in_memory(&original), Source::in_memory(&bytes)).is_err(), "{linker}, {passes}");
            prove_identity(Source::in_memory(&bytes)).unwrap();
            assert!(restored(&bytes, ChangedFile::Refuse).unwrap() == original, "{linker}, {passes}");
            std::fs::write(at("libearly.so"), &bytes).unwrap();
            assert_eq!(all(), before, "{linker}, {passes}");
            let stripped = Command::new("strip").arg(at("libearly.so")).status().unwrap();
            assert!(stripped.success());
            assert_eq!(all(), before, "{linker}, {passes}, stripped");
            let again = plan_pack(&ElfFile::parse(&bytes).unwrap(), &options(passes));
            assert!(!matches!(again, Ok(PackDecision::Pack(_))), "{linker}, {passes}: {again:?}");
        }
        std::fs::write(at("libearly.so"), &original).unwrap();
    }
}

/// A library with its packed form, and the jump's place in both.
fn jump() -> (Vec<u8>, Vec<u8>, usize) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("libearly.so");
    library(&object("g++", directory.path()), "bfd", &path);
    let original = std::fs::read(path).unwrap();
    let (bytes, _) = packed(&original, "pure-virtual");
    // Nothing moves in code without RELR.
    let text = ElfFile::parse(&original).unwrap().section(".text").unwrap().header;
    let range = text.offset.0 as usize..(text.offset.0 + text.size) as usize;
    let place = range.clone().find(|&at| original[at] != bytes[at]).unwrap();
    (original, bytes, place)
}

#[test]
fn the_proof_accepts_the_jump_alone() {
    let (original, bytes, place) = jump();
    assert_eq!(bytes[place..place + 6], [0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25]);
    let with = |at: usize, byte: u8| {
        let mut changed = bytes.clone();
        changed[at] = byte;
        changed
    };
    assert!(is_proven(&original, &bytes, &EDIT()));
    // Another word, a call, no place for an indirect branch, another function's first byte, code elsewhere.
    let elsewhere = ElfFile::parse(&original).unwrap().section(".fini").unwrap().header.offset.0 as usize;
    for (at, byte) in [
        (place + 6, bytes[place + 6].wrapping_add(8)),
        (place + 5, 0x15),
        (place + 3, 0xfb),
        (place - 1, original[place - 1].wrapping_add(1)),
        (elsewhere, original[elsewhere].wrapping_add(1)),
    ] {
        assert!(!is_proven(&original, &with(at, byte), &EDIT()), "{at:#x}");
    }
    // The original with something in use there: an instruction, or a function that runs into the gap.
    for (at, byte) in [(place, 0x50), (place - 1, 0x90)] {
        let (mut used, mut output) = (original.clone(), bytes.clone());
        used[at] = byte;
        if at < place {
            output[at] = byte;
        }
        assert!(!is_proven(&used, &output, &EDIT()), "{at:#x}");
    }
}

#[test]
fn a_place_that_a_symbol_names_is_not_used() {
    let (original, _, place) = jump();
    let file = ElfFile::parse(&original).unwrap();
    let text = file.section(".text").unwrap().header;
    let address = Vaddr(text.address.0 + (place as u64 - text.offset.0));
    // The first symbol for tools gets the address.
    let symbols = file.section(".symtab").unwrap().header;
    let mut named = original.clone();
    let value = symbols.offset.0 as usize + 24 * 5 + 8;
    named[value..value + 8].copy_from_slice(&address.0.to_le_bytes());
    let (bytes, _) = packed(&named, "pure-virtual");
    assert!(is_proven(&named, &bytes, &EDIT()));
    assert_eq!(bytes[place..place + 6], named[place..place + 6], "another gap is taken");
}

#[test]
fn what_cannot_be_done_is_an_outcome_of_its_own() {
    let (original, ..) = jump();
    // No unwind tables: nobody knows where functions end.
    let directory = tempfile::tempdir().unwrap();
    let (with, without) = (directory.path().join("with.so"), directory.path().join("without.so"));
    std::fs::write(&with, &original).unwrap();
    let mut objcopy = Command::new("objcopy");
    objcopy.args(["-R", ".eh_frame_hdr", "-R", ".eh_frame"]).args([&with, &without]);
    assert!(objcopy.status().unwrap().success());
    let bytes = std::fs::read(without).unwrap();
    let (_, summary) = packed(&bytes, "pure-virtual,relr");
    let found = summary.passes.iter().find(|report| report.pass == Pass::PureVirtual).unwrap();
    assert!(matches!(found.outcome, PassOutcome::Refused { code: "no-unused-code", .. }), "{found:?}");
    let alone = plan_pack(&ElfFile::parse(&bytes).unwrap(), &options("pure-virtual"));
    assert!(matches!(alone, Err(Refusal::NoUnusedCode)), "{alone:?}");
    let plain = std::fs::read("/bin/true").unwrap();
    let nothing = plan_pack(&ElfFile::parse(&plain).unwrap(), &options("pure-virtual"));
    assert!(matches!(nothing, Ok(PackDecision::Nothing(NothingToPack::NoPureVirtual))), "{nothing:?}");
}
