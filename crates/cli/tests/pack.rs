//! `coldstart pack`, `verify` and `unpack` as their users meet them: what is written where, what is said, exit codes.
//!
//! Whether packed files do the same is held elsewhere; here it is enough that they are smaller, and come back as they were.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;
use unicode_width::UnicodeWidthStr;

fn scratch() -> TempDir {
    TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn coldstart(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart"));
    command.current_dir(directory).args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// Its exit code, what it printed, and what it said besides.
fn said(directory: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = coldstart(directory, arguments);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let (stdout, stderr) = (text(output.stdout), text(output.stderr));
    let is_text = !arguments.contains(&"--json");
    for line in stdout.lines().filter(|_| is_text) {
        assert!(line.width() <= 100 && line.trim_end() == line, "{arguments:?}: {line:?}");
    }
    (output.status.code().expect("it ends by itself"), stdout, stderr)
}

/// What it prints; it must have succeeded.
fn done(directory: &Path, arguments: &[&str]) -> String {
    let (code, stdout, stderr) = said(directory, arguments);
    assert_eq!(code, 0, "{arguments:?}: {stdout}{stderr}");
    stdout
}

/// The whole conversation, with what differs between machines and runs replaced.
fn conversation(directory: &Path, arguments: &[&str]) -> String {
    let (code, stdout, stderr) = said(directory, arguments);
    // In words, because figures are replaced.
    let code = ["zero", "one", "two"][code as usize];
    format!("$ coldstart {}\nexit: {code}\n--- stdout\n{stdout}--- stderr\n{stderr}", arguments.join(" "))
}

fn steady(check: impl FnOnce()) {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"[0-9a-f]{64}", "[DIGEST]");
    settings.add_filter(r"\d+(\.\d+)? (ms|s)\b", "[TIME]");
    settings.add_filter(r"\b(\d{1,3}( \d{3})+|\d+(\.\d)?)( [kM]?B)?\b( %)?", "[N]");
    // Where lines break depends on the figures in them.
    settings.add_filter(r"\n {13,}", " ");
    settings.add_filter(r" {2,}", "  ");
    settings.bind(check);
}

fn json(directory: &Path, arguments: &[&str]) -> (i32, Value) {
    let (code, stdout, _) = said(directory, arguments);
    (code, serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}")))
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Compiles C with more options.
fn compile(path: &Path, source: &str, options: &[&str]) -> PathBuf {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let source_path = path.with_extension("c");
    std::fs::write(&source_path, source).unwrap();
    run(Command::new("gcc").args(["-O1", "-fPIC"]).arg(&source_path).args(options).arg("-o").arg(path));
    std::fs::remove_file(source_path).unwrap();
    path.to_owned()
}

const UNPACKED: &str = "-Wl,-z,nopack-relative-relocs";

/// A library with a table of pointers, which are relative relocations: 6000 of them are 144 kB of 64-bit records.
fn library(path: &Path, pointers: usize) -> PathBuf {
    let table: String = (0..pointers).map(|number| format!("&words[{number}],")).collect();
    let source = format!(
        "#include <stdlib.h>\nstatic int words[{pointers}];\nint *table[] = {{ {table} }};\n\
         int *at(int place) {{ return place < 0 ? malloc(4) : table[place]; }}\n"
    );
    compile(path, &source, &["-shared", UNPACKED])
}

const POINTERS: usize = 6000;

fn bytes(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn is_packed(path: &Path) -> bool {
    let output = Command::new("readelf").arg("-dW").arg(path).output().unwrap();
    String::from_utf8_lossy(&output.stdout).contains("(RELR)")
}

/// All files below a directory, by their relative paths.
fn files_below(directory: &Path) -> Vec<String> {
    let mut files = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(next) = directories.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() {
                directories.push(path);
            } else {
                files.push(path.strip_prefix(directory).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    files.sort();
    files
}

#[test]
fn where_the_result_goes_must_be_said() {
    let directory = scratch();
    library(&directory.path().join("a.so"), 10);
    insta::assert_snapshot!(conversation(directory.path(), &["pack", "a.so"]), @r"
    $ coldstart pack a.so
    exit: two
    --- stdout
    --- stderr
    error: it is not said where the result goes
    hint: `pack` rewrites no file in place without being told: say -o OUT or --in-place; --dry-run only says what would be done
    ");
    insta::assert_snapshot!(conversation(directory.path(), &["unpack", "a.so"]), @r"
    $ coldstart unpack a.so
    exit: two
    --- stdout
    --- stderr
    error: it is not said where the result goes
    hint: `unpack` rewrites no file in place without being told: say -o OUT or --in-place
    ");
    for arguments in [
        &["pack", "a.so", "-o", "b.so", "--in-place"][..],
        &["pack", "a.so", "-o", "b.so", "--dry-run"],
        &["pack", "a.so", "--in-place", "--dry-run"],
        &["pack", "a.so", "-o", "b.so", "--keep-original", "c.so"],
        &["pack", "a.so", "--in-place", "--min-libc", "newlib-4"],
        &["pack"],
        &["unpack", "a.so", "-o", "b.so", "--in-place"],
        &["verify"],
    ] {
        assert_eq!(said(directory.path(), arguments).0, 2, "{arguments:?}");
    }
    assert_eq!(files_below(directory.path()), ["a.so"]);
}

#[test]
fn one_file_is_packed_into_another_and_comes_back() {
    let directory = scratch();
    let original = library(&directory.path().join("a.so"), POINTERS);
    let before = bytes(&original);
    steady(|| {
        insta::assert_snapshot!(conversation(directory.path(), &["pack", "a.so", "-o", "b.so"]), @r"
    $ coldstart pack a.so -o b.so
    exit: zero
    --- stdout
    packed `a.so` into `b.so`: [N], [N] less ([N])
      tables  [N] of relocation records become [N] of RELR and [N] of others; [N] relative ones packed
      room  a segment ends [N] earlier in the file; addresses are as before
      edits  DT_RELR, its size and its entries' size stand where the dynamic table had the count of relative relocations and spare entries; GLIBC_ABI_DT_RELR is needed, so that older loaders refuse it
      proof  [N] of memory with [N] relocated words at [N] addresses, [N] symbols, [N] other relocations, [N] sections, [N] note, [N] unwind entries: the same
      undo  `coldstart unpack b.so` restores the original
      time  [TIME]: plan [TIME], write [TIME], prove [TIME], flush [TIME], rename [TIME]
    --- stderr
    ")
    });
    let packed = directory.path().join("b.so");
    assert!(bytes(&packed).len() + 100_000 < before.len() && is_packed(&packed));
    assert_eq!(bytes(&original), before);
    steady(|| {
        insta::assert_snapshot!(conversation(directory.path(), &["verify", "b.so"]), @r"
    $ coldstart verify b.so
    exit: zero
    --- stdout
    `b.so` is the same to a loader as what its note restores
      proof  [N] of memory with [N] relocated words at [N] addresses, [N] symbols, [N] other relocations, [N] sections, [N] note, [N] unwind entries: the same
    --- stderr
    ")
    });
    done(directory.path(), &["verify", "b.so", "--against", "a.so"]);
    steady(|| {
        insta::assert_snapshot!(conversation(directory.path(), &["unpack", "b.so", "-o", "c.so"]), @r"
    $ coldstart unpack b.so -o c.so
    exit: zero
    --- stdout
    restored `b.so` into `c.so`: [N], packed by version [N].[N]
      digest  BLAKE3 [DIGEST], as before packing
    --- stderr
    ")
    });
    assert_eq!(bytes(&directory.path().join("c.so")), before);
    done(directory.path(), &["unpack", "--in-place", "b.so"]);
    assert_eq!(bytes(&packed), before);
}

#[test]
fn what_is_packed_already_is_left_or_copied() {
    let directory = scratch();
    let path = library(&directory.path().join("a.so"), POINTERS);
    done(directory.path(), &["pack", "--in-place", "a.so"]);
    let (packed, inode) = (bytes(&path), path.metadata().unwrap().ino());
    insta::assert_snapshot!(conversation(directory.path(), &["pack", "--in-place", "a.so"]), @r"
    $ coldstart pack --in-place a.so
    exit: zero
    --- stdout
    nothing to pack in `a.so`: it was packed by coldstart already
    --- stderr
    ");
    assert_eq!((bytes(&path), path.metadata().unwrap().ino()), (packed.clone(), inode));
    insta::assert_snapshot!(conversation(directory.path(), &["pack", "a.so", "-o", "b.so"]), @r"
    $ coldstart pack a.so -o b.so
    exit: zero
    --- stdout
    nothing to pack in `a.so`: it was packed by coldstart already; copied unchanged into `b.so`
    --- stderr
    ");
    assert_eq!(bytes(&directory.path().join("b.so")), packed);
    // Several files: only packed ones are written.
    library(&directory.path().join("new.so"), POINTERS);
    done(directory.path(), &["pack", "a.so", "new.so", "-o", "out"]);
    assert_eq!(files_below(&directory.path().join("out")), ["new.so"]);
}

#[test]
fn what_cannot_be_packed_is_refused_with_the_reason() {
    let directory = scratch();
    let at = |name: &str| directory.path().join(name);
    compile(&at("static"), "int main(void) { return 0; }", &["-static"]);
    compile(&at("object.o"), "int x;", &["-c"]);
    std::fs::write(at("text"), "GROUP ( libfoo.so )\n").unwrap();
    std::fs::write(at("empty"), "").unwrap();
    let set_id = library(&at("setuid.so"), POINTERS);
    std::fs::set_permissions(&set_id, Permissions::from_mode(0o4755)).unwrap();
    library(&at("old.so"), POINTERS);
    for (file, code) in [
        ("static", None),
        ("object.o", None),
        ("text", Some("unreadable")),
        ("empty", Some("unreadable")),
        ("setuid.so", Some("set-id")),
    ] {
        let (exit, report) = json(directory.path(), &["pack", file, "-o", "out.so", "--json"]);
        let found = &report["files"][0];
        assert_eq!((exit, found["outcome"].as_str()), (1, Some("refused")), "{found}");
        assert!(code.is_none_or(|code| found["refusal"]["code"] == code), "{found}");
        let (exit, stdout, stderr) = said(directory.path(), &["pack", file, "-o", "out.so"]);
        assert_eq!((exit, stdout.as_str()), (1, ""), "{stderr}");
        assert!(stderr.starts_with(&format!("error: cannot pack `{file}`: ")), "{stderr}");
        assert_eq!(said(directory.path(), &["pack", file, "--in-place"]).0, 1);
    }
    let (exit, report) = json(directory.path(), &["pack", "old.so", "--dry-run", "--min-libc", "2.35", "--json"]);
    assert_eq!((exit, &report["files"][0]["refusal"]["code"]), (1, &Value::from("loader-too-old")));
    assert!(!at("out.so").exists());
    done(directory.path(), &["pack", "setuid.so", "-o", "out.so", "--allow-setuid"]);
    assert_eq!(at("out.so").metadata().unwrap().mode() & 0o7777, 0o4755);
}

#[test]
fn what_cannot_be_read_or_written_is_an_error() {
    let directory = scratch();
    let at = |name: &str| directory.path().join(name);
    library(&at("a.so"), POINTERS);
    run(Command::new("mkfifo").arg(at("pipe")));
    std::fs::create_dir(at("folder")).unwrap();
    symlink("a.so", at("link.so")).unwrap();
    for (arguments, expected) in [
        (&["pack", "missing.so", "-o", "b.so"][..], "cannot open `missing.so`"),
        (&["pack", "pipe", "-o", "b.so"], "`pipe` is a pipe"),
        (&["pack", "a.so", "-o", "a.so"], "the result would lie over its original `a.so`"),
        (&["pack", "a.so", "-o", "folder/../a.so"], "the result would lie over its original `a.so`"),
        (&["pack", "a.so", "-o", "link.so"], "the result would lie over its original `a.so`"),
        (&["pack", "a.so", "-o", "pipe"], "`pipe` is a pipe"),
        (&["pack", "a.so", "-o", "/proc/coldstart.so"], "/proc"),
        (&["pack", "a.so", "-o", "no/such/folder/b.so"], "no/such/folder"),
        (&["pack", "a.so", "folder", "-o", "link.so"], "`link.so` is no directory"),
        (&["pack", "folder", "-o", "folder"], "`folder` is what is walked"),
        (&["pack", "a.so", "./a.so", "-o", "folder"], "would both be `folder/a.so`"),
        (&["verify", "missing.so"], "cannot read `missing.so`"),
        (&["verify", "a.so", "--against", "pipe"], "cannot read `pipe`"),
        (&["unpack", "missing.so", "--in-place"], "cannot open `missing.so`"),
    ] {
        let (code, stdout, stderr) = said(directory.path(), arguments);
        assert!(
            code == 2 && stdout.is_empty() && stderr.starts_with("error: "),
            "{arguments:?}: {code} {stdout}{stderr}"
        );
        assert!(stderr.contains(expected), "{arguments:?}: {stderr}");
    }
    assert_eq!(files_below(directory.path()), ["a.so", "link.so", "pipe"]);
    done(directory.path(), &["pack", "a.so", "-o", "folder"]);
    assert!(is_packed(&at("folder/a.so")));
}

#[test]
fn json_has_all_that_was_done() {
    let directory = scratch();
    let before = bytes(&library(&directory.path().join("a.so"), POINTERS)).len();
    let (code, report) = json(directory.path(), &["pack", "a.so", "-o", "b.so", "--json"]);
    assert_eq!((code, &report["schema"]), (0, &Value::from("coldstart.pack/1")));
    let after = bytes(&directory.path().join("b.so")).len();
    let file = &report["files"][0];
    assert_eq!(file["path"], "a.so");
    assert_eq!(file["outcome"], "packed");
    assert_eq!(Path::new(file["output"].as_str().unwrap()).file_name().unwrap(), "b.so");
    assert!(file["summary"]["packed"].as_u64().unwrap() >= POINTERS as u64, "{file}");
    assert_eq!(file["summary"]["size_after"], after);
    assert!(file["proof"]["relr_relocations"].as_u64().unwrap() >= POINTERS as u64, "{file}");
    for step in ["plan", "write", "prove", "flush", "rename"] {
        assert!(file["seconds"][step].is_f64(), "{file}");
    }
    for absent in ["nothing", "refusal", "error", "kept_original"] {
        assert!(file[absent].is_null(), "{file}");
    }
    let total = &report["total"];
    assert_eq!((&total["files"], &total["packed"]), (&Value::from(1), &Value::from(1)));
    assert_eq!((&total["size_before"], &total["size_after"]), (&Value::from(before), &Value::from(after)));

    let (code, report) = json(directory.path(), &["pack", "b.so", "-o", "c.so", "--json"]);
    let file = &report["files"][0];
    assert_eq!((code, &file["outcome"], &file["nothing"]["reason"]), (0, &"nothing".into(), &"packed-by-us".into()));
    let (code, report) = json(directory.path(), &["verify", "b.so", "--json"]);
    assert_eq!((code, &report["same"], &report["against"]), (0, &Value::from(true), &Value::Null));
    assert_eq!(report["schema"], "coldstart.verify/1");
    let (code, report) = json(directory.path(), &["unpack", "b.so", "-o", "d.so", "--json"]);
    let file = &report["files"][0];
    assert_eq!((code, &file["outcome"], &file["size_after"]), (0, &"restored".into(), &before.into()));
    assert_eq!(file["digest"].as_str().unwrap().len(), 64);
    assert_eq!(report["schema"], "coldstart.unpack/1");
}

#[test]
fn links_lead_to_the_file_that_is_rewritten_and_other_names_keep_the_old_one() {
    let directory = scratch();
    let real = library(&directory.path().join("libx.so.1.2"), POINTERS);
    let before = bytes(&real);
    symlink("libx.so.1.2", directory.path().join("libx.so")).unwrap();
    std::fs::hard_link(&real, directory.path().join("other.so")).unwrap();
    let (code, _, stderr) = said(directory.path(), &["pack", "--in-place", "libx.so"]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stderr.contains("`libx.so` is a symbolic link; `"), "{stderr}");
    assert!(stderr.contains("has 1 other name, which keeps the old content"), "{stderr}");
    assert!(directory.path().join("libx.so").is_symlink() && is_packed(&real));
    assert_eq!(bytes(&directory.path().join("other.so")), before);
    // The result of a link has the link's name, and is a file.
    std::fs::create_dir(directory.path().join("out")).unwrap();
    done(directory.path(), &["pack", "libx.so", "-o", "out"]);
    assert!(!directory.path().join("out/libx.so").is_symlink());
}

/// A tree with two files to pack, one that needs nothing, one that is refused, and some of no concern.
fn tree(root: &Path) {
    library(&root.join("lib/liba.so.1"), POINTERS);
    library(&root.join("lib/deep/libb.so"), 2 * POINTERS);
    compile(&root.join("lib/none.so"), "int x;", &["-shared", "-nostdlib", UNPACKED]);
    compile(&root.join("bin/static"), "int main(void) { return 0; }", &["-static"]);
    std::fs::copy(root.join("lib/liba.so.1"), root.join("lib/liba.so.1.debug")).unwrap();
    std::fs::hard_link(root.join("lib/liba.so.1"), root.join("lib/same.so")).unwrap();
    symlink("liba.so.1", root.join("lib/liba.so")).unwrap();
    std::fs::write(root.join("lib/readme"), "text").unwrap();
}

#[test]
fn of_a_tree_only_packed_files_are_written_by_their_place_in_it() {
    let directory = scratch();
    tree(&directory.path().join("root"));
    steady(|| {
        insta::assert_snapshot!(conversation(directory.path(), &["pack", "root", "-o", "out"]), @r"
    $ coldstart pack root -o out
    exit: zero
    --- stdout
    packed [N] files of [N] ELF files: [N], [N] less ([N])

      saved  of  share  words  file, the most saved first
      [N]  [N]  [N]  [N]  root/lib/deep/libb.so
      [N]  [N]  [N]  [N]  root/lib/liba.so.[N]
      [N]  [N]  [N]  [N]  total of [N] files

    Nothing to pack
      [N] file: no relative relocations

    Refused: left as they are
      not-dynamic: [N] file
      `root/bin/static`: it is a program at a fixed address; only shared libraries and
      position-independent programs have relative relocations
    --- stderr
    note: passed over [N] debug file, told by their names
    ")
    });
    let out = directory.path().join("out");
    assert_eq!(files_below(&out), ["lib/deep/libb.so", "lib/liba.so.1"]);
    assert!(files_below(&out).iter().all(|file| is_packed(&out.join(file))));
    // With several, their own names tell them apart.
    done(directory.path(), &["pack", "root/lib", "root/bin", "root", "-o", "more"]);
    assert_eq!(files_below(&directory.path().join("more")), ["lib/deep/libb.so", "lib/liba.so.1"]);
    // A file that was named itself changes the exit code.
    let (code, report) = json(directory.path(), &["pack", "root/lib", "root/bin/static", "-o", "third", "--json"]);
    assert_eq!((code, &report["total"]["packed"], &report["total"]["refused"]), (1, &2.into(), &1.into()));
    // Results inside of the tree are not packed again.
    done(&directory.path().join("root"), &["pack", ".", "-o", "packed"]);
    done(&directory.path().join("root"), &["pack", ".", "-o", "packed"]);
    assert_eq!(files_below(&directory.path().join("root/packed")), ["lib/deep/libb.so", "lib/liba.so.1"]);
}

#[test]
fn a_tree_is_packed_in_place_and_comes_back() {
    let directory = scratch();
    let root = directory.path().join("root");
    tree(&root);
    let before: Vec<Vec<u8>> = files_below(&root).iter().map(|file| bytes(&root.join(file))).collect();
    let (code, report) = json(directory.path(), &["pack", "--in-place", "root", "--keep-original", "kept", "--json"]);
    assert_eq!((code, &report["total"]["packed"]), (0, &2.into()), "{report}");
    assert_eq!(files_below(&directory.path().join("kept")), ["lib/deep/libb.so", "lib/liba.so.1"]);
    assert!(is_packed(&root.join("lib/liba.so.1")) && is_packed(&root.join("lib/deep/libb.so")));
    let text = done(directory.path(), &["unpack", "--in-place", "root"]);
    assert!(text.starts_with("restored 2 files; passed over "), "{text}");
    let after: Vec<Vec<u8>> = files_below(&root).iter().map(|file| bytes(&root.join(file))).collect();
    assert!(before == after);
}

#[test]
fn the_original_is_kept_where_it_is_asked_for() {
    let directory = scratch();
    let path = library(&directory.path().join("a.so"), POINTERS);
    let before = bytes(&path);
    let text = done(directory.path(), &["pack", "--in-place", "a.so", "--keep-original", "a.so.orig"]);
    assert!(text.contains("the original is kept as `a.so.orig`"), "{text}");
    assert!(is_packed(&path) && bytes(&directory.path().join("a.so.orig")) == before);
    std::fs::write(directory.path().join("taken"), "x").unwrap();
    let other = library(&directory.path().join("b.so"), POINTERS);
    let before = bytes(&other);
    assert_eq!(said(directory.path(), &["pack", "--in-place", "b.so", "--keep-original", "taken"]).0, 2);
    assert_eq!(bytes(&other), before);
}

#[test]
fn a_dry_run_writes_nothing_and_says_so() {
    let directory = scratch();
    tree(&directory.path().join("root"));
    let before = files_below(directory.path());
    let text = done(directory.path(), &["pack", "--dry-run", "root/lib/liba.so.1"]);
    assert!(text.starts_with("would pack `root/lib/liba.so.1`") && text.contains("nothing was written"), "{text}");
    let text = done(directory.path(), &["pack", "--dry-run", "root"]);
    assert!(text.starts_with("would pack 2 files of 4 ELF files"), "{text}");
    let (_, report) = json(directory.path(), &["pack", "--dry-run", "root", "--json"]);
    assert_eq!((&report["dry_run"], &report["total"]["packed"]), (&true.into(), &2.into()));
    assert_eq!(files_below(directory.path()), before);
    assert!(!is_packed(&directory.path().join("root/lib/liba.so.1")));
}

#[test]
fn what_differs_is_said() {
    let directory = scratch();
    library(&directory.path().join("a.so"), POINTERS);
    library(&directory.path().join("other.so"), POINTERS + 1);
    done(directory.path(), &["pack", "a.so", "-o", "b.so"]);
    let (code, stdout, stderr) = said(directory.path(), &["verify", "b.so", "--against", "other.so"]);
    assert_eq!((code, stderr.as_str()), (1, ""));
    assert!(stdout.starts_with("`b.so` is not the same to a loader as `other.so`"), "{stdout}");
    let (code, report) = json(directory.path(), &["verify", "b.so", "--against", "other.so", "--json"]);
    assert_eq!((code, &report["same"]), (1, &false.into()));
    assert!(report["difference"]["what"].is_string(), "{report}");
    let (code, _, stderr) = said(directory.path(), &["verify", "a.so"]);
    assert!(code == 1 && stderr.contains("--against FILE"), "{stderr}");
}

#[test]
fn what_was_changed_after_packing_does_not_come_back() {
    let directory = scratch();
    library(&directory.path().join("a.so"), POINTERS);
    done(directory.path(), &["pack", "a.so", "-o", "b.so"]);
    run(Command::new("strip").arg(directory.path().join("b.so")));
    let stripped = bytes(&directory.path().join("b.so"));
    for arguments in
        [&["unpack", "b.so", "--in-place"][..], &["unpack", "b.so", "-o", "c.so"], &["unpack", "a.so", "-o", "c.so"]]
    {
        let (code, stdout, stderr) = said(directory.path(), arguments);
        assert_eq!((code, stdout.as_str()), (1, ""), "{stderr}");
        assert!(stderr.starts_with("error: cannot unpack `"), "{stderr}");
    }
    assert_eq!(bytes(&directory.path().join("b.so")), stripped);
    assert!(!directory.path().join("c.so").exists());
    run(Command::new("gcc")
        .args(["-shared", "-o"])
        .arg(directory.path().join("no-note.so"))
        .arg("-xc")
        .arg("/dev/null"));
    assert_eq!(said(directory.path(), &["unpack", "no-note.so", "--in-place"]).0, 1);
}

#[test]
fn without_a_note_nothing_comes_back() {
    let directory = scratch();
    library(&directory.path().join("a.so"), POINTERS);
    let text = done(directory.path(), &["pack", "a.so", "-o", "b.so", "--no-undo"]);
    assert!(text.contains("cannot be unpacked"), "{text}");
    assert_eq!(said(directory.path(), &["unpack", "b.so", "--in-place"]).0, 1);
    done(directory.path(), &["verify", "b.so", "--against", "a.so"]);
}
