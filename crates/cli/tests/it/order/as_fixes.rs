//! Archives in the order of a start as a fix of `speedup`: tried in a private view, installed in place, undone.

use std::fs;
use std::process::{Command, Output, Stdio};

use coldstart_testing::{Turn, is_there, skip};
use serde_json::{Value, json};

use super::appimages;
use super::archives::{Scene, records_reads};
use crate::text;

/// A zip file with 2,000 entries, holes between them that are longer than the kernel reads ahead, and a program that reads them.
const MAKE: &str = r"
import zipfile, random
random.seed(3)
with zipfile.ZipFile('data.zip', 'w') as z:
    for n in range(2000):
        z.writestr('e%04d' % n, random.randbytes(3000))
        z.start_dir += 140000
open('read.py', 'w').write('''import zipfile, zlib
z = zipfile.ZipFile('data.zip')
print(zlib.crc32(b''.join(z.read('e%04d' % n) for n in range(1999, 0, -2))))
''')
";

/// Files of 4 kB, each behind another of 140 kB; the program reads the small ones.
const APP_DIR: &str = r#"
import os, random
random.seed(7)
os.makedirs('AppDir/d')
for n in range(400):
    open('AppDir/d/g%03d' % n, 'wb').write(random.randbytes(140000))
    open('AppDir/d/g%03d.used' % n, 'wb').write(random.randbytes(4000))
open('AppDir/AppRun', 'w').write('#!/bin/sh\ncd "$(dirname "$0")/d" && cat *.used | cksum\n')
os.chmod('AppDir/AppRun', 0o755)
"#;

/// A scene with a home of its own; `None` where trials cannot be made, with a reason printed.
fn scene() -> Option<Scene> {
    if !records_reads() {
        return None;
    }
    if let Err(error) = coldstart_sys::private_mounts::possible() {
        skip(&format!("no private view: {error}"));
        return None;
    }
    let scene = Scene::new();
    fs::create_dir(scene.path("home")).unwrap();
    Some(scene)
}

fn ours(scene: &Scene, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_coldstart"))
        .args(words)
        .env("HOME", scene.path("home"))
        .env_remove("XDG_DATA_HOME")
        .env_remove("XDG_CONFIG_HOME")
        .current_dir(scene.path(""))
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// What `speedup` tells of the fix alone.
#[track_caller]
fn story(scene: &Scene, options: &[&str], program: &[&str]) -> Value {
    // It makes files cold and counts what is read, also of the interpreter that others here start.
    let _turn = Turn::alone("page-cache");
    let words = ["speedup", "--fixes", "order", "--runs", "2", "--json", "-o", "plan.prefetch", "--force"];
    let output = ours(scene, &[&words[..], options, &["--"], program].concat());
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
}

fn advised(story: &Value, kind: &str) -> bool {
    story["advice"].as_array().unwrap().iter().any(|advice| advice["kind"] == kind)
}

#[test]
fn a_zip_file_is_put_into_order_in_place_and_restored() {
    let Some(scene) = scene() else { return };
    scene.done("python3", &["-c", MAKE]);
    let original = fs::read(scene.path("data.zip")).unwrap();
    let program = ["python3", "read.py"];
    let printed = scene.done("python3", &["read.py"]);

    let install = ["--install", "--anyway", "--user", "--name", "reader"];
    let installed = story(&scene, &install, &program);
    let prospect = &installed["prospects"][0];
    assert_eq!((&prospect["kind"], &prospect["applies"]), (&json!("order"), &json!(true)), "{installed:#}");
    let path = scene.path("data.zip");
    let changes = json!([{"path": path.to_str().unwrap(), "edits": ["order"]}]);
    let fix = &installed["fixes"][0];
    assert_eq!((&fix["changes"], &fix["proven"]), (&changes, &json!(true)), "{installed:#}");
    assert!(fix["findings"].to_string().contains("archive changed"), "{fix:#}");
    assert!(!advised(&installed, "order-zip"), "what is done is not advised: {installed:#}");
    assert_eq!(installed["installed"]["replaced_files"], json!([path.to_str().unwrap()]), "{installed:#}");
    assert!(fs::metadata(&path).unwrap().len() < original.len() as u64 / 10, "the holes are gone");
    assert_eq!(scene.physical("data.zip")[..3], ["e1999", "e1997", "e1995"]);
    assert_eq!(scene.done("python3", &["read.py"]), printed);
    let listed = ours(&scene, &["installed", "reader", "--user"]);
    assert!(listed.status.success() && text(&listed.stdout).contains("fresh"), "{}", text(&listed.stdout));
    let undone = ours(&scene, &["installed", "reader", "--uninstall", "--user"]);
    assert!(undone.status.success(), "{}", text(&undone.stderr));
    assert!(fs::read(&path).unwrap() == original, "it is not the original");
}

#[test]
fn an_appimage_that_is_mounted_is_tried_in_the_order_of_its_start() {
    let Some(scene) = scene() else { return };
    if !is_there("squashfuse") || !std::path::Path::new("/dev/fuse").exists() {
        return skip("no squashfuse, or no FUSE");
    }
    scene.done("python3", &["-c", APP_DIR]);
    appimages::make_mounting(&scene, "app", &["-noD", "-noF", "-no-fragments"]);
    let original = fs::read(scene.path("app")).unwrap();
    let mount = scene.path(".mount_appXyZ");
    fs::create_dir(&mount).unwrap();
    let tried = story(&scene, &[], &["./app", mount.to_str().unwrap()]);
    let path = scene.path("app");
    let changes = json!([{"path": path.to_str().unwrap(), "edits": ["order"]}]);
    assert_eq!((&tried["fixes"][0]["changes"], &tried["fixes"][0]["proven"]), (&changes, &json!(true)), "{tried:#}");
    assert!(!advised(&tried, "order-appimage"), "{tried:#}");
    assert!(fs::read(&path).unwrap() == original, "a trial changes nothing");
}
