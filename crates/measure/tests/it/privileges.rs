//! Without root, and interrupted.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use coldstart_host::process::{ProcessFiles, numbers};
use rustix::process::{Pid, Signal, kill_process};

use crate::{example, generated, skip, turn};

/// Runs the example as nobody; `None`, with the reason told, if that cannot be done here.
fn as_nobody(arguments: &[&str]) -> Option<Output> {
    if !rustix::process::geteuid().is_root() {
        skip("changing to another user needs root");
        return None;
    }
    // Where nobody may go, unlike many a build directory.
    let directory = tempfile::Builder::new().permissions(mode(0o755)).tempdir().unwrap();
    let program = directory.path().join("measure");
    // By another process: a descriptor of ours, open for writing, could be inherited by another test's child and keep the
    // file from being executed.
    assert!(Command::new("cp").arg(example()).arg(&program).status().unwrap().success());
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program).args(arguments);
    Some(command.current_dir("/").stdin(Stdio::null()).output().unwrap())
}

fn mode(mode: u32) -> std::fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(mode)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn cold_is_refused_with_advice() {
    let Some(output) = as_nobody(&["cold", "2", "-", "true"]) else { return };
    assert_eq!(output.status.code(), Some(2));
    let message = text(&output.stderr);
    assert!(message.contains("cannot start cold") && message.contains("hint: run as root"), "{message}");
}

#[test]
fn what_the_kernel_does_not_tell_is_said_to_be_unknown() {
    let _turn = turn();
    // Not /bin/true itself: a private copy of a file, readable to all and nobody's.
    let directory = tempfile::Builder::new().permissions(mode(0o755)).tempdir_in("/var/tmp").unwrap();
    let file: PathBuf = directory.path().join("file");
    std::fs::write(&file, vec![1; 1 << 20]).unwrap();
    std::fs::set_permissions(&file, mode(0o644)).unwrap();
    let name = file.to_str().unwrap();
    let Some(output) = as_nobody(&["selective,hot", "3", name, &format!("cat {name}")]) else { return };
    assert!(output.status.success(), "{}", text(&output.stderr));
    let message = text(&output.stderr);
    assert!(message.contains("the residency of 1 of its files is hidden"), "{message}");
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let samples = result["samples"].as_array().unwrap();
    // Evicting needs no privilege, only looking does: the bytes read tell that it worked.
    let read = |state: &str| {
        let of_state = samples.iter().filter(|sample| sample["state"] == state && sample["used"]["use"] == "counted");
        of_state.map(|sample| sample["bytes_read"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert!(read("selective").iter().all(|&bytes| bytes >= 1 << 20), "{:?}", read("selective"));
    assert!(read("hot").len() == 3 && read("hot").iter().all(|&bytes| bytes < 1 << 19), "{:?}", read("hot"));
}

#[test]
fn an_interrupted_measurement_leaves_nothing() {
    let file = generated(1);
    let marker = format!("COLDSTART_MEASURE_TEST={}", std::process::id());
    let (name, value) = marker.split_once('=').unwrap();
    let mut child = Command::new(example())
        .args(["hot", "3", file.path().to_str().unwrap(), "sh -c 'setsid sleep 1000 & sleep 1000'"])
        .env(name, value)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begin = std::time::Instant::now();
    while sleepers(&marker) < 2 {
        assert!(begin.elapsed().as_secs() < 120, "the program did not start");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(sleepers(&marker), 0);
}

/// Living processes named `sleep` that carry the marker in their environment.
fn sleepers(marker: &str) -> usize {
    let carries = |number: &u32| {
        let process = ProcessFiles::of(*number);
        process.name() == "sleep" && process.environment().iter().any(|entry| *entry == *marker)
    };
    numbers().unwrap().iter().filter(|number| carries(number)).count()
}
