//! The folder of links: where it may stand, what may stand in its place, and what becomes of it.

use std::os::unix::fs::symlink;

use super::scene::{PRINTED, Tree, files_below, names, permit, plain, readelf, seen, skip, succeed};

const BIND: [&str; 3] = ["bind", "--in-place", "bin/app"];

/// Expects an error that leaves everything as it was; what was said.
fn fails(tree: &Tree, options: &[&str]) -> String {
    let before = files_below(&tree.root);
    let (exit, stdout, stderr) = tree.said(&[&BIND[..], options].concat());
    assert_eq!((exit, stdout.as_str()), (2, ""), "{options:?}: {stderr}");
    assert!(stderr.contains("hint: "), "{stderr}");
    assert!(files_below(&tree.root) == before, "{options:?} left something behind");
    stderr
}

/// A text without its line breaks.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn what_is_not_ours_stays() {
    let tree = Tree::new();
    let farm = tree.at("bin/.app.libs");
    std::fs::create_dir(&farm).unwrap();
    assert!(fails(&tree, &[]).contains("not a link directory made by coldstart"));
    std::fs::write(farm.join("libfirst.so"), "precious").unwrap();
    fails(&tree, &[]);
    std::fs::remove_dir_all(&farm).unwrap();
    std::fs::write(&farm, "precious").unwrap();
    fails(&tree, &[]);
    std::fs::remove_file(&farm).unwrap();
    // A link to a folder, to nothing.
    for target in ["../one", "nowhere"] {
        symlink(target, &farm).unwrap();
        fails(&tree, &[]);
        std::fs::remove_file(&farm).unwrap();
    }
    // A folder with a marker that is none.
    std::fs::create_dir(&farm).unwrap();
    for marker in [
        "",
        "{}",
        "\0\0\0",
        "[[[[[[[[[[",
        r#"{"version":1,"coldstart":"0","mode":"soname","program":"/x","links":[{"path":"../../../x","target":"/"}]}"#,
    ] {
        std::fs::write(farm.join(".coldstart-farm"), marker).unwrap();
        let (exit, _, stderr) = tree.said(&BIND);
        if exit == 0 {
            // It says that it is ours, of a program that is gone.
            assert!(marker.contains("version"), "{marker}");
            tree.done(&["unbind", "--in-place", "bin/app"]);
        } else {
            assert!(stderr.contains("not a link directory"), "{stderr}");
        }
    }
}

#[test]
fn directories_whose_name_resembles_a_temporary_one_stay() {
    let tree = Tree::new();
    let mut precious = Vec::new();
    for (farm, number) in [("libs", 20261122), ("libs", 7), (".app.libs", 20261122)] {
        let directory = tree.at(&format!("bin/.{farm}.coldstart-links.{number}"));
        std::fs::create_dir(&directory).unwrap();
        if number != 7 {
            std::fs::write(directory.join("precious"), "mine").unwrap();
        }
        precious.push(directory);
    }
    let before = files_below(&tree.root);
    for farm in [&["--farm", "bin/libs"][..], &[]] {
        tree.bind(farm);
        std::fs::remove_file(tree.at(if farm.is_empty() { "bin/.app.libs" } else { "bin/libs" }).join("libthird.so"))
            .unwrap();
        tree.bind(&[&["--rebind"], farm].concat());
        tree.done(&["unbind", "--in-place", "bin/app"]);
        assert!(files_below(&tree.root) == before, "{farm:?}");
    }
    assert!(precious.iter().all(|directory| directory.is_dir()));
}

#[test]
fn links_that_were_gone_already_are_not_said_to_be_removed() {
    let tree = Tree::new();
    tree.bind(&[]);
    std::fs::remove_dir_all(tree.at("bin/.app.libs")).unwrap();
    let unbound = || tree.done(&["unbind", "--in-place", "bin/app"]).split_whitespace().collect::<Vec<_>>().join(" ");
    let text = unbound();
    assert!(text.contains("was already gone") && !text.contains("was removed"), "{text}");
    tree.bind(&[]);
    assert!(unbound().contains("was removed"));
}

#[test]
fn places_without_the_right_to_write_are_told() {
    let tree = Tree::new();
    assert!(fails(&tree, &["--farm", "nowhere/deep/farm"]).contains("mkdir -p"));
    assert!(fails(&tree, &["--farm", "bin/app"]).contains("bin/app"));
    assert!(fails(&tree, &["--farm", "one"]).contains("one"));
    let said = tree.refuses("path-text", &[&BIND[..], &["--farm", "a:b"]].concat());
    assert!(said.contains("a colon") && said.contains("--farm"), "{said}");
    tree.refuses("path-text", &[&BIND[..], &["--farm", "a$ORIGIN"]].concat());
}

#[test]
fn the_folder_may_stand_elsewhere() {
    for (farm, text) in
        [("bin/sub/../links", "[$ORIGIN/links:"), ("links", "/tree/links:"), ("./one/links", "/tree/one/links:")]
    {
        let tree = Tree::new();
        std::fs::create_dir_all(tree.at("bin/sub")).unwrap();
        tree.bind(&["--farm", farm]);
        assert!(readelf("-d", &tree.app()).contains(text), "{}", readelf("-d", &tree.app()));
        let start = seen(&mut plain(&tree.app()));
        assert_eq!((start.printed.as_str(), start.failed.len()), (PRINTED, 0), "{farm}");
        tree.done(&["verify", "bin/app"]);
        tree.done(&["unbind", "--in-place", "bin/app"]);
        assert!(!tree.at(farm).exists(), "{farm}");
    }
    // By the program's folder, both move together.
    let tree = Tree::new();
    tree.bind(&["--farm", "links", "--farm-text", "origin"]);
    let moved = tree.root.with_file_name("moved");
    std::fs::rename(&tree.root, &moved).unwrap();
    let start = seen(&mut plain(&moved.join("bin/app")));
    assert_eq!((start.printed.as_str(), start.failed.len()), (PRINTED, 0));
}

#[test]
fn two_programs_do_not_share_a_folder() {
    let tree = Tree::new();
    super::scene::copy(&tree.app(), &tree.at("bin/other"));
    tree.bind(&["--farm", "links"]);
    let before = files_below(&tree.root);
    let (exit, _, stderr) = tree.said(&["bind", "--in-place", "bin/other", "--farm", "links"]);
    assert_eq!(exit, 2, "{stderr}");
    assert!(stderr.contains("links of another program") && stderr.contains("--farm"), "{stderr}");
    assert!(files_below(&tree.root) == before);
    let (exit, _, stderr) = tree.said(&["bind", "--in-place", "bin/app", "bin/other", "--farm", "links2"]);
    assert_eq!(exit, 2, "{stderr}");
    // A copy of a bound program follows the links of the first, and unbinding it leaves them there.
    super::scene::copy(&tree.app(), &tree.at("bin/copy"));
    assert_eq!(succeed(&mut plain(&tree.at("bin/copy"))), PRINTED);
    let (exit, stdout, stderr) = tree.said(&["unbind", "--in-place", "bin/copy"]);
    assert_eq!(exit, 0, "{stderr}");
    assert!(words(&stderr).contains("was not removed"), "{stdout}{stderr}");
    assert_eq!(tree.start(&[]), PRINTED);
    assert!(seen(&mut plain(&tree.app())).failed.is_empty());
}

#[test]
fn what_others_put_among_the_links_keeps_the_folder() {
    let tree = Tree::new();
    let original = super::scene::bytes(&tree.app());
    tree.bind(&[]);
    std::fs::write(tree.at("bin/.app.libs/mine"), "precious").unwrap();
    let (exit, _, stderr) = tree.said(&["bind", "--in-place", "--rebind", "bin/app"]);
    assert_eq!(exit, 2, "{stderr}");
    assert!(stderr.contains("mine` was not created by coldstart") && stderr.contains("move"), "{stderr}");
    let (exit, stdout, stderr) = tree.said(&["unbind", "--in-place", "bin/app"]);
    assert_eq!(exit, 0, "{stderr}");
    assert!(words(&stderr).contains("was not removed"), "{stdout}{stderr}");
    assert_eq!(std::fs::read(tree.at("bin/.app.libs/mine")).unwrap(), b"precious");
    assert!(super::scene::bytes(&tree.app()) == original && tree.start(&[]) == PRINTED);
}

#[test]
fn a_folder_that_is_asked_to_stay_stays() {
    let tree = Tree::new();
    tree.bind(&[]);
    tree.done(&["unbind", "--in-place", "--keep-farm", "bin/app"]);
    assert!(names(&tree.at("bin")).contains(&".app.libs".to_owned()));
    // Bound again, it is taken over.
    tree.bind(&[]);
    tree.done(&["unbind", "bin/app", "-o", "plain"]);
    assert!(tree.at("bin/.app.libs").exists());
    tree.done(&["unbind", "--in-place", "bin/app"]);
    assert_eq!(names(&tree.at("bin")), ["app"]);
}

#[test]
fn a_tree_that_is_read_only_is_left_alone() {
    let tree = Tree::new();
    let mount = |options: &[&str]| {
        std::process::Command::new("mount").args(options).output().is_ok_and(|output| output.status.success())
    };
    let root = tree.root.to_str().unwrap().to_owned();
    if !mount(&["--bind", &root, &root]) {
        return skip("nothing can be mounted here");
    }
    let readonly = mount(&["-o", "remount,bind,ro", &root]);
    let said = readonly.then(|| tree.said(&BIND));
    let elsewhere = super::scene::scratch();
    let out = elsewhere.path().join("app");
    let bound = readonly.then(|| tree.said(&["bind", "bin/app", "-o", out.to_str().unwrap()]));
    let printed = out.exists().then(|| succeed(&mut plain(&out)));
    succeed(std::process::Command::new("umount").arg(&root));
    let (Some((exit, _, stderr)), Some(bound)) = (said, bound) else { return skip("no read-only mounts here") };
    assert_eq!(exit, 2, "{stderr}");
    assert!(stderr.contains("ead-only") && stderr.contains("hint: "), "{stderr}");
    assert_eq!((bound.0, printed.as_deref()), (0, Some(PRINTED)), "{bound:?}");
}

#[test]
fn links_may_be_read_by_everybody_whatever_the_mask_is() {
    let tree = Tree::new();
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "umask 077; exec \"$0\" bind --in-place bin/app"]).arg(env!("CARGO_BIN_EXE_coldstart"));
    succeed(command.current_dir(&tree.root));
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &str| tree.at(path).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("bin/.app.libs"), mode("bin/.app.libs/.coldstart-farm"), mode("bin/app")), (0o755, 0o644, 0o755));
    permit(&tree.at("bin/.app.libs"), 0o755);
}
