//! Bound programs that other tools have edited since: what `verify`, `status` and `unbind` make of them.

use std::process::Command;

use crate::scene::{PRINTED, Tree, bytes, is_there, run, said};

/// What each verb says of a bound program after a tool was at it: exit codes of `status`, `verify`, `unbind`.
fn after(tool: &[&str]) -> Option<(Tree, [i32; 3], String)> {
    if !is_there(tool[0]) {
        return None;
    }
    let tree = Tree::new();
    tree.bind(&[]);
    run(Command::new(tool[0]).args(&tool[1..]).arg(tree.app()));
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
    // What was there before it was bound still comes back, byte for byte: `unbind` compares digests.
    assert_eq!(codes, [1, 1, 0], "{said}");
    assert!(said.contains("edited by others"), "{said}");
    assert!(crate::scene::bytes(&tree.at("plain")) == crate::scene::bytes(&Tree::new().app()));
}

#[test]
fn stripped_it_still_works_and_says_what_it_was() {
    // What was stripped cannot come back; the rest stands.
    let Some((tree, codes, said)) = after(&["strip", "-s"]) else { return };
    assert_eq!(tree.start(&[]), PRINTED);
    assert_eq!(codes, [0, 1, 1], "{said}");
    assert!(said.contains("mode") && said.contains("soname") && said.contains("--against"), "{said}");
    // LLVM's takes all that is not loaded away, and our note is not.
    let Some((tree, codes, said)) = after(&["llvm-strip", "-s"]) else { return };
    assert_eq!(tree.start(&[]), PRINTED);
    assert_eq!(codes, [1, 1, 1], "{said}");
    assert!(said.contains("holds no edit of coldstart") && said.contains("--against"), "{said}");
}

#[test]
fn without_the_note_nothing_is_known() {
    let Some((tree, codes, said)) = after(&["objcopy", "--remove-section=.note.coldstart"]) else { return };
    assert_eq!(tree.start(&[]), PRINTED);
    assert_eq!(codes, [1, 1, 1], "{said}");
    assert!(said.contains("holds no edit of coldstart"), "{said}");
    // Bound again as any program, it is as good.
    let before = bytes(&tree.app());
    let (exit, stdout, stderr) = tree.said(&["bind", "--in-place", "bin/app", "--farm", "links", "--anyway"]);
    assert!(exit == 0 || bytes(&tree.app()) == before, "{stdout}{stderr}");
    assert_eq!(tree.start(&[]), PRINTED);
}
