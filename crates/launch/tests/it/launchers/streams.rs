//! What a launcher hands on of its own: streams, terminal, environment.

use std::process::{Command, Stdio};

use crate::common::example;

#[test]
fn inherited_output_is_passed_on() {
    let output = Command::new(example())
        .args(["stdout:^b$", "sh", "-c", "echo a; echo b; exec sleep 1000"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "a\nb\n");
    assert!(output.status.success());
}

#[test]
fn a_program_may_read_from_our_terminal() {
    // In a process group of its own it would be in the background there, and stopped at its first read (SIGTTIN).
    let mut terminal = Command::new("script")
        .args(["--quiet", "--return", "--echo", "never", "--command"])
        .arg(format!("timeout --foreground 120 {} input:exit head -n 1", example().display()))
        .arg("/dev/null")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::io::Write::write_all(terminal.stdin.as_mut().unwrap(), b"typed by hand\n").unwrap();
    let output = terminal.wait_with_output().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && shown.contains("typed by hand"), "{output:?}");
}

#[test]
fn what_our_own_manager_told_us_is_not_handed_on() {
    let script = "test -z \"$WATCHDOG_USEC$WATCHDOG_PID$LISTEN_PID$LISTEN_FDS$LISTEN_FDNAMES\" \
        && test \"$NOTIFY_SOCKET\" != /no/such && systemd-notify --ready && exec sleep 1000";
    let output = Command::new(example())
        .args(["notify", "sh", "-c", script])
        .env("NOTIFY_SOCKET", "/no/such")
        .envs(["WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"].map(|name| (name, "1")))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}
