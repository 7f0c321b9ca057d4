//! Which program a command line starts: the same as by `env`, which asks the C library.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

/// What `words` print and how they end, started by `launcher` with `path` as PATH.
fn started(launcher: &[&str], words: &[&str], path: Option<&str>, directory: &Path) -> Output {
    let mut command = Command::new(launcher[0]);
    command.args(&launcher[1..]).args(words).current_dir(directory).env_remove("PATH");
    if let Some(path) = path {
        command.env("PATH", path);
    }
    command.output().unwrap()
}

fn write(path: &Path, text: &str, mode: u32) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Names with and without a slash, scripts with and without `#!`, files that may not be executed, directories of that name.
#[test]
fn the_same_program_is_started_as_by_env() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = scratch.path();
    write(&directory.join("first/plain"), "echo plain \"$0\" \"$@\"\n", 0o755);
    write(&directory.join("second/marked"), "#!/bin/sh\necho marked \"$0\" \"$@\"\n", 0o755);
    write(&directory.join("first/marked"), "#!/bin/sh\necho wrong\n", 0o644);
    write(&directory.join("first/locked"), "#!/bin/sh\necho wrong\n", 0o644);
    write(&directory.join("first/no_interpreter"), "#!/no/such/shell\n", 0o755);
    write(&directory.join("first/empty"), "", 0o755);
    write(&directory.join("here"), "#!/bin/sh\necho here \"$0\"\n", 0o755);
    fs::create_dir_all(directory.join("first/directory")).unwrap();
    write(&directory.join("second/directory"), "#!/bin/sh\necho a file\n", 0o755);
    let path = format!("{0}/first:/no/such/directory:{0}/here:{0}/second", directory.display());
    let with_here = format!("{path}:");
    let long = "x".repeat(300);
    let commands: &[&[&str]] = &[
        &["plain", "a", "b c"],
        &["first/plain", "a"],
        &["./first/plain"],
        &["marked", "x"],
        &["locked"],
        &["first/locked"],
        &["no_interpreter"],
        &["empty", "a"],
        &["directory"],
        &["first/directory"],
        &["here"],
        &["missing"],
        &["no/such/file"],
        &["here/file"],
        &["sh", "-c", "echo from the default path"],
        &[""],
        &[&long],
    ];
    for words in commands {
        for path in [Some(path.as_str()), Some(&with_here), Some(""), None] {
            let ours = started(&[env!("CARGO_BIN_EXE_coldstart-run"), "/dev/null", "--"], words, path, directory);
            let other = started(&["/usr/bin/env"], words, path, directory);
            assert_eq!(ours.status, other.status, "{words:?} {path:?}: {ours:?} {other:?}");
            assert_eq!(ours.stdout, other.stdout, "{words:?} {path:?}");
        }
    }
}
