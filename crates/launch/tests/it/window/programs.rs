//! Window managers, and programs of others.

use std::io::ErrorKind;
use std::os::unix::net::UnixListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use coldstart_launch::{CommandLine, launch};
use coldstart_testing::eventually;

use super::server::{Server, has};
use super::{map_window, mapping, run_on};
use crate::common::{Marker, script};

/// Ended when dropped.
struct Helper(Child);

impl Drop for Helper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_window_in_a_managers_frame_counts() {
    let Some(server) = Server::start(&[]) else { return };
    if !has("twm") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    // By default twm waits for the user to place each window.
    let settings = script(directory.path(), "twmrc", "RandomPlacement\n", 0o644);
    let manager = Command::new("twm")
        .arg("-f")
        .arg(settings)
        .env("DISPLAY", server.display())
        // In others it wants fonts for all their letters, and ends where they are not installed.
        .env("LC_ALL", "C")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let mut manager = Helper(manager.unwrap());
    eventually("the window manager", || server.is_managed());
    for mode in ["plain", "grandchild", "override-redirect"] {
        let outcome = run_on(server.display(), &mapping(mode), |_| {});
        assert!(outcome.is_shown(), "{mode}: {:?} {:?}", outcome.launched, outcome.said);
    }
    // And it was in a frame indeed.
    let marker = Marker::new();
    let options = marker.options(&format!("window:{}", server.display()));
    let mut seen = Vec::new();
    launch(&CommandLine::new(map_window(), ["plain"]), &options, None, &mut || seen = server.windows("map_window"))
        .unwrap();
    assert_eq!(manager.0.try_wait().unwrap(), None, "the window manager has ended");
    assert!(matches!(seen[..], [(_, false)]), "{seen:?}");
}

#[test]
fn a_gtk_program_is_kept_from_wayland() {
    let Some(server) = Server::start(&[]) else { return };
    if !has("zenity") {
        return;
    }
    // A compositor that answers nobody: whoever connects to it hangs.
    let runtime = tempfile::tempdir().unwrap();
    let compositor = UnixListener::bind(runtime.path().join("wayland-0")).unwrap();
    compositor.set_nonblocking(true).unwrap();
    let line = "zenity --info --text hello --title Greeting".parse().unwrap();
    let outcome = run_on(server.display(), &line, |options| {
        let variable = |name: &str, value: &std::path::Path| (name.into(), Some(value.into()));
        options.environment.push(variable("XDG_RUNTIME_DIR", runtime.path()));
        options.environment.push(variable("HOME", runtime.path()));
        options.environment.push(("WAYLAND_DISPLAY".into(), Some("wayland-0".into())));
    });
    assert!(outcome.launched.succeeded(), "{:?} {:?}", outcome.launched, outcome.said);
    assert_eq!(compositor.accept().unwrap_err().kind(), ErrorKind::WouldBlock, "it went to Wayland");
}

#[test]
fn firefox_shows_a_window() {
    let Some(server) = Server::start(&[]) else { return };
    if !has("firefox-esr") {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let profile = home.path().join("profile");
    std::fs::create_dir(&profile).unwrap();
    let mut line = CommandLine::new("firefox-esr", ["--no-remote", "--profile"]);
    line.arguments.push(profile.into());
    let mut names = 0;
    let marker = Marker::new();
    let mut options = marker.options(&format!("window:{}", server.display()));
    options.environment.push(("HOME".into(), Some(home.path().into())));
    options.time_limit = Some(Duration::from_secs(300));
    options.grace = Duration::from_secs(5);
    let launched = launch(&line, &options, None, &mut || names = server.windows("Mozilla Firefox").len()).unwrap();
    marker.assert_nothing_left();
    assert!(launched.succeeded() && names > 0, "{launched:?}, {names} windows with its name");
}
