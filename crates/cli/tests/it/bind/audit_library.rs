//! The auditing library of mode `audit` as a part of the proof: its code and its answers are the bound program's, so whatever
//! becomes of its file shows in `status` and `verify`, and `unbind` removes nothing else.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::scene::{PRINTED, Tree, bytes, compile, copy, library, permit, plain, seen, succeed};

const LIBRARY: &str = "bin/.app.audit.so";

fn bound(options: &[&str]) -> Tree {
    let tree = Tree::new();
    tree.bind(&[&["--mode", "audit"], options].concat());
    tree
}

/// A first library that says something else, in a folder whose name is as long as that of the folder it is in.
fn other_first(tree: &Tree, folder: &str) -> PathBuf {
    let to_second = format!("-L{}", tree.at("two").display());
    library(&tree.at(folder).join("libfirst.so"), "libfirst.so", "first", 100, &[&to_second, "-lsecond"])
}

/// Replaces some bytes of a file by as many others.
fn edit(path: &Path, from: &str, to: &str) {
    assert_eq!(from.len(), to.len());
    let mut content = bytes(path);
    let at = content.windows(from.len()).position(|window| window == from.as_bytes());
    let at = at.unwrap_or_else(|| panic!("{} has no `{from}`", path.display()));
    content[at..at + to.len()].copy_from_slice(to.as_bytes());
    std::fs::write(path, content).unwrap();
}

/// Expects both verbs to answer no, by a change of this kind; what both said.
fn is_noticed(tree: &Tree, kind: &str) -> String {
    let (exit, report) = tree.json(&["status", "bin/app", "--json"]);
    let kinds: Vec<&str> = report["files"][0]["changes"].as_array().unwrap().iter().flat_map(kind_of).collect();
    assert_eq!((exit, kinds.contains(&kind)), (1, true), "{report:#}");
    let (exit, report) = tree.json(&["verify", "bin/app", "--json"]);
    assert_eq!((exit, &report["same"], kind_of(&report["search"]["audit_library"])), (1, &false.into(), Some(kind)));
    let status = tree.said(&["status", "bin/app"]);
    let verify = tree.said(&["verify", "bin/app"]);
    assert_eq!((status.0, verify.0), (1, 1), "{status:?} {verify:?}");
    let words = format!("{}{}{}{}", status.1, status.2, verify.1, verify.2);
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("coldstart bind --rebind --in-place --mode audit bin/app"), "{words}");
    words
}

/// What `unbind` says, on one line.
fn unbound(tree: &Tree) -> String {
    let (exit, stdout, stderr) = tree.said(&["unbind", "--in-place", "bin/app"]);
    assert_eq!(exit, 0, "{stderr}");
    format!("{stdout}{stderr}").split_whitespace().collect::<Vec<_>>().join(" ")
}

fn kind_of(change: &serde_json::Value) -> Option<&str> {
    change["kind"].as_str()
}

fn holds(tree: &Tree) {
    tree.done(&["status", "bin/app"]);
    tree.done(&["verify", "bin/app"]);
    let start = seen(&mut plain(&tree.app()));
    assert_eq!((start.printed.as_str(), start.failed.len()), (PRINTED, 0), "{start:?}");
}

#[test]
fn the_note_tells_which_file_was_written() {
    let tree = bound(&[]);
    holds(&tree);
    let (_, report) = tree.json(&["status", "bin/app", "--json"]);
    let recorded = &report["files"][0]["binding"]["audit_library"];
    assert_eq!(recorded["size"], bytes(&tree.at(LIBRARY)).len());
    assert_eq!(recorded["blake3"].as_str().unwrap().len(), 64);
    // What `bind` prints is what it wrote.
    let (_, again) = tree.json(&["bind", "--in-place", "--rebind", "--mode", "audit", "bin/app", "--json"]);
    assert_eq!(&again["programs"][0]["binding"]["audit_library"], recorded);
}

#[test]
fn a_path_edited_in_it_is_noticed() {
    let tree = bound(&[]);
    other_first(&tree, "two");
    edit(&tree.at(LIBRARY), "/one/libfirst.so", "/two/libfirst.so");
    // The loader follows it.
    assert_eq!(tree.start(&[]), "100 2 3\n");
    let said = is_noticed(&tree, "audit-library-replaced");
    assert!(said.contains("table for another program") && said.contains("/two/libfirst.so"), "{said}");
    let (_, report) = tree.json(&["verify", "bin/app", "--json"]);
    let misled = &report["search"]["misled"][0];
    assert_eq!((&misled["library"], &misled["is_there"]), (&"libfirst.so".into(), &true.into()), "{misled}");
    tree.bind(&["--rebind", "--mode", "audit"]);
    holds(&tree);
}

#[test]
fn a_library_that_is_gone_or_no_file_is_noticed() {
    let tree = bound(&[]);
    let library = tree.at(LIBRARY);
    let kept = bytes(&library);
    std::fs::remove_file(&library).unwrap();
    assert!(is_noticed(&tree, "audit-library-gone").contains(LIBRARY));
    // The program starts all the same, and searches.
    let start = seen(&mut plain(&tree.app()));
    assert!(start.printed == PRINTED && !start.failed.is_empty(), "{start:?}");
    std::fs::create_dir(&library).unwrap();
    is_noticed(&tree, "audit-library-gone");
    std::fs::remove_dir(&library).unwrap();
    // A fifo that no process writes to must not make them wait.
    succeed(Command::new("mkfifo").arg(&library));
    is_noticed(&tree, "audit-library-gone");
    std::fs::remove_file(&library).unwrap();
    for content in [&b""[..], &kept[..kept.len() - 1], &[&kept[..], b"\0"].concat()] {
        std::fs::write(&library, content).unwrap();
        is_noticed(&tree, "audit-library-replaced");
    }
    std::fs::write(&library, &kept).unwrap();
    holds(&tree);
}

/// Code of others in its place, which glibc runs before the program's own.
fn foreign(tree: &Tree) -> Vec<u8> {
    let source = "#include <stdio.h>\nunsigned la_version(unsigned version) { puts(\"foreign\"); fflush(stdout); return version; }";
    std::fs::remove_file(tree.at(LIBRARY)).unwrap();
    compile(&tree.at(LIBRARY), source, &["-shared", "-fPIC"]);
    bytes(&tree.at(LIBRARY))
}

#[test]
fn a_foreign_library_in_its_place_is_noticed_and_stays() {
    let tree = bound(&[]);
    let original = bytes(&Tree::new().app());
    let foreign = foreign(&tree);
    assert!(tree.start(&[]).starts_with("foreign\n"));
    let said = is_noticed(&tree, "audit-library-replaced");
    assert!(said.contains("not written by `bind`") && said.contains("move"), "{said}");
    let (exit, _, stderr) = tree.said(&["bind", "--rebind", "--in-place", "--mode", "audit", "bin/app"]);
    assert!(exit == 2 && stderr.contains("is not an audit library made by coldstart"), "{stderr}");
    let text = unbound(&tree);
    assert!(text.contains("not removed"), "{text}");
    assert!(bytes(&tree.at(LIBRARY)) == foreign && bytes(&tree.app()) == original);
    assert_eq!(tree.start(&[]), PRINTED);
}

#[test]
fn unbind_removes_only_what_was_written_for_this_program() {
    // It is gone.
    let tree = bound(&[]);
    std::fs::remove_file(tree.at(LIBRARY)).unwrap();
    let text = unbound(&tree);
    assert!(text.contains("was already gone"), "{text}");
    // That of another program stands there.
    let (tree, other) = (bound(&[]), bound(&[]));
    copy(&other.at(LIBRARY), &tree.at(LIBRARY));
    assert!(is_noticed(&tree, "audit-library-replaced").contains("table for another program"));
    assert!(unbound(&tree).contains("not removed"));
    assert!(bytes(&tree.at(LIBRARY)) == bytes(&other.at(LIBRARY)));
    // A link to the very content.
    let tree = bound(&[]);
    std::fs::rename(tree.at(LIBRARY), tree.at("bin/kept.so")).unwrap();
    std::os::unix::fs::symlink("kept.so", tree.at(LIBRARY)).unwrap();
    holds(&tree);
    assert!(unbound(&tree).contains("not removed"));
    assert!(tree.at(LIBRARY).exists());
    // As it was written.
    let tree = bound(&[]);
    assert!(unbound(&tree).contains("was removed"));
    assert!(!tree.at(LIBRARY).exists());
}

#[test]
fn answers_that_the_original_would_not_give_are_noticed() {
    let tree = bound(&[]);
    // The library is as it was written, and the program's own search would find another file by now.
    other_first(&tree, "zero");
    let (exit, report) = tree.json(&["verify", "bin/app", "--json"]);
    let search = &report["search"];
    assert_eq!((exit, &search["audit_library"], &search["misled"][0]["is_there"]), (1, &().into(), &true.into()));
    let (_, text, _) = tree.said(&["verify", "bin/app"]);
    assert!(text.contains("zero/libfirst.so") && text.contains("one/libfirst.so"), "{text}");
    std::fs::remove_file(tree.at("zero/libfirst.so")).unwrap();
    holds(&tree);
    // The file is gone from where the answer leads; with `--check-files` the loader then searches.
    for (options, expected) in [(&[][..], 1), (&["--check-files"][..], 0)] {
        let tree = bound(options);
        copy(&tree.at("two/libsecond.so"), &tree.at("three/libsecond.so"));
        std::fs::remove_file(tree.at("two/libsecond.so")).unwrap();
        let starts = plain(&tree.app()).output().unwrap().status.success();
        assert_eq!((tree.said(&["verify", "bin/app"]).0, starts), (expected, expected == 0), "{options:?}");
    }
}

#[test]
fn it_moves_with_the_tree_and_holds_there() {
    let tree = bound(&["--root", "."]);
    holds(&tree);
    let moved = tree.root.with_file_name("moved");
    std::fs::rename(&tree.root, &moved).unwrap();
    super::scene::done(&moved, &["verify", "bin/app"]);
    let start = seen(&mut plain(&moved.join("bin/app")));
    assert_eq!((start.printed.as_str(), start.failed.len()), (PRINTED, 0), "{start:?}");
    edit(&moved.join(LIBRARY), "/one/libfirst.so", "/two/libfirst.so");
    assert_eq!(super::scene::said(&moved, &["verify", "bin/app"]).0, 1);
    assert_eq!(super::scene::said(&moved, &["status", "bin/app"]).0, 1);
}

#[test]
fn who_else_may_write_to_it_is_told() {
    let tree = bound(&[]);
    let caution = |tree: &Tree| {
        let (exit, report) = tree.json(&["status", "bin/app", "--json"]);
        assert_eq!(exit, 0, "{report:#}");
        report["files"][0]["cautions"][0].clone()
    };
    assert!(caution(&tree).is_null());
    let library = tree.at(LIBRARY);
    for (path, mode, by) in
        [(&library, 0o666, "others"), (&library, 0o664, "group"), (&tree.at("bin"), 0o777, "others")]
    {
        permit(path, mode);
        let told = caution(&tree);
        assert_eq!((&told["kind"], &told["by"]), (&"audit-library-writable".into(), &by.into()), "{mode:o}");
        let (exit, _, stderr) = tree.said(&["status", "bin/app"]);
        assert!(exit == 0 && stderr.contains("can write to"), "{stderr}");
        permit(path, if path == &library { 0o644 } else { 0o755 });
    }
    // In a sticky directory no other user can replace it.
    permit(&tree.at("bin"), 0o1777);
    assert!(caution(&tree).is_null());
}

#[test]
fn two_programs_do_not_share_one() {
    let tree = Tree::new();
    // Another program: it searches elsewhere, so that its table is another.
    super::scene::build("gcc", &tree.at("other"), super::scene::SEARCH, &[]);
    let at = ["--mode", "audit", "--audit-library", "shared.so"];
    tree.bind(&at);
    let before = bytes(&tree.at("shared.so"));
    let (exit, _, stderr) = tree.said(&[&["bind", "--in-place", "other/bin/app"], &at[..]].concat());
    assert!(exit == 2 && stderr.contains("belongs to another program") && stderr.contains("hint: "), "{stderr}");
    assert!(bytes(&tree.at("shared.so")) == before);
    tree.done(&["status", "bin/app"]);
    // Its own program replaces it.
    other_first(&tree, "zero");
    tree.bind(&[&["--rebind"], &at[..]].concat());
    assert!(bytes(&tree.at("shared.so")) != before);
    let (exit, report) = tree.json(&["status", "bin/app", "--json"]);
    assert_eq!(exit, 0, "{report:#}");
}
