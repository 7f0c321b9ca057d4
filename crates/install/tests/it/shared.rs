//! Files that several installations write alike, also when one of them is killed at any moment.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

use coldstart_install::{FileState, InstallError, NoReplacer, Registry, uninstall};
use coldstart_testing::succeed;

use crate::killed::{CALLS, MOST, killed, strace_works};
use crate::scene::{scene, standing, transact};

fn run(action: &str, scene: &Path, name: &str) {
    succeed(Command::new(transact()).arg(action).arg(scene).arg(name));
}

fn shared_text(scene: &Path) -> Option<String> {
    fs::read_to_string(scene.join("places/units/wants/unit")).ok()
}

/// Every installation that is recorded has its shared files as it recorded them, and without one there are none.
fn records_agree(scene: &Path, when: &str) {
    let found = Registry::new(&scene.join("registry")).list().unwrap();
    for found in &found {
        let manifest = found.manifest.as_ref().unwrap().as_ref().unwrap();
        assert_eq!(manifest.shared_files().count(), 2, "{when}");
        for file in manifest.shared_files() {
            assert_eq!(file.state(), FileState::Ours, "{when}: {:?} of {:?}", file, found.name);
        }
    }
    assert_eq!(shared_text(scene).is_some(), !found.is_empty(), "{when}");
}

#[test]
fn the_first_writes_and_the_last_removes() {
    let scene = scene();
    let before = standing(scene.path());
    run("install", scene.path(), "one");
    assert_eq!(shared_text(scene.path()).as_deref(), Some("Written by coldstart: shared, last by one\n"));
    for name in ["two", "three"] {
        run("install", scene.path(), name);
        records_agree(scene.path(), name);
    }
    assert_eq!(shared_text(scene.path()).as_deref(), Some("Written by coldstart: shared, last by three\n"));
    // Installed again, it is undone first.
    run("install", scene.path(), "one");
    for name in ["one", "three", "two"] {
        records_agree(scene.path(), name);
        run("uninstall", scene.path(), name);
    }
    assert_eq!(standing(scene.path()), before);
}

/// Kills the action on `two` at every call, with or without another installation that shares its files.
fn at_every_call(action: &str, with_other: bool) {
    if !strace_works() {
        return;
    }
    let mut kills = 0;
    for call in CALLS {
        for number in 1..MOST {
            let scene = scene();
            let before = standing(scene.path());
            if with_other {
                run("install", scene.path(), "one");
            }
            if action == "uninstall" {
                run("install", scene.path(), "two");
            }
            let when = format!("killed at {call} {number} of {action}");
            let was_killed = killed(&[action, "two"], scene.path(), call, number);
            let whole = shared_text(scene.path());
            assert!(whole.is_none_or(|text| text.starts_with("Written") && text.ends_with('\n')), "{when}");
            run("repair", scene.path(), "two");
            records_agree(scene.path(), &when);
            for name in ["one", "two"] {
                if scene.path().join("registry").join(name).exists() {
                    run("uninstall", scene.path(), name);
                }
                records_agree(scene.path(), &when);
            }
            assert_eq!(standing(scene.path()), before, "{when}");
            if !was_killed {
                break;
            }
            kills += 1;
        }
    }
    assert!(kills > 10, "killed {kills} times only");
}

#[test]
fn one_of_two_is_installed_and_killed_at_every_call() {
    at_every_call("install", true);
}

#[test]
fn one_of_two_is_removed_and_killed_at_every_call() {
    at_every_call("uninstall", true);
}

#[test]
fn the_only_one_is_removed_and_killed_at_every_call() {
    at_every_call("uninstall", false);
}

#[test]
fn what_others_put_there_is_refused_and_an_edited_unit_stays_until_it_is_forced() {
    let scene = scene();
    let unit = scene.path().join("places/units/unit");
    fs::create_dir(unit.parent().unwrap()).unwrap();
    fs::write(&unit, "theirs\n").unwrap();
    let output = Command::new(transact()).args(["install".as_ref(), scene.path().as_os_str(), "one".as_ref()]).output();
    let said = String::from_utf8_lossy(&output.unwrap().stderr).into_owned();
    assert!(said.contains("something else stands there"), "{said}");
    assert!(!scene.path().join("registry/one").exists());
    assert_eq!(fs::read_to_string(&unit).unwrap(), "theirs\n");
    fs::remove_file(&unit).unwrap();
    run("install", scene.path(), "one");
    fs::write(&unit, "Written by coldstart, and edited\n").unwrap();
    let registry = Registry::new(&scene.path().join("registry"));
    let undone = uninstall(&registry, OsStr::new("one"), &NoReplacer, false).unwrap();
    assert_eq!(undone.edited, std::slice::from_ref(&unit));
    assert!(scene.path().join("registry/one/manifest.json").exists() && unit.exists());
    assert!(uninstall(&registry, OsStr::new("one"), &NoReplacer, true).unwrap().is_complete());
    assert!(!unit.exists());
    assert!(matches!(
        uninstall(&registry, OsStr::new("one"), &NoReplacer, true),
        Err(InstallError::NotInstalled { .. })
    ));
}
