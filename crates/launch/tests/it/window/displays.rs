//! No display, several, and such that fail.

use std::process::Command;
use std::time::Duration;

use coldstart_launch::{CommandLine, DisplayError, End, LaunchError, LaunchOptions, launch};
use coldstart_testing::eventually;

use super::server::Server;
use super::{map_window, mapping, run_on, shortly};
use crate::common::{Marker, example, no_display_is_taken};

fn refused(readiness: &str, display: Option<&str>) -> (DisplayError, String) {
    let options = LaunchOptions {
        readiness: readiness.parse().unwrap(),
        environment: vec![("DISPLAY".into(), display.map(Into::into))],
        ..LaunchOptions::default()
    };
    let error = launch(&"true".parse().unwrap(), &options, None, &mut || panic!("it is not ready")).unwrap_err();
    let hint = error.hint().unwrap_or_default();
    match error {
        LaunchError::Display(error) => (error, hint),
        other => panic!("{other}"),
    }
}

#[test]
fn without_a_display_there_is_advice() {
    for display in [None, Some("")] {
        let (error, hint) = refused("window", display);
        assert!(matches!(error, DisplayError::None) && hint.contains("xvfb-run -a"), "{error} {hint}");
    }
}

#[test]
fn a_wrong_name_gets_an_answer_that_helps() {
    let (error, hint) = refused("window:7", None);
    assert_eq!(error.to_string(), "`7` does not name an X display");
    assert!(hint.contains("window::7"), "{hint}");
    assert!(matches!(refused("window", Some("nonsense")).0, DisplayError::Name { .. }));
}

#[test]
fn a_dead_display_is_named() {
    let Some(mut server) = Server::start(&[]) else { return };
    let display = server.display().to_owned();
    let _turn = no_display_is_taken();
    server.kill();
    for (readiness, own) in [(format!("window:{display}"), None), ("window".to_owned(), Some(display.as_str()))] {
        let (error, hint) = refused(&readiness, own);
        assert!(matches!(&error, DisplayError::Unreachable { .. }), "{error:?}");
        assert!(
            error.to_string().contains(&format!("`{display}`")) && hint.contains("/tmp/.X11-unix"),
            "{error} {hint}"
        );
    }
}

#[test]
fn a_screen_that_is_not_there_is_told() {
    let Some(server) = Server::start(&[]) else { return };
    let (error, _) = refused(&format!("window:{}.1", server.display()), None);
    assert!(
        matches!(&error, DisplayError::Unreachable { source, .. } if source.to_string().contains("screen")),
        "{error:?}"
    );
}

#[test]
fn a_display_may_ask_for_a_cookie() {
    let directory = tempfile::tempdir().unwrap();
    let cookies = directory.path().join("cookies");
    // One entry (Xau(3)): family (any), address, display number (any), protocol, cookie; all with a length before.
    let mut entry = vec![0xff, 0xff, 0, 0, 0, 0];
    for field in [&b"MIT-MAGIC-COOKIE-1"[..], &[7; 16]] {
        entry.extend(u16::try_from(field.len()).unwrap().to_be_bytes());
        entry.extend(field);
    }
    std::fs::write(&cookies, entry).unwrap();
    let Some(server) = Server::start(&["-auth", cookies.to_str().unwrap()]) else { return };
    let run = |authority: &std::path::Path| {
        let readiness = format!("window:{}", server.display());
        let mut command = Command::new(example());
        command.arg(readiness).arg(map_window()).arg("plain").env("XAUTHORITY", authority);
        command.output().unwrap()
    };
    assert!(run(&cookies).status.success());
    let refused = run(&directory.path().join("none"));
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{told}");
    assert!(
        told.contains(&format!("the X display `{}` refuses the connection: Authorization", server.display())),
        "{told}"
    );
}

#[test]
fn displays_are_told_apart() {
    let (Some(one), Some(other)) = (Server::start(&[]), Server::start(&[])) else { return };
    for (watched, own) in [(&one, &other), (&other, &one)] {
        assert!(run_on(own.display(), &mapping("plain"), |_| {}).is_shown());
        // A display that is named becomes the program's.
        let readiness: coldstart_launch::Readiness = format!("window:{}", watched.display()).parse().unwrap();
        let named = run_on(own.display(), &mapping("plain"), |options| options.readiness = readiness.clone());
        assert!(named.is_shown(), "{:?} {:?}", named.launched, named.said);
        // Unless it has a will of its own.
        let program = map_window();
        let words = ["-c", "DISPLAY=$0 exec \"$@\"", own.display(), program.to_str().unwrap(), "plain"];
        let elsewhere = run_on(own.display(), &CommandLine::new("sh", words), |options| {
            options.readiness = readiness;
            shortly(options);
        });
        assert_eq!((elsewhere.launched.end, elsewhere.launched.ready_after), (End::TimedOut, None));
    }
}

#[test]
fn a_display_that_ends_in_the_middle_is_an_error() {
    let Some(mut server) = Server::start(&[]) else { return };
    let display = server.display().to_owned();
    let marker = Marker::new();
    let options =
        LaunchOptions { time_limit: Some(Duration::from_secs(60)), ..marker.options(&format!("window:{display}")) };
    let error = std::thread::scope(|scope| {
        let launching = scope.spawn(|| launch(&"sleep 1000".parse().unwrap(), &options, None, &mut || {}).unwrap_err());
        eventually("the program", || !marker.processes().is_empty());
        server.kill();
        launching.join().unwrap()
    });
    marker.assert_nothing_left();
    assert!(matches!(&error, LaunchError::Display(DisplayError::Lost { .. })), "{error:?}");
    assert!(error.to_string().contains(&format!("`{display}` was lost")), "{error}");
}

#[test]
fn a_display_that_starts_afresh_after_each_launch_is_ready_for_the_next() {
    let Some(server) = Server::start(&["-reset"]) else { return };
    for _ in 0..20 {
        assert!(run_on(server.display(), &mapping("plain"), |_| {}).is_shown());
    }
}
