//! Files that verbs write where the user says: no device, pipe or trace is replaced, and links are followed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

/// Ways to have the file `to` written; the program that is run for some of them makes the file `ran`.
const WAYS: &[&[&str]] = &[
    &["inspect", "/bin/true", "--svg", "to"],
    &["inspect", "/bin/true", "--html", "to"],
    &["measure", "--history", "--svg", "to"],
    &["pagecache", "save", "to", "file"],
    &["prefetch", "record", "--as-is", "-o", "to", "--", "touch", "ran"],
    &["speedup", "-o", "to", "--", "touch", "ran"],
];

/// Exit code, and what was said.
fn coldstart(folder: &Path, words: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart"));
    command.current_dir(folder).env("COLDSTART_HISTORY", folder.join("history.sqlite")).stdin(Stdio::null());
    let output = command.args(words).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// A folder with a file, and a measurement in its history.
fn scene() -> tempfile::TempDir {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    fs::write(folder.path().join("file"), [1; 5000]).unwrap();
    let (code, said) = coldstart(folder.path(), &["measure", "--state", "hot", "--runs", "2", "--", "true"]);
    assert_eq!(code, Some(0), "{said}");
    folder
}

#[test]
fn what_is_no_file_stays() {
    let scene = scene();
    let to = scene.path().join("to");
    assert!(Command::new("mkfifo").arg(&to).status().unwrap().success());
    for way in WAYS {
        let (code, said) = coldstart(scene.path(), way);
        assert_eq!(code, Some(2), "{way:?}: {said}");
        assert!(said.contains("cannot write `to`: it is no regular file\nhint: "), "{way:?}: {said}");
        assert!(to.symlink_metadata().unwrap().file_type().is_fifo(), "{way:?}");
        assert!(!scene.path().join("ran").exists(), "{way:?}: nothing is run for what cannot be written");
    }
}

#[test]
fn a_trace_stays() {
    let scene = scene();
    let to = scene.path().join("to");
    // As much of a trace as tells what it is.
    let mut trace = b"SQLite format 3\0".to_vec();
    trace.resize(68, 0);
    trace.extend_from_slice(b"cldt and more");
    fs::write(&to, &trace).unwrap();
    for way in WAYS {
        let (code, said) = coldstart(scene.path(), way);
        assert_eq!(code, Some(2), "{way:?}: {said}");
        assert!(said.contains("cannot write `to`: it is a trace"), "{way:?}: {said}");
        assert_eq!(fs::read(&to).unwrap(), trace, "{way:?}");
    }
}

#[test]
fn links_are_followed() {
    let scene = scene();
    let (to, real) = (scene.path().join("to"), scene.path().join("real"));
    symlink("real", &to).unwrap();
    // What speedup and a recording need is tried where they are; here it is about the file.
    for way in WAYS.iter().filter(|way| !way.contains(&"ran")) {
        let _ = fs::remove_file(&real);
        for _ in 0..2 {
            let (code, said) = coldstart(scene.path(), way);
            assert_eq!(code, Some(0), "{way:?}: {said}");
            assert!(to.is_symlink() && real.metadata().unwrap().len() > 0, "{way:?}");
        }
    }
}
