//! Where the result goes, and by which names a program is reached.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::process::Stdio;

use super::scene::{PRINTED, Tree, bytes, names, plain, seen, succeed};

#[test]
fn a_link_to_the_program_stays_a_link() {
    let tree = Tree::new();
    symlink("../bin/app", tree.at("zero/link")).unwrap();
    let (exit, stdout, stderr) = tree.said(&["bind", "--in-place", "zero/link"]);
    assert_eq!(exit, 0, "{stderr}");
    assert!(tree.at("zero/link").is_symlink() && names(&tree.at("bin")) == [".app.libs", "app"], "{stdout}");
    let start = seen(&mut plain(&tree.at("zero/link")));
    assert_eq!((start.printed.as_str(), start.failed.len()), (PRINTED, 0));
    for verb in ["verify", "status"] {
        tree.done(&[verb, "zero/link"]);
    }
    tree.done(&["unbind", "--in-place", "zero/link"]);
    assert!(tree.at("zero/link").is_symlink() && names(&tree.at("bin")) == ["app"]);
}

#[test]
fn another_name_of_the_program_keeps_the_old_content() {
    let tree = Tree::new();
    let original = bytes(&tree.app());
    std::fs::hard_link(tree.app(), tree.at("bin/same")).unwrap();
    let (exit, _, stderr) = tree.said(&["bind", "--in-place", "bin/app"]);
    assert_eq!(exit, 0, "{stderr}");
    assert!(stderr.contains("note: ") && stderr.contains("name"), "{stderr}");
    assert!(bytes(&tree.at("bin/same")) == original && bytes(&tree.app()) != original);
}

#[test]
fn a_running_program_is_replaced_and_goes_on() {
    let tree = Tree::new();
    let start = |tree: &Tree| {
        let mut child =
            plain(&tree.app()).args(["wait", "x"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        (child, lines)
    };
    let (mut child, mut lines) = start(&tree);
    tree.bind(&[]);
    let (mut second, mut more) = start(&tree);
    tree.bind(&["--rebind"]);
    tree.done(&["unbind", "--in-place", "bin/app"]);
    for (child, lines) in [(&mut child, &mut lines), (&mut second, &mut more)] {
        child.stdin.take().unwrap().write_all(b"\n").unwrap();
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        assert!(child.wait().unwrap().success() && line == PRINTED, "{line}");
    }
}

#[test]
fn bound_into_another_folder_it_finds_what_the_original_finds() {
    for search in ["origin", "absolute"] {
        let tree = Tree::new();
        let tree = if search == "origin" {
            tree
        } else {
            let scratch = super::scene::scratch();
            let root = scratch.path().canonicalize().unwrap().join("tree");
            let path: Vec<String> =
                ["zero", "one", "two", "three"].iter().map(|name| root.join(name).display().to_string()).collect();
            Tree::built(scratch, &path.join(":"), &[])
        };
        let before = seen(&mut plain(&tree.app()));
        std::fs::create_dir(tree.at("out")).unwrap();
        let (exit, stdout, stderr) = tree.said(&["bind", "bin/app", "-o", "out"]);
        assert_eq!(exit, 0, "{search}: {stdout}{stderr}");
        assert_eq!(names(&tree.at("bin")), ["app"]);
        assert_eq!(names(&tree.at("out")), [".app.libs", "app"]);
        let after = seen(&mut plain(&tree.at("out/app")));
        assert_eq!((&after.objects, after.printed.as_str()), (&before.objects, PRINTED), "{search}");
        assert_eq!(after.failed, Vec::<String>::new(), "{search}");
        let (exit, stdout, stderr) = tree.said(&["verify", "out/app", "--against", "bin/app"]);
        assert_eq!(exit, 0, "{search}: {stdout}{stderr}");
        for arguments in
            [&["verify", "out/app"][..], &["verify", "--run", "--runs", "1", "out/app"], &["status", "out/app"]]
        {
            let (exit, stdout, stderr) = tree.said(arguments);
            assert_eq!(exit, 0, "{search} {arguments:?}: {stdout}{stderr}");
        }
        tree.done(&["bind", "--rebind", "--in-place", "out/app"]);
        assert_eq!(succeed(&mut plain(&tree.at("out/app"))), PRINTED, "{search}");
        tree.done(&["unbind", "--in-place", "out/app"]);
        assert!(bytes(&tree.at("out/app")) == bytes(&tree.app()) && names(&tree.at("out")) == ["app"]);
    }
}

#[test]
fn originals_are_kept_where_asked() {
    let tree = Tree::new();
    let original = bytes(&tree.app());
    tree.bind(&["--keep-original", "kept"]);
    assert!(bytes(&tree.at("kept")) == original && bytes(&tree.app()) != original);
    tree.done(&["verify", "bin/app", "--against", "kept"]);
}

#[test]
fn a_dry_run_writes_nothing() {
    let tree = Tree::new();
    let before = super::scene::files_below(&tree.root);
    let text = tree.done(&["bind", "--dry-run", "bin/app"]);
    assert!(text.starts_with("would bind `bin/app`; nothing was written"), "{text}");
    let (exit, report) = tree.json(&["bind", "--dry-run", "--json", "bin/app"]);
    assert_eq!((exit, &report["programs"][0]["outcome"]), (0, &"would-bind".into()));
    assert!(super::scene::files_below(&tree.root) == before);
}
