//! `coldstart verify` of bound programs: the proof, the search, starts, and its exit codes.

use super::scene::{PRINTED, SEARCH, Tree, bytes, compile, library};

#[test]
fn a_bound_program_holds_in_every_mode() {
    for mode in ["soname", "absolute", "origin"] {
        let tree = Tree::new();
        tree.bind(&["--mode", mode]);
        let (exit, report) = tree.json(&["verify", "bin/app", "--run", "--runs", "3", "--json"]);
        assert_eq!((exit, &report["same"]), (0, &true.into()), "{report:#}");
        let (search, starts) = (&report["search"], &report["starts"]);
        assert_eq!((&search["parting"], &search["missing"], &search["stray_probes"]), (&().into(), &empty(), &empty()));
        assert!(search["failed_probes_before"].as_u64().unwrap() > 0, "{search}");
        assert_eq!(
            (&search["failed_probes_after"], &starts["after"]["failed_probes"]),
            (&0.into(), &0.into()),
            "{mode}"
        );
        assert!(starts["before"]["failed_probes"].as_u64().unwrap() > 0);
        assert_eq!(
            (&starts["before"]["end"], &starts["after"]["end"]),
            (&"exited with code 0".into(), &"exited with code 0".into())
        );
        assert_eq!(starts["before"]["relocations"], starts["after"]["relocations"], "{mode}");
        assert_eq!(starts["after"]["relocation_cycles"].as_array().unwrap().len(), 3);
    }
}

fn empty() -> serde_json::Value {
    serde_json::json!([])
}

#[test]
fn arguments_reach_the_program_and_its_own_end_counts_for_nothing() {
    let tree = Tree::new();
    tree.bind(&[]);
    // It ends with 3 when it cannot open what it is told to: both do.
    let (exit, text, stderr) = tree.said(&["verify", "--run", "--runs", "1", "bin/app", "--", "open", "libnothing.so"]);
    assert_eq!(exit, 0, "{text}{stderr}");
    assert!(text.contains("exited with code 3"), "{text}");
}

#[test]
fn a_library_that_was_replaced_is_no_difference_to_the_search() {
    let tree = Tree::new();
    tree.bind(&[]);
    library(&tree.at("two/libsecond.so"), "libsecond.so", "second", 20, &[]);
    tree.done(&["verify", "bin/app"]);
    assert_eq!(tree.start(&[]), "1 20 3\n");
    // But one that asks for more is searched for.
    let to_new = format!("-L{}", tree.at("three").display());
    library(&tree.at("three/libnew.so"), "libnew.so", "new", 4, &[]);
    let rpath = format!("-Wl,-rpath,{SEARCH}");
    library(&tree.at("two/libsecond.so"), "libsecond.so", "second", 2, &[&to_new, "-lnew", &rpath]);
    let (exit, text, stderr) = tree.said(&["verify", "bin/app"]);
    assert_eq!(exit, 1, "{text}{stderr}");
    assert!(text.contains("libnew.so") && stderr.contains("coldstart status"), "{text}{stderr}");
    // Opened through its link, it searches `$ORIGIN` beside the link: until it is bound anew, it does not start.
    assert_ne!(tree.said(&["verify", "--run", "--runs", "1", "bin/app"]).0, 0);
    tree.bind(&["--rebind"]);
    tree.done(&["verify", "--run", "--runs", "1", "bin/app"]);
}

#[test]
fn a_link_that_was_removed_is_seen_and_the_program_still_starts() {
    let tree = Tree::new();
    tree.bind(&[]);
    std::fs::remove_file(tree.at("bin/.app.libs/libsecond.so")).unwrap();
    assert_eq!(tree.start(&[]), PRINTED);
    for arguments in [&["verify", "bin/app"][..], &["verify", "--run", "--runs", "1", "bin/app"]] {
        let (exit, text, stderr) = tree.said(arguments);
        assert_eq!(exit, 1, "{text}{stderr}");
        assert!(text.contains("libsecond.so"), "{text}");
    }
    // All links.
    std::fs::remove_dir_all(tree.at("bin/.app.libs")).unwrap();
    assert_eq!(tree.start(&[]), PRINTED);
    assert_eq!(tree.said(&["verify", "bin/app"]).0, 1);
    tree.bind(&["--rebind"]);
    tree.done(&["verify", "bin/app"]);
}

/// A tree whose program has relative relocations enough that `pack` makes it smaller.
pub(crate) fn with_relocations() -> Tree {
    let numbers = (0..1000).map(|number| format!("words + {number}")).collect::<Vec<_>>().join(",");
    let tree = Tree::new();
    let first = format!(
        "#include <stdio.h>\nint first(void), second(void), third(void);\nchar words[1000];\nchar *table[] = {{{numbers}}};\n"
    );
    let source =
        first + "int main(void) { printf(\"%d %d %d\\n\", first(), second(), third()); return table[5] - words - 5; }";
    let to = |folder: &str| format!("-L{}", tree.at(folder).display());
    let words = [to("one"), to("two"), to("three"), format!("-Wl,-rpath,{SEARCH}")];
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let linked = ["-pie", "-fPIE", "-Wl,--no-as-needed", "-lfirst", "-lthird", "-lsecond"];
    compile(&tree.app(), &source, &[&words[..], &linked].concat());
    tree
}

#[test]
fn what_was_packed_after_it_was_bound_is_proven_and_started() {
    let tree = with_relocations();
    std::fs::copy(tree.app(), tree.at("original")).unwrap();
    tree.bind(&[]);
    std::fs::copy(tree.app(), tree.at("bin/bound")).unwrap();
    tree.done(&["pack", "--in-place", "bin/app"]);
    assert!(bytes(&tree.app()).len() < bytes(&tree.at("bin/bound")).len(), "it was packed");
    assert_eq!(tree.start(&[]), PRINTED);
    assert!(tree.done(&["status", "bin/app"]).contains("bound, then packed"));
    let (exit, report) = tree.json(&["verify", "--run", "--runs", "5", "--json", "bin/app"]);
    assert_eq!((exit, &report["same"], &report["starts"]["no_original"]), (0, &true.into(), &().into()), "{report:#}");
    // The original that was started is the one from before it was bound: it searches.
    let probes = |start: &str| report["starts"][start]["failed_probes"].as_u64().unwrap();
    assert!(probes("before") > 0 && probes("after") == 0, "{report:#}");
    for against in ["bin/bound", "original"] {
        tree.done(&["verify", "bin/app", "--against", against]);
    }
    // A difference before the last edit is a difference, too.
    let (exit, text, _) = tree.said(&["verify", "bin/app", "--against", "one/libfirst.so"]);
    assert!(exit == 1 && text.contains("is not equivalent"), "{text}");
    std::fs::remove_file(tree.at("bin/.app.libs/libsecond.so")).unwrap();
    assert_eq!(tree.said(&["verify", "--run", "--runs", "1", "bin/app"]).0, 1);
}

#[test]
fn what_was_packed_before_it_was_bound_is_compared_with_the_packed_file() {
    let tree = with_relocations();
    tree.done(&["pack", "--in-place", "bin/app"]);
    std::fs::copy(tree.app(), tree.at("packed")).unwrap();
    tree.bind(&[]);
    tree.done(&["verify", "--run", "--runs", "1", "bin/app"]);
    tree.done(&["verify", "bin/app", "--against", "packed"]);
}

#[test]
fn what_cannot_be_read_or_started_is_told() {
    let tree = Tree::new();
    assert_eq!(tree.said(&["verify", "nothing"]).0, 2);
    let (exit, _, stderr) = tree.said(&["verify", "--run", "bin/app"]);
    assert!(exit == 2 || exit == 1, "{stderr}");
    assert!(stderr.contains("error: "), "{stderr}");
    tree.bind(&[]);
    assert_eq!(tree.said(&["verify", "bin/app", "--against", "nothing"]).0, 2);
    let (exit, text, _) = tree.said(&["verify", "bin/app", "--against", "one/libfirst.so"]);
    assert!(exit == 1 && text.contains("is not equivalent"), "{text}");
    super::scene::permit(&tree.app(), 0o644);
    let (exit, _, stderr) = tree.said(&["verify", "--run", "bin/app"]);
    assert!(exit == 2 && stderr.contains("no execute permission"), "{stderr}");
}
