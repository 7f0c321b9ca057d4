//! A user who may have no more processes, and threads count as such: what needs none works, the rest says so.

use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use coldstart_testing::{copy_program, is_root, skip};

use crate::text;

/// Nobody's number here: what others run as the same user would count.
const USER: &str = "61999";

#[test]
fn without_threads_all_is_done_in_one_and_nothing_panics() {
    if !is_root() {
        return skip("only root can become another user");
    }
    let directory = tempfile::tempdir().unwrap();
    set_permissions(directory.path(), Permissions::from_mode(0o777)).unwrap();
    let program = directory.path().join("coldstart");
    copy_program(env!("CARGO_BIN_EXE_coldstart"), &program);
    let works: [&[&str]; 5] = [
        &["inspect", "/bin/ls"],
        &["pack", "/bin/ls", "-o", "packed", "--force"],
        &["verify", "packed", "--against", "/bin/ls"],
        &["resolve", "/bin/ls"],
        &["doctor"],
    ];
    let starts: [&[&str]; 3] = [
        &["measure", "--state", "hot", "--runs", "2", "--no-history", "--", "/bin/true"],
        &["prefetch", "record", "-o", "plan", "--force", "--", "/bin/true"],
        &["trace", "-o", "trace", "--force", "--", "/bin/true"],
    ];
    for limit in 1..=6 {
        let said = |arguments: &[&str]| {
            let mut command = Command::new("setpriv");
            command.args(["--reuid", USER, "--regid", USER, "--clear-groups", "--inh-caps=-all", "--", "prlimit"]);
            command.arg(format!("--nproc={limit}")).arg(&program).args(arguments).current_dir(directory.path());
            let output = command.env("HOME", directory.path()).output().unwrap();
            let stderr = text(&output.stderr);
            assert!(!stderr.contains("panicked"), "{limit} {arguments:?}: {stderr}");
            (output.status.code(), stderr)
        };
        for arguments in works {
            let (code, stderr) = said(arguments);
            assert_eq!(code, Some(0), "{limit} {arguments:?}: {stderr}");
        }
        for arguments in starts {
            let (code, stderr) = said(arguments);
            let is_told = code == Some(2) && stderr.contains("limit of processes");
            assert!(is_told || (limit > 1 && matches!(code, Some(0..=2))), "{limit} {arguments:?}: {code:?} {stderr}");
        }
    }
}
