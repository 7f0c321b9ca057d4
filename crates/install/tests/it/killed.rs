//! Killed at every system call that changes something: what stands at each place is whole, and a repair leads to one of two ends.
//!
//! `strace` sends SIGKILL at the entry of the n-th call of a kind, for each n until the program ends by itself.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use coldstart_testing::{is_there, skip, succeed};

use crate::scene::{scene, standing, transact};

/// Calls that change files, or say that they are on disk.
pub(crate) const CALLS: &[&str] = &[
    "mkdir",
    "write",
    "fsync",
    "fchmod",
    "chmod",
    "linkat",
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
    "rmdir",
    "symlink",
    "symlinkat",
    "utimensat",
    "fchown",
    "flock",
    "fsetxattr",
    "fremovexattr",
];
pub(crate) const MOST: u32 = 400;

/// Runs the example with these words, the directory behind the first, killed at the n-th of these calls. Whether it was killed.
pub(crate) fn killed(words: &[&str], scene: &Path, call: &str, number: u32) -> bool {
    let status = Command::new("strace")
        .args(["-f", "-q", "-o", "/dev/null", "-e", &format!("trace={call}")])
        .args(["-e", &format!("inject={call}:signal=SIGKILL:when={number}")])
        .arg(transact())
        .args(words.first())
        .arg(scene)
        .args(words.iter().skip(1))
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    !status.success()
}

fn run(action: &str, scene: &Path) {
    succeed(Command::new(transact()).arg(action).arg(scene));
}

fn is_recorded(scene: &Path) -> bool {
    scene.join("registry/app").exists()
}

pub(crate) fn strace_works() -> bool {
    let works = is_there("strace")
        && Command::new("strace").args(["-o", "/dev/null", "true"]).status().is_ok_and(|status| status.success());
    if !works {
        skip("strace cannot trace here");
    }
    works
}

/// Every file at a place is what stood there, or ours, whole.
fn all_is_whole(scene: &Path, before: &std::collections::BTreeMap<std::path::PathBuf, String>, when: &str) {
    for (path, what) in standing(scene) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let is_hidden = name.starts_with('.') || name.ends_with(".coldstart-link");
        let ours = format!("755 Written by coldstart: {}\n", path.display());
        assert!(
            is_hidden || what == "directory" || what == ours || before.get(&path) == Some(&what),
            "{when}: {} is {what}",
            path.display()
        );
    }
}

fn at_every_call(action: &str) {
    if !strace_works() {
        return;
    }
    let mut kills = 0;
    for call in CALLS {
        for number in 1..MOST {
            let scene = scene();
            let before = standing(scene.path());
            if action == "uninstall" {
                run("install", scene.path());
            }
            let when = format!("killed at {call} {number} of {action}");
            let was_killed = killed(&[action], scene.path(), call, number);
            all_is_whole(scene.path(), &before, &when);
            run("repair", scene.path());
            let is_there = is_recorded(scene.path());
            if is_there {
                // Complete: the kill came after the last manifest, or before the first.
                assert!(scene.path().join("places/new/deep").exists(), "{when}");
                let manifest = fs::read_to_string(scene.path().join("registry/app/manifest.json")).unwrap();
                assert!(manifest.contains("\"state\": \"installed\""), "{when}: {manifest}");
                assert_eq!(standing(scene.path()).len(), 5, "{when}: {:?}", standing(scene.path()));
                assert_eq!(index(scene.path()), ["first", "first"], "{when}");
                run("uninstall", scene.path());
            }
            assert_eq!(standing(scene.path()), before, "{when}");
            assert!(!is_recorded(scene.path()), "{when}");
            if !was_killed {
                break;
            }
            kills += 1;
        }
    }
    assert!(kills > 30, "killed {kills} times only");
}

#[test]
fn an_installation_killed_at_every_call_is_undone_or_complete() {
    at_every_call("install");
}

#[test]
fn a_removal_killed_at_every_call_is_completed_or_not_begun() {
    at_every_call("uninstall");
}

/// What the files of the installed index say.
fn index(scene: &Path) -> [String; 2] {
    let current = scene.join("registry/app/index/current");
    ["manifest", "python/data"].map(|name| fs::read_to_string(current.join(name)).unwrap())
}

#[test]
fn an_index_that_is_exchanged_is_the_old_or_the_new_one_at_every_kill() {
    if !strace_works() {
        return;
    }
    let mut kills = 0;
    for call in CALLS {
        for number in 1..MOST {
            let scene = scene();
            run("install", scene.path());
            let when = format!("killed at {call} {number} of reindex");
            let was_killed = killed(&["reindex"], scene.path(), call, number);
            let found = index(scene.path());
            assert!(found == ["first", "first"] || found == ["second", "second"], "{when}: {found:?}");
            run("repair", scene.path());
            assert_eq!(index(scene.path()), found, "{when}");
            assert!(!scene.path().join("registry/app/new.index").exists(), "{when}");
            run("uninstall", scene.path());
            assert!(!is_recorded(scene.path()), "{when}");
            if !was_killed {
                break;
            }
            kills += 1;
        }
    }
    assert!(kills > 10, "killed {kills} times only");
}

#[test]
fn two_at_once_leave_one_whole_installation() {
    let scene = scene();
    let before = standing(scene.path());
    let start = || Command::new(transact()).arg("install").arg(scene.path()).spawn().unwrap();
    let mut started: Vec<_> = (0..6).map(|_| start()).collect();
    for child in &mut started {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(standing(scene.path()).len(), 5);
    run("uninstall", scene.path());
    assert_eq!(standing(scene.path()), before);
}
