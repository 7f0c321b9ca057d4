//! Directories and many files.

use std::process::{Command, Stdio};

use serde_json::Value;

use super::scene::{POINTERS, bytes, conversation, done, files_below, is_packed, json, library, scratch, steady, tree};

#[test]
fn of_a_tree_only_packed_files_are_written_by_their_place_in_it() {
    let directory = scratch();
    tree(&directory.path().join("root"));
    steady(|| {
        insta::assert_snapshot!(conversation(directory.path(), &["pack", "root", "-o", "out"]), @r"
    $ coldstart pack root -o out
    exit: zero
    --- stdout
    packed [N] of [N] files: [N], [N] less ([N])

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
    note: skipped [N] debug file by name
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
fn of_many_files_the_first_are_listed() {
    let directory = scratch();
    let first = library(&directory.path().join("many/0.so"), POINTERS);
    for number in 1..25 {
        std::fs::copy(&first, first.with_file_name(format!("{number}.so"))).unwrap();
    }
    let text = done(directory.path(), &["pack", "--dry-run", "many"]);
    assert!(text.starts_with("would pack 25 of 25 files: "), "{text}");
    assert!(text.contains("  total of 25 files\n  5 more; --all lists all files\n"), "{text}");
    assert_eq!(text.matches(" many/").count(), 20, "{text}");
    let text = done(directory.path(), &["pack", "--dry-run", "--all", "many"]);
    assert!(text.matches(" many/").count() == 25 && !text.contains("more; --all"), "{text}");
}

#[test]
fn a_signal_leaves_every_file_whole() {
    let directory = scratch();
    let root = directory.path().join("root");
    let first = library(&root.join("0.so"), POINTERS);
    let before = bytes(&first);
    for number in 1..200 {
        std::fs::copy(&first, first.with_file_name(format!("{number}.so"))).unwrap();
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart"));
    command.current_dir(directory.path()).args(["pack", "--in-place", "root", "--json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Once the first is in its place.
    while child.try_wait().unwrap().is_none() && bytes(&first) == before {}
    let id = i32::try_from(child.id()).unwrap();
    let _ = rustix::process::kill_process(rustix::process::Pid::from_raw(id).unwrap(), rustix::process::Signal::INT);
    let output = child.wait_with_output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let total = |name: &str| report["total"][name].as_u64().unwrap();
    let expected = if total("not_begun") > 0 { &[130][..] } else { &[0, 130] };
    assert!(expected.contains(&output.status.code().unwrap()), "{output:?}");
    let files = files_below(&root);
    let packed = files.iter().filter(|file| is_packed(&root.join(file))).count();
    let old = files.iter().filter(|file| bytes(&root.join(file)) == before).count();
    assert_eq!((packed, packed + old, files.len()), (total("packed") as usize, 200, 200));
    assert_eq!(total("packed") + total("not_begun"), 200);
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
    assert!(text.starts_with("restored 2 files; skipped "), "{text}");
    let after: Vec<Vec<u8>> = files_below(&root).iter().map(|file| bytes(&root.join(file))).collect();
    assert!(before == after);
}

#[test]
fn a_dry_run_writes_nothing_and_says_so() {
    let directory = scratch();
    tree(&directory.path().join("root"));
    let before = files_below(directory.path());
    let text = done(directory.path(), &["pack", "--dry-run", "root/lib/liba.so.1"]);
    assert!(text.starts_with("would pack `root/lib/liba.so.1`") && text.contains("nothing was written"), "{text}");
    let text = done(directory.path(), &["pack", "--dry-run", "root"]);
    assert!(text.starts_with("would pack 2 of 4 files"), "{text}");
    let (_, report) = json(directory.path(), &["pack", "--dry-run", "root", "--json"]);
    assert_eq!((&report["dry_run"], &report["total"]["packed"]), (&true.into(), &2.into()));
    assert_eq!(files_below(directory.path()), before);
    assert!(!is_packed(&directory.path().join("root/lib/liba.so.1")));
}
