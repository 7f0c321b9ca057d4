//! Readiness by an HTTP answer: servers that are late, not ready yet, silent, broken.

use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use coldstart_launch::{CommandLine, End, LaunchError, LaunchOptions, Launched, launch};
use coldstart_testing::distinct_port;

use crate::common::{Marker, behaving, within_limits};

/// How long a program may take to come as far as a test wants it. All of it passes, because it never becomes ready.
const LIMITS: [Duration; 2] = [Duration::from_secs(3), Duration::from_secs(60)];
/// What is not answered within it, on a machine that stands still, is asked for again.
const PATIENCE: Duration = Duration::from_secs(3);

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/serve_http.py");

fn has_ipv6() -> bool {
    let there = TcpListener::bind("[::1]:0").is_ok();
    if !there {
        coldstart_testing::skip("there is no IPv6 here");
    }
    there
}

fn server(behaviour: &str, port: u16, log: &Path) -> CommandLine {
    CommandLine::new("python3", [SERVER.as_ref(), behaviour.as_ref(), port.to_string().as_ref(), log.as_os_str()])
}

struct Ran {
    launched: Launched,
    told: u32,
    requests: usize,
}

fn serve_at(port: u16, host: &str, behaviour: &str, change: impl FnOnce(&mut LaunchOptions)) -> Ran {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let marker = Marker::new();
    let mut options = marker.options(&format!("http://{host}:{port}/up?a=b"));
    options.time_limit = Some(Duration::from_secs(60));
    change(&mut options);
    let mut told = 0;
    let launched = launch(&server(behaviour, port, &log), &options, None, &mut || told += 1).unwrap();
    marker.assert_nothing_left();
    let requests = std::fs::read_to_string(log).unwrap_or_default().lines().count();
    Ran { launched, told, requests }
}

fn serve(behaviour: &str) -> Ran {
    serve_at(distinct_port("127.0.0.1"), "localhost", behaviour, |_| {})
}

fn assert_ready(ran: &Ran, requests: usize) {
    assert!(ran.launched.succeeded(), "{:?}", ran.launched);
    assert_eq!(ran.told, 1, "{:?}", ran.launched);
    let again = usize::try_from(ran.launched.elapsed.as_secs() / PATIENCE.as_secs()).unwrap();
    assert!((requests..=requests + again).contains(&ran.requests), "{} requests: {:?}", ran.requests, ran.launched);
    assert_eq!(ran.launched.last_seen, None);
}

#[test]
fn a_late_listener_is_awaited() {
    assert_ready(&serve("late"), 1);
}

#[test]
fn a_server_that_is_starting_is_asked_again() {
    assert_ready(&serve("warming"), 4);
}

#[test]
fn interim_answers_are_no_readiness() {
    assert_ready(&serve("hints"), 1);
}

#[test]
fn a_silent_server_is_asked_again() {
    assert_ready(&serve("silent-first"), 2);
}

#[test]
fn a_dripping_status_line_is_awaited() {
    assert_ready(&serve("drip"), 1);
}

#[test]
fn broken_answers_are_no_readiness() {
    assert_ready(&serve("garbage"), 7);
}

#[test]
fn headers_without_end_do_not_matter() {
    assert_ready(&serve("endless-headers"), 1);
}

#[test]
fn the_last_answer_before_the_end_counts() {
    assert_ready(&serve("last-answer"), 1);
}

#[test]
fn a_daemon_is_awaited() {
    let ran = serve("daemon");
    assert_ready(&ran, 1);
    assert_eq!(ran.launched.ended_processes, 1);
}

#[test]
fn a_server_on_ipv6_alone_is_found() {
    if has_ipv6() {
        let port = distinct_port("::1");
        assert_ready(&serve_at(port, "[::1]", "six", |_| {}), 1);
    }
}

#[test]
fn localhost_is_both_addresses() {
    if has_ipv6() {
        let port = distinct_port("::1");
        // The server wants another host than we name: that it answers at all is the point.
        let serve = |limit| serve_at(port, "localhost", "six", |options| options.time_limit = Some(limit));
        let has_answered = |ran: &Ran| ran.launched.last_seen.as_ref().unwrap().ends_with("answered with status 400");
        let ran = within_limits(&LIMITS, serve, has_answered);
        assert_eq!(ran.launched.end, End::TimedOut);
        assert!(has_answered(&ran), "{:?}", ran.launched);
    }
}

#[test]
fn redirects_are_no_readiness_and_are_told() {
    let port = distinct_port("127.0.0.1");
    let serve = |limit| serve_at(port, "localhost", "redirect", |options| options.time_limit = Some(limit));
    let ran = within_limits(&LIMITS, serve, |ran| ran.requests > 1);
    assert_eq!((ran.launched.end, ran.told), (End::TimedOut, 0));
    let seen = ran.launched.last_seen.unwrap();
    assert!(seen.contains("status 302") && seen.contains("not followed"), "{seen}");
    assert!(ran.requests > 1);
}

#[test]
fn a_program_that_never_listens_is_not_ready() {
    let port = distinct_port("127.0.0.1");
    let mut options = Marker::new().options(&format!("http://localhost:{port}/"));
    let launched = launch(&behaving(&["exit", "3"]), &options, None, &mut || panic!("not ready")).unwrap();
    assert_eq!((launched.end, launched.ready_after), (End::Exited(3), None));
    options.time_limit = Some(Duration::from_millis(200));
    let launched = launch(&behaving(&["sleep"]), &options, None, &mut || panic!("not ready")).unwrap();
    assert_eq!(launched.end, End::TimedOut);
    assert!(launched.last_seen.unwrap().ends_with(" accepted no connections"));
}

#[test]
fn a_port_in_use_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let options = Marker::new().options(&format!("http:http://localhost:{port}/"));
    let error = launch(&behaving(&["sleep"]), &options, None, &mut || panic!("not ready")).unwrap_err();
    assert!(matches!(error, LaunchError::PortInUse { address } if address.port() == port), "{error}");
}

#[test]
fn a_host_without_address_is_an_error() {
    let options = Marker::new().options("http://no-such-name.invalid/");
    let error = launch(&behaving(&["sleep"]), &options, None, &mut || panic!("not ready")).unwrap_err();
    assert!(matches!(&error, LaunchError::HostUnknown { host, .. } if host == "no-such-name.invalid"), "{error}");
}
