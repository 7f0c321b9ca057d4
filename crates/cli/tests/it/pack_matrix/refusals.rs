//! Files that are not packed: each with its reason, on standard error for people and in JSON for scripts.

use std::path::Path;
use std::process::Command;

use super::build::fixtures;
use super::packer::{Verdict, coldstart, pack};
use super::run::{output, succeed};

/// A way to make a file that is not packed.
struct Case {
    /// Name of the file.
    name: &'static str,
    /// Commands for a shell; `$F` is the folder of the fixtures.
    commands: &'static str,
    refused: bool,
    /// Short name of the reason.
    code: &'static str,
}

const fn refused(name: &'static str, code: &'static str, commands: &'static str) -> Case {
    Case { name, commands, refused: true, code }
}

const fn nothing(name: &'static str, code: &'static str, commands: &'static str) -> Case {
    Case { name, commands, refused: false, code }
}

const CASES: &[Case] = &[
    refused("static", "not-dynamic", "gcc -static $F/refused/program.c $F/shared/bulk.c -o static"),
    refused("fixed", "not-dynamic", "gcc -no-pie $F/refused/program.c $F/shared/bulk.c -o fixed"),
    refused("static-pie", "relocates-itself", "gcc -static-pie $F/refused/program.c $F/shared/bulk.c -o static-pie"),
    refused(
        "text.so",
        "text-relocations",
        "gcc -shared -Wl,-z,notext $F/refused/text_relocations.s $F/shared/bulk.c -fPIC -o text.so",
    ),
    refused("twice.so", "overlapping-relocations", "gcc -shared $F/refused/twice.s -o twice.so"),
    refused(
        "no-sections.so",
        "no-sections",
        "gcc -shared -fPIC $F/shared/bulk.c -o whole.so; llvm-strip --strip-sections whole.so -o no-sections.so",
    ),
    refused(
        "payload",
        "payload",
        "gcc -pie -fPIE $F/refused/program.c $F/shared/bulk.c -o payload; yes payload | head -c 100000 >> payload",
    ),
    refused(
        "musl",
        "libc-unknown",
        "musl-gcc -pie -fPIE $F/refused/program.c $F/shared/bulk.c -o musl && ./musl > /dev/null",
    ),
    nothing(
        "few.so",
        "no-gain",
        "gcc -shared -fPIC $F/many_pointers/library.c -x c - -o few.so <<'END'
        int bulk_wrong(void) { return 0; }
END",
    ),
    nothing("none.so", "no-relative", "echo 'int zero;' | gcc -shared -nostdlib -fPIC -x c - -o none.so"),
    nothing("relr.so", "already-relr", "gcc -shared -fPIC -Wl,-z,pack-relative-relocs $F/shared/bulk.c -o relr.so"),
];

#[test]
fn what_is_not_packed_has_its_reason() {
    if cfg!(not(target_arch = "x86_64")) {
        return super::skip("the sources are for x86-64");
    }
    let scratch = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut failures = Vec::new();
    for case in CASES {
        let mut shell = Command::new("sh");
        shell.current_dir(scratch.path()).env("F", fixtures()).args(["-ec", case.commands]);
        if let Err(failure) = succeed(&mut shell) {
            failures.push(failure);
            continue;
        }
        let verdict = pack(&scratch.path().join(case.name), &scratch.path().join("packed"), &[]);
        let code = case.code.to_owned();
        let wanted = if case.refused { Verdict::Refused(code) } else { Verdict::Nothing(code) };
        if verdict != Ok(wanted.clone()) {
            failures.push(format!("{}: {verdict:?} instead of {wanted:?}", case.name));
            // The next one must not find it there, if it was written against expectation.
            let _ = std::fs::remove_file(scratch.path().join("packed"));
        }
        failures.extend(says_why(case, scratch.path()).err());
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

/// People read the reason on standard error if the file was refused, and on standard output if there is nothing to do.
fn says_why(case: &Case, folder: &Path) -> Result<(), String> {
    let output = output(coldstart("pack").arg(folder.join(case.name)).arg("-o").arg(folder.join("said")));
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    // A copy of a file with nothing to pack; the next one must not find it there.
    let _ = std::fs::remove_file(folder.join("said"));
    let says = if case.refused { &stderr } else { &String::from_utf8_lossy(&output.stdout).into_owned() };
    if output.status.code() == Some(i32::from(case.refused)) && says.contains(case.name) {
        return Ok(());
    }
    Err(format!("{}: {} with {says:?}, {stderr}", case.name, output.status))
}

#[test]
fn what_was_packed_is_left_as_it_is() {
    if cfg!(not(target_arch = "x86_64")) {
        return super::skip("the sources are for x86-64");
    }
    let scratch = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let [whole, once, twice] = ["whole.so", "once.so", "twice.so"].map(|name| scratch.path().join(name));
    let source = fixtures().join("shared/bulk.c");
    succeed(Command::new("gcc").args(["-shared", "-fPIC"]).arg(source).arg("-o").arg(&whole)).unwrap();
    assert_eq!(pack(&whole, &once, &[]), Ok(Verdict::Packed));
    assert_eq!(pack(&once, &twice, &[]), Ok(Verdict::Nothing("packed-by-us".to_owned())));
}

#[test]
fn musl_is_packed_when_its_version_is_named() {
    if cfg!(not(target_arch = "x86_64")) {
        return super::skip("the sources are for x86-64");
    }
    let scratch = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let [whole, packed] = ["whole.so", "packed.so"].map(|name| scratch.path().join(name));
    let sources = ["many_pointers/library.c", "shared/bulk.c"].map(|name| fixtures().join(name));
    succeed(Command::new("musl-gcc").args(["-shared", "-fPIC"]).args(sources).arg("-o").arg(&whole)).unwrap();
    assert_eq!(pack(&whole, &packed, &[]), Ok(Verdict::Refused("libc-unknown".to_owned())));
    assert_eq!(pack(&whole, &packed, &["--min-libc", "musl-1.2.4"]), Ok(Verdict::Packed));
}
