//! What an `unbind` leaves that ends after it has restored the program and before the links are gone: the next run removes it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use coldstart_testing::{is_root, one_line, succeed};

use super::scene::{PRINTED, Tree, bytes, copy, names};

const FARM: &str = "bin/.app.libs";
const UNBIND: [&str; 3] = ["unbind", "--in-place", "bin/app"];

/// A tree whose program was bound and is not any more, but its links are there.
fn left() -> Tree {
    let tree = Tree::new();
    tree.bind(&[]);
    tree.done(&["unbind", "--keep-farm", "--in-place", "bin/app"]);
    tree
}

fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

fn is_refused(tree: &Tree, arguments: &[&str]) {
    let (exit, _, stderr) = tree.said(arguments);
    assert_eq!(exit, 1, "{arguments:?}: {stderr}");
}

#[test]
fn unbinding_again_removes_what_was_left() {
    let temporary = "bin/..app.libs.coldstart-links.4194999";
    for now in [FARM, temporary] {
        let tree = left();
        fs::rename(tree.at(FARM), tree.at(now)).unwrap();
        let original = bytes(&tree.app());
        // Elsewhere, or where they are to stay, nothing is removed.
        is_refused(&tree, &["unbind", "bin/app", "-o", "elsewhere"]);
        is_refused(&tree, &["unbind", "--keep-farm", "--in-place", "bin/app"]);
        let (exit, report) = tree.json(&["unbind", "--in-place", "bin/app", "--json"]);
        assert_eq!((exit, &report["files"][0]["outcome"]), (0, &"cleared".into()), "{report:#}");
        assert_eq!(names(&tree.at("bin")), ["app"], "{now}");
        assert!(bytes(&tree.app()) == original);
        is_refused(&tree, &UNBIND);
    }
    let tree = left();
    let text = one_line(&tree.done(&UNBIND));
    assert!(text.contains("is not bound") && text.contains("was removed"), "{text}");
    // Moved with the program: while it stands under its name, and while it is being removed.
    for now in [".app.libs", "..app.libs.coldstart-links.4194999"] {
        let tree = left();
        fs::rename(tree.at("bin"), tree.at("moved")).unwrap();
        fs::rename(tree.at("moved/.app.libs"), tree.at("moved").join(now)).unwrap();
        tree.done(&["unbind", "--in-place", "moved/app"]);
        assert_eq!(names(&tree.at("moved")), ["app"], "{now}");
    }
    // Copied with the program, whose original stays as it is.
    let tree = left();
    succeed(Command::new("cp").arg("-a").arg(tree.at("bin")).arg(tree.at("copied")));
    fs::rename(tree.at("copied/.app.libs"), tree.at("copied/..app.libs.coldstart-links.4194999")).unwrap();
    tree.done(&["unbind", "--in-place", "copied/app"]);
    assert_eq!(names(&tree.at("copied")), ["app"]);
    assert!(tree.at(FARM).join("libfirst.so").exists());
    // In a directory, too.
    let tree = left();
    let text = tree.done(&["unbind", "--in-place", "bin"]);
    assert!(text.contains("earlier runs had left of 1 file"), "{text}");
    assert_eq!(names(&tree.at("bin")), ["app"]);
}

#[test]
fn binding_in_another_way_removes_what_was_left() {
    let tree = left();
    tree.bind(&["--mode", "absolute"]);
    assert_eq!(names(&tree.at("bin")), ["app"]);
}

#[test]
fn what_others_need_or_wrote_stays() {
    let tree = left();
    // The directory of another program, under this one's name.
    copy(&tree.app(), &tree.at("bin/other"));
    fs::rename(tree.at(FARM), tree.at("bin/.other.libs")).unwrap();
    is_refused(&tree, &["unbind", "--in-place", "bin/other"]);
    assert!(tree.at("bin/.other.libs/libfirst.so").exists());
    // Without its note, a bound program still needs its links.
    let bound = left();
    bound.bind(&[]);
    if succeeds(Command::new("objcopy").arg("--remove-section=.note.coldstart").arg(bound.app())) {
        is_refused(&bound, &UNBIND);
        assert_eq!(bound.start(&[]), PRINTED);
    }
    // One to which somebody has added a file.
    fs::rename(tree.at("bin/.other.libs"), tree.at(FARM)).unwrap();
    fs::write(tree.at("bin/.app.libs/mine"), "precious").unwrap();
    let (exit, _, stderr) = tree.said(&UNBIND);
    assert!(exit == 0 && stderr.contains("was not removed"), "{exit}: {stderr}");
    assert!(tree.at("bin/.app.libs/mine").exists() && tree.at("bin/.app.libs/libfirst.so").exists());
}

/// A directory that cannot be renamed, because something is mounted on it.
struct Fixed(PathBuf);

impl Fixed {
    fn new(directory: &Path) -> Self {
        succeed(Command::new("mount").arg("--bind").arg(directory).arg(directory));
        Self(directory.to_owned())
    }
}

impl Drop for Fixed {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

#[test]
fn links_that_cannot_be_removed_are_told() {
    if !is_root() {
        return;
    }
    let tree = Tree::new();
    let original = bytes(&tree.app());
    for (targets, json) in [("bin/app", false), ("bin", false), ("bin/app", true)] {
        tree.bind(&[]);
        let fixed = Fixed::new(&tree.at(FARM));
        let arguments = ["unbind", "--in-place", targets, "--json"];
        let (exit, stdout, stderr) = tree.said(&arguments[..if json { 4 } else { 3 }]);
        assert_eq!(exit, 2, "{stdout}{stderr}");
        let said = one_line(&stderr);
        assert!(said.contains("error: cannot remove the link directory `"), "{stderr}");
        assert!(said.contains(".app.libs") && said.contains("hint: the program is restored"), "{stderr}");
        assert!(said.contains("coldstart unbind --in-place") && said.contains("bin/app"), "{stderr}");
        assert!(!json || stdout.contains("\"cannot remove the link directory"), "{stdout}");
        assert!(bytes(&tree.app()) == original);
        drop(fixed);
        tree.done(&UNBIND);
        assert_eq!(names(&tree.at("bin")), ["app"]);
    }
}
