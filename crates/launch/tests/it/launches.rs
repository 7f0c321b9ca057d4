//! Real launches of programs that behave, and of such that do not. What is asserted are outcomes and process lists; the
//! only times are limits that stop a hanging test.

use std::cell::RefCell;
use std::net::TcpListener;
use std::process::Command;
use std::time::Duration;

use coldstart_launch::{CommandLine, End, Input, LaunchError, LaunchOptions, Launched, Output, launch};
use coldstart_testing::distinct_port;

use crate::common::{Marker, behaving, script};

/// Launches, checks that nothing is left, and counts how often readiness was told.
fn run(words: &[&str], readiness: &str, change: impl FnOnce(&mut LaunchOptions)) -> (Launched, u32) {
    let marker = Marker::new();
    let mut options = marker.options(readiness);
    change(&mut options);
    let mut told = 0;
    let launched = launch(&behaving(words), &options, None, &mut || told += 1).unwrap();
    marker.assert_nothing_left();
    (launched, told)
}

#[test]
fn exit_codes_are_told() {
    for code in [0, 1, 42] {
        let (launched, told) = run(&["exit", &code.to_string()], "exit", |_| {});
        assert_eq!((launched.end, told), (End::Exited(code), 1));
        assert_eq!(launched.ready_after, Some(launched.elapsed));
        assert_eq!(launched.succeeded(), code == 0);
        assert_eq!((launched.ended_processes, launched.killed_processes), (0, 0));
    }
}

#[test]
fn death_by_a_signal_is_a_result_and_not_readiness() {
    let (launched, told) = run(&["signal", "11"], "exit", |_| {});
    assert_eq!((launched.end, launched.ready_after, told), (End::Signalled(11), None, 0));
    assert!(!launched.succeeded());
    assert_eq!(launched.end.to_string(), "was killed by signal 11");
}

#[test]
fn the_program_reads_the_end_of_file() {
    assert!(run(&["read"], "exit", |_| {}).0.succeeded());
    let directory = tempfile::tempdir().unwrap();
    let input = script(directory.path(), "input", "x", 0o644);
    assert_eq!(run(&["read"], "exit", |options| options.input = Input::File(input)).0.end, End::Exited(7));
}

#[test]
fn output_is_matched_over_chunk_borders() {
    let (launched, told) =
        run(&["chunks"], "stdout:^server is ready$", |options| options.grace = Duration::from_secs(60));
    assert_eq!((launched.end, told, launched.ended_processes), (End::Ended, 1, 1));
    assert!(launched.succeeded() && launched.killed_processes == 0);
}

#[test]
fn last_words_before_a_failure_count() {
    for _ in 0..20 {
        let (launched, told) = run(&["last-words"], "stdout:ready", |_| {});
        assert!(launched.succeeded() && told == 1, "{launched:?}");
    }
}

#[test]
fn an_end_without_the_sign_is_a_failed_run() {
    let (launched, told) = run(&["exit", "3"], "stdout:ready", |_| {});
    assert_eq!((launched.end, launched.ready_after, told), (End::Exited(3), None, 0));
    let (launched, _) = run(&["exit", "0"], "stdout:ready", |_| {});
    assert_eq!((launched.end, launched.ready_after), (End::Exited(0), None));
}

#[test]
fn output_behind_readiness_is_drained_and_kept() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("output");
    let (launched, _) = run(&["flood"], "stdout:ready", |options| {
        options.output = Output::File(file.clone());
        options.grace = Duration::from_secs(60);
    });
    assert_eq!(launched.killed_processes, 0, "it could write all it had");
    assert_eq!(std::fs::metadata(file).unwrap().len(), 6 + 2000 * 4096);
}

#[test]
fn both_streams_go_to_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("output");
    std::fs::write(&file, "old").unwrap();
    let options = LaunchOptions { output: Output::File(file.clone()), ..LaunchOptions::default() };
    launch(&"sh -c 'echo out; echo err >&2'".parse().unwrap(), &options, None, &mut || {}).unwrap();
    assert_eq!(std::fs::read_to_string(file).unwrap(), "out\nerr\n");
}

#[test]
fn an_open_port_is_readiness() {
    for behaviour in ["serve", "serve-daemon"] {
        let port = distinct_port("127.0.0.1").to_string();
        let (launched, told) = run(&[behaviour, &port], &format!("port:{port}"), |_| {});
        assert_eq!((launched.end, told, launched.ended_processes), (End::Ended, 1, 1), "{behaviour}");
    }
}

#[test]
fn an_open_port_on_ipv6_is_readiness() {
    if TcpListener::bind("[::1]:0").is_err() {
        coldstart_testing::skip("there is no IPv6 here");
        return;
    }
    let port = distinct_port("::1").to_string();
    assert!(run(&["serve6", &port], &format!("port:{port}"), |_| {}).0.succeeded());
}

#[test]
fn a_port_in_use_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let options = Marker::new().options(&format!("port:{port}"));
    let error = launch(&behaving(&["serve"]), &options, None, &mut || {}).unwrap_err();
    assert!(matches!(error, LaunchError::PortInUse { address } if address.port() == port), "{error}");
    assert!(error.hint().unwrap().contains("ss -ltnp"));
}

#[test]
fn a_server_that_cannot_bind_fails() {
    let port = distinct_port("127.0.0.1");
    let (launched, told) = run(&["exit", "3"], &format!("port:{port}"), |_| {});
    assert_eq!((launched.end, told), (End::Exited(3), 0));
}

#[test]
fn the_time_limit_ends_the_program() {
    for readiness in ["exit", "stdout:ready"] {
        let (launched, told) =
            run(&["sleep"], readiness, |options| options.time_limit = Some(Duration::from_millis(50)));
        assert_eq!((launched.end, launched.ready_after, told), (End::TimedOut, None, 0));
        assert!(launched.elapsed >= Duration::from_millis(50));
    }
}

#[test]
fn daemons_are_ended() {
    let (launched, _) = run(&["daemon"], "exit", |options| options.grace = Duration::from_secs(60));
    assert_eq!((launched.end, launched.ended_processes, launched.killed_processes), (End::Exited(0), 1, 0));

    let marker = Marker::new();
    let line: CommandLine = "sh -c 'setsid sleep 1000 & exec setsid -f sleep 1000'".parse().unwrap();
    let launched = launch(&line, &marker.options("exit"), None, &mut || {}).unwrap();
    marker.assert_nothing_left();
    assert_eq!(launched.ended_processes, 2);
}

#[test]
fn what_a_daemon_used_is_counted() {
    let (launched, _) = run(&["busy-daemon"], "exit", |_| {});
    assert_eq!(launched.end, End::Exited(0));
    assert!(launched.usage.user + launched.usage.system >= Duration::from_millis(150), "{:?}", launched.usage);
}

#[test]
fn those_who_ignore_sigterm_are_killed() {
    let (launched, _) = run(&["stubborn"], "stdout:ready", |_| {});
    assert_eq!((launched.end, launched.ended_processes, launched.killed_processes), (End::Ended, 2, 2));
}

#[test]
fn the_stopped_are_woken_to_end() {
    let (launched, _) = run(&["stopped"], "stdout:ready", |options| options.grace = Duration::from_secs(60));
    assert_eq!((launched.end, launched.killed_processes), (End::Ended, 0));
}

#[test]
fn a_storm_of_forks_is_ended() {
    let (launched, _) = run(&["fork-storm"], "stdout:ready", |_| {});
    assert!(launched.killed_processes > 0, "{launched:?}");
}

#[test]
fn other_children_are_left_alone() {
    use std::os::unix::process::CommandExt;
    // Before the launch and beside it; in our group and, before it, in one of its own. That one is started while no other
    // launch is under way, which would take it for its program's.
    let sleep = || {
        let mut sleep = Command::new("sleep");
        sleep.arg("1000");
        sleep
    };
    let before = RefCell::new(Vec::new());
    let setup = |_: &mut Command| {
        before.borrow_mut().extend([sleep().spawn().unwrap(), sleep().process_group(0).spawn().unwrap()]);
    };
    let mut beside = None;
    let marker = Marker::new();
    let launched = launch(&behaving(&["chunks"]), &marker.options("stdout:ready"), Some(&setup), &mut || {
        beside = Some(sleep().spawn().unwrap());
    })
    .unwrap();
    marker.assert_nothing_left();
    assert_eq!(launched.ended_processes, 1);
    for mut child in before.into_inner().into_iter().chain(beside) {
        assert_eq!(child.try_wait().unwrap(), None, "a child that is not the program's was ended");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

#[test]
fn a_setup_changes_the_command() {
    let setup = |command: &mut Command| {
        command.arg("5");
    };
    let launched = launch(&behaving(&["exit"]), &LaunchOptions::default(), Some(&setup), &mut || {}).unwrap();
    assert_eq!(launched.end, End::Exited(5));
}

#[test]
fn the_working_directory_and_variables_are_the_programs() {
    let directory = tempfile::tempdir().unwrap();
    script(directory.path(), "tool", "#!/bin/sh\n[ \"$A\" = 1 ] && [ -z \"$HOME\" ] && [ -f ./tool ]\n", 0o755);
    let options = LaunchOptions {
        environment: vec![("A".into(), Some("1".into())), ("HOME".into(), None)],
        working_directory: Some(directory.path().to_owned()),
        ..LaunchOptions::default()
    };
    let line = CommandLine::new("./tool", [] as [&str; 0]);
    assert_eq!(launch(&line, &options, None, &mut || {}).unwrap().end, End::Exited(0));
    let options = LaunchOptions { working_directory: Some("/no/such".into()), ..LaunchOptions::default() };
    let error = launch(&"sh".parse().unwrap(), &options, None, &mut || {}).unwrap_err();
    assert!(error.to_string().contains("`/no/such` as the working directory"), "{error}");
}

#[test]
fn refusals_say_what_is_wrong() {
    let directory = tempfile::tempdir().unwrap();
    let refused = |program: &std::path::Path| {
        let line = CommandLine::new(program, [] as [&str; 0]);
        launch(&line, &LaunchOptions::default(), None, &mut || panic!("it is not ready")).unwrap_err()
    };
    let absent = refused("coldstart-no-such-program".as_ref());
    assert!(matches!(&absent, LaunchError::NotFound { searched, .. } if !searched.is_empty()), "{absent}");
    assert!(matches!(refused(&directory.path().join("none")), LaunchError::NotFound { .. }));
    assert!(matches!(refused(directory.path()), LaunchError::IsDirectory { .. }));
    let text = script(directory.path(), "text", "echo hello\n", 0o755);
    assert!(matches!(refused(&text), LaunchError::UnknownFormat { is_text: true, .. }));
    let noise = script(directory.path(), "noise", [0, 1, 2, 3], 0o755);
    assert!(matches!(refused(&noise), LaunchError::UnknownFormat { is_text: false, .. }));
    let mode = script(directory.path(), "mode", "#!/bin/sh\n", 0o644);
    assert!(matches!(refused(&mode), LaunchError::NotExecutable { no_exec_mount: false, .. }));
    let interpreter = script(directory.path(), "interpreter", "#!/no/such/interpreter\n", 0o755);
    let error = refused(&interpreter);
    assert!(error.to_string().contains("`/no/such/interpreter`"), "{error}");
    assert!(error.hint().unwrap().contains("/no/such/interpreter"));
    // The same for a program: its PT_INTERP.
    let mut program = std::fs::read(crate::common::behave()).unwrap();
    let at = program.windows(8).position(|window| window == b"ld-linux").unwrap();
    program[at] = b'X';
    let error = refused(&script(directory.path(), "program", program, 0o755));
    assert!(
        matches!(&error, LaunchError::BadInterpreter { interpreter, .. }
        if interpreter.to_string_lossy().contains("Xd-linux")),
        "{error}"
    );
}

#[test]
fn an_error_while_the_program_runs_leaves_nothing() {
    let marker = Marker::new();
    let options = marker.options("stdout:ready");
    let panicked = std::panic::catch_unwind(|| {
        let _ = launch(&behaving(&["stubborn"]), &options, None, &mut || panic!("the caller's own failure"));
    });
    assert!(panicked.is_err());
    marker.assert_nothing_left();
}
