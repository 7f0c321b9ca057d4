//! Undoing: what stood there comes back, and what others have edited stays.

use std::ffi::OsStr;
use std::fs;
use std::process::Command;

use coldstart_install::{InstallError, NoReplacer, Registry, uninstall};
use coldstart_testing::succeed;

use crate::scene::{scene, standing, transact};

#[test]
fn an_edited_place_stays_until_it_is_forced() {
    let scene = scene();
    let before = standing(scene.path());
    succeed(Command::new(transact()).arg("install").arg(scene.path()));
    let edited = scene.path().join("places/old");
    fs::write(&edited, "Written by coldstart, and edited\n").unwrap();
    let registry = Registry::new(&scene.path().join("registry"));
    let undone = uninstall(&registry, OsStr::new("app"), &NoReplacer, false).unwrap();
    assert_eq!(undone.edited, std::slice::from_ref(&edited));
    assert_eq!(fs::read_to_string(&edited).unwrap(), "Written by coldstart, and edited\n");
    // What it starts the program with is still there.
    assert!(scene.path().join("registry/app/start").exists());
    assert!(!scene.path().join("places/new").exists());
    let undone = uninstall(&registry, OsStr::new("app"), &NoReplacer, true).unwrap();
    assert!(undone.is_complete());
    assert_eq!(standing(scene.path()), before);
    let again = uninstall(&registry, OsStr::new("app"), &NoReplacer, true).unwrap_err();
    assert!(matches!(again, InstallError::NotInstalled { .. }) && again.hint().is_some());
}

#[test]
fn a_file_of_others_in_place_of_ours_stays_and_holds_nothing_up() {
    let scene = scene();
    succeed(Command::new(transact()).arg("install").arg(scene.path()));
    let theirs = scene.path().join("places/other");
    fs::write(&theirs, "theirs\n").unwrap();
    let registry = Registry::new(&scene.path().join("registry"));
    let undone = uninstall(&registry, OsStr::new("app"), &NoReplacer, false).unwrap();
    assert!(undone.is_complete() && undone.foreign == [theirs.clone()], "{undone:?}");
    assert_eq!(fs::read_to_string(&theirs).unwrap(), "theirs\n");
}

#[test]
fn a_manifest_of_a_later_version_is_refused_by_its_name_and_a_damaged_one_named() {
    let scene = scene();
    succeed(Command::new(transact()).arg("install").arg(scene.path()));
    let manifest = scene.path().join("registry/app/manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    let registry = Registry::new(&scene.path().join("registry"));
    fs::write(&manifest, text.replace("installed/1", "installed/2")).unwrap();
    let error = registry.read(OsStr::new("app")).unwrap_err();
    assert!(
        matches!(&error, InstallError::NewerManifest { schema, .. } if schema == "coldstart.installed/2"),
        "{error}"
    );
    for length in [0, 1, text.len() / 2, text.len() - 3] {
        fs::write(&manifest, &text[..length]).unwrap();
        let error = uninstall(&registry, OsStr::new("app"), &NoReplacer, true).unwrap_err();
        assert!(matches!(error, InstallError::Manifest { .. }), "{length}: {error}");
    }
    for name in ["", ".", "..", "a/b", ".lock"] {
        assert!(matches!(registry.installation(OsStr::new(name)), Err(InstallError::Name { .. })), "{name}");
    }
}
