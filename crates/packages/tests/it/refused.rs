//! What is refused, and leaves everything as it was.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use coldstart_packages::{PackageError, Replacement, recorded};
use coldstart_testing::succeed;

use crate::system::System;

const FILE: &str = "/usr/lib/file";

fn plan(system: &System, file: &str) -> Result<Replacement, PackageError> {
    Replacement::plan(&system.root(), &system.records(), Path::new(file), &system.beside("changed", "changed"))
}

#[test]
fn what_another_diverted_or_keeps_is_not_touched() {
    let Some(system) = System::new() else { return };
    system.install(&system.package("file", "1", FILE, b"one"));
    symlink("file", system.at("/usr/lib/link")).unwrap();
    assert!(matches!(plan(&system, "/usr/lib/link"), Err(PackageError::NotRegular(_))));
    assert!(matches!(plan(&system, "/usr/lib/none"), Err(PackageError::Io { .. })));
    std::fs::write(system.at("/usr/lib/.file.coldstart-original"), "of a user").unwrap();
    assert!(matches!(plan(&system, FILE), Err(PackageError::NameTaken(_))));
    std::fs::remove_file(system.at("/usr/lib/.file.coldstart-original")).unwrap();
    let root = format!("--root={}", system.root().display());
    succeed(Command::new("dpkg-divert").args([&root, "--no-rename", "--divert", "/usr/lib/x", "--add", FILE]));
    assert!(matches!(plan(&system, FILE), Err(PackageError::Diverted { .. })));
    assert_eq!(system.names("/usr/lib"), ["file", "link"]);
    assert_eq!(recorded(&system.root(), &system.records()).unwrap().len(), 0);
}

#[test]
fn a_file_that_changed_after_the_plan_stays() {
    let Some(system) = System::new() else { return };
    system.install(&system.package("file", "1", FILE, b"one"));
    let mut planned = plan(&system, FILE).unwrap();
    system.install(&system.package("file", "2", FILE, b"two"));
    let refused = planned.apply(&system.beside("changed", "changed"), &mut |_| {});
    assert!(matches!(refused, Err(PackageError::Foreign(_))));
    assert_eq!((&*system.read(FILE), &*system.diversions()), ("two", ""));
}

#[test]
fn a_replacement_that_a_user_overwrote_stays() {
    let Some(system) = System::new() else { return };
    std::fs::write(system.at(FILE), "one").unwrap();
    plan(&system, FILE).unwrap().apply(&system.beside("changed", "changed"), &mut |_| {}).unwrap();
    std::fs::write(system.at(FILE), "work of a user").unwrap();
    let replacement = recorded(&system.root(), &system.records()).unwrap().remove(0);
    assert!(matches!(replacement.undo(&mut |_| {}), Err(PackageError::Foreign(_))));
    assert_eq!(system.read(FILE), "work of a user");
    assert_eq!(system.read("/usr/lib/.file.coldstart-original"), "one");
}

#[test]
fn a_damaged_record_is_named() {
    let Some(system) = System::new() else { return };
    std::fs::create_dir_all(system.records()).unwrap();
    for content in ["", "{}", "{\"schema\": \"coldstart.replaced-file/2\"}"] {
        std::fs::write(system.records().join("x.replaced.json"), content).unwrap();
        let error = recorded(&system.root(), &system.records()).unwrap_err();
        assert!(error.to_string().contains("x.replaced.json"), "{error}");
    }
}
