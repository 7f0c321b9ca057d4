//! Bound programs that other tools have edited since: what `verify`, `status` and `unbind` make of them.

use std::process::Command;

use super::scene::{PRINTED, Tree, bytes, is_there, said, succeed};

/// What each verb says of a bound program after a tool was at it: exit codes of `status`, `verify`, `unbind`.
fn after(tool: &[&str]) -> Option<(Tree, [i32; 3], String)> {
    if !is_there(tool[0]) {
        return None;
    }
    let tree = Tree::new();
    tree.bind(&[]);
    succeed(Command::new(tool[0]).args(&tool[1..]).arg(tree.app()));
    let mut all = String::new();
    let codes =
        [&["status", "bin/app"][..], &["verify", "bin/app"], &["unbind", "bin/app", "-o", "plain"]].map(|words| {
            let (exit, stdout, stderr) = said(&tree.root, words);
            all += &format!("$ {}: {exit}\n{stdout}{stderr}", words.join(" "));
            exit
        });
    Some((tree, codes, all))
}

#[test]
fn another_search_path_is_told() {
    let Some((tree, codes, said)) = after(&["patchelf", "--set-rpath", "/nowhere"]) else { return };
    assert_eq!(codes, [1, 1, 1], "{said}");
    assert!(said.contains("edited by another tool") && said.contains("DT_RUNPATH"), "{said}");
    // Neither `unbind` nor binding it anew loses the new path, and nothing says that it should be bound anew.
    assert!(!tree.at("plain").exists() && !said.contains("--rebind"), "{said}");
    let edited = bytes(&tree.app());
    let (exit, _, stderr) = tree.said(&["bind", "--in-place", "--rebind", "bin/app"]);
    assert!(exit == 1 && stderr.contains("DT_RUNPATH") && stderr.contains("--discard-changes"), "{stderr}");
    assert_eq!(tree.said(&["unbind", "--in-place", "bin/app"]).0, 1);
    assert!(bytes(&tree.app()) == edited);
    // What was there before it was bound still comes back when that is asked for.
    tree.done(&["unbind", "bin/app", "-o", "plain", "--discard-changes"]);
    assert!(bytes(&tree.at("plain")) == bytes(&Tree::new().app()));
}

#[test]
fn stripped_it_still_works_and_says_what_it_was() {
    // What was stripped cannot come back; the rest stands.
    let Some((tree, codes, said)) = after(&["strip", "-s"]) else { return };
    assert_eq!(tree.start(&[]), PRINTED);
    assert_eq!(codes, [1, 1, 1], "{said}");
    assert!(said.contains("mode") && said.contains("soname") && said.contains("--against"), "{said}");
    // LLVM's takes all that is not loaded away, and our note is not.
    let Some((tree, codes, said)) = after(&["llvm-strip", "-s"]) else { return };
    assert_eq!(tree.start(&[]), PRINTED);
    assert_eq!(codes, [1, 1, 1], "{said}");
    assert!(said.contains("was not edited by coldstart") && said.contains("--against"), "{said}");
}

#[test]
fn advice_names_the_verb_that_helps() {
    let Some((tree, _, said)) = after(&["strip", "-s"]) else { return };
    assert!(said.contains("from `--keep-original`") && !said.contains("unpack"), "{said}");
    drop(tree);
    // Each kind of edit is taken back by its own verb.
    let tree = super::verify::with_relocations();
    tree.bind(&[]);
    tree.done(&["pack", "--in-place", "bin/app"]);
    for words in [&["bind", "--rebind"][..], &["unbind"]] {
        let (exit, _, stderr) = tree.said(&[words, &["--in-place", "bin/app"]].concat());
        assert!(exit == 1 && stderr.contains("its last edit is packing"), "{stderr}");
        assert!(stderr.contains("hint: `coldstart unpack --in-place FILE` undoes that first"), "{stderr}");
    }
    tree.done(&["unpack", "--in-place", "bin/app"]);
    let (exit, _, stderr) = tree.said(&["unpack", "--in-place", "bin/app"]);
    assert!(exit == 1 && stderr.contains("is a binding") && stderr.contains("unbind --in-place FILE"), "{stderr}");
    tree.done(&["unbind", "--in-place", "bin/app"]);
}

#[test]
fn without_the_note_nothing_is_known() {
    let Some((tree, codes, said)) = after(&["objcopy", "--remove-section=.note.coldstart"]) else { return };
    assert_eq!(tree.start(&[]), PRINTED);
    assert_eq!(codes, [1, 1, 1], "{said}");
    assert!(said.contains("was not edited by coldstart"), "{said}");
    // Bound again as any program, it is as good.
    let before = bytes(&tree.app());
    let (exit, stdout, stderr) = tree.said(&["bind", "--in-place", "bin/app", "--farm", "links", "--anyway"]);
    assert!(exit == 0 || bytes(&tree.app()) == before, "{stdout}{stderr}");
    assert_eq!(tree.start(&[]), PRINTED);
}

#[test]
fn what_was_appended_is_not_lost() {
    let tree = Tree::new();
    let original = bytes(&tree.app());
    tree.bind(&[]);
    let appended = [bytes(&tree.app()), b"PAYLOAD".to_vec()].concat();
    std::fs::write(tree.app(), &appended).unwrap();
    for words in [
        &["unbind", "--in-place", "bin/app"][..],
        &["bind", "--rebind", "--in-place", "bin/app"],
        &["status", "bin/app"],
    ] {
        let (exit, stdout, stderr) = tree.said(words);
        assert!(
            exit == 1 && format!("{stdout}{stderr}").contains("7 bytes were appended"),
            "{words:?}: {stdout}{stderr}"
        );
        assert!(bytes(&tree.app()) == appended && tree.at("bin/.app.libs").exists());
    }
    tree.done(&["unbind", "--in-place", "--keep-payload", "bin/app"]);
    assert!(bytes(&tree.app()) == [original, b"PAYLOAD".to_vec()].concat());
    assert!(!tree.at("bin/.app.libs").exists());
    assert_eq!(tree.start(&[]), PRINTED);
}

#[test]
fn a_payload_that_must_not_move_keeps_its_place_behind_a_shorter_file() {
    let tree = Tree::new();
    let original = bytes(&tree.app());
    tree.bind(&[]);
    let bound = bytes(&tree.app());
    assert!(bound.len() > original.len());
    let payload = [&b"data"[..], &(bound.len() as u64).to_le_bytes()].concat();
    std::fs::write(tree.app(), [&bound[..], &payload].concat()).unwrap();
    let text = tree.done(&["unbind", "--in-place", "--keep-payload", "bin/app"]);
    assert!(text.contains("unchanged"), "{text}");
    let gap = vec![0; bound.len() - original.len()];
    assert!(bytes(&tree.app()) == [&original[..], &gap, &payload].concat());
    assert_eq!(tree.start(&[]), PRINTED);
}
