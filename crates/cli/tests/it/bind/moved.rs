//! Trees that were moved after their program had been bound.

use std::path::PathBuf;

use super::scene::{PRINTED, Tree, bytes, done, names, plain, said, scratch, seen};

/// A bound tree in another place; what the program was before.
fn moved(tree: &Tree) -> (PathBuf, Vec<u8>) {
    let original = bytes(&tree.app());
    tree.bind(&[]);
    let to = tree.root.with_file_name("moved");
    std::fs::rename(&tree.root, &to).unwrap();
    (to, original)
}

#[test]
fn a_tree_that_searches_by_origin_is_as_good_elsewhere() {
    let tree = Tree::new();
    let (root, original) = moved(&tree);
    for arguments in
        [&["status", "bin/app"][..], &["verify", "bin/app"], &["verify", "--run", "--runs", "1", "bin/app"]]
    {
        let (exit, stdout, stderr) = said(&root, arguments);
        assert_eq!(exit, 0, "{arguments:?}: {stdout}{stderr}");
    }
    done(&root, &["bind", "--rebind", "--in-place", "bin/app"]);
    let start = seen(&mut plain(&root.join("bin/app")));
    assert_eq!((start.printed.as_str(), start.failed.len()), (PRINTED, 0));
    done(&root, &["unbind", "--in-place", "bin/app"]);
    assert!(bytes(&root.join("bin/app")) == original && names(&root.join("bin")) == ["app"]);
}

#[test]
fn a_copy_beside_the_first_tree_is_its_own() {
    let tree = Tree::new();
    tree.bind(&[]);
    let copied = tree.root.with_file_name("copied");
    super::scene::copy(&tree.root, &copied);
    let start = seen(&mut plain(&copied.join("bin/app")));
    assert!(start.objects.iter().filter(|path| path.ends_with("libfirst.so")).all(|path| path.starts_with(&copied)));
    for arguments in
        [&["status", "bin/app"][..], &["verify", "bin/app"], &["bind", "--rebind", "--in-place", "bin/app"]]
    {
        let (exit, stdout, stderr) = said(&copied, arguments);
        assert_eq!(exit, 0, "{arguments:?}: {stdout}{stderr}");
    }
    done(&copied, &["unbind", "--in-place", "bin/app"]);
    assert_eq!(names(&copied.join("bin")), ["app"]);
    assert!(seen(&mut plain(&tree.app())).failed.is_empty());
}

#[test]
fn a_tree_with_absolute_paths_says_what_is_gone() {
    let scratch = scratch();
    let root = scratch.path().canonicalize().unwrap().join("tree");
    let path: Vec<String> =
        ["zero", "one", "two", "three"].iter().map(|name| root.join(name).display().to_string()).collect();
    let tree = Tree::built(scratch, &path.join(":"), &[]);
    let (root, original) = moved(&tree);
    let (exit, text, stderr) = said(&root, &["status", "bin/app"]);
    assert_eq!(exit, 1, "{text}{stderr}");
    assert!(text.contains("libfirst.so") && text.contains("cannot be read"), "{text}");
    let (exit, text, stderr) = said(&root, &["verify", "bin/app"]);
    assert_eq!(exit, 1, "{text}{stderr}");
    let (exit, _, stderr) = said(&root, &["bind", "--rebind", "--in-place", "bin/app"]);
    assert!(exit == 1 && stderr.contains("is not found"), "{stderr}");
    done(&root, &["unbind", "--in-place", "bin/app"]);
    assert!(bytes(&root.join("bin/app")) == original && names(&root.join("bin")) == ["app"]);
}
