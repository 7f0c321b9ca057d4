//! Readiness by `sd_notify(3)`: services that talk much, from odd places, and one of Debian's own.

use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::time::Duration;

use coldstart_launch::{CommandLine, End, LaunchOptions, Launched, launch};
use coldstart_testing::{distinct_port, eventually};

use crate::common::Marker;

const SERVICE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/notify.py");

fn run(line: &CommandLine, change: impl FnOnce(&mut LaunchOptions)) -> Launched {
    let marker = Marker::new();
    let mut options = marker.options("notify");
    options.time_limit = Some(Duration::from_secs(60));
    change(&mut options);
    let mut told = 0;
    let launched = launch(line, &options, None, &mut || told += 1).unwrap();
    marker.assert_nothing_left();
    assert_eq!(told, u32::from(launched.ready_after.is_some()));
    launched
}

fn service(behaviour: &str, grace: u64) -> Launched {
    run(&CommandLine::new("python3", [SERVICE, behaviour]), |options| options.grace = Duration::from_secs(grace))
}

fn shell(script: &str) -> Launched {
    run(&CommandLine::new("sh", ["-c", script]), |_| {})
}

fn is_root(need: &str) -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        coldstart_testing::skip(&format!("{need} takes root"));
    }
    is_root
}

#[test]
fn a_script_notifies() {
    for words in ["--ready", "--ready --status=Up", "--ready --no-block", "--ready --pid=self"] {
        assert!(shell(&format!("systemd-notify {words} && exec sleep 1000")).succeeded(), "{words}");
    }
}

#[test]
fn all_is_taken_in_and_nobody_is_kept_waiting() {
    // It ends by itself when all its messages were read and its descriptors closed, before and after readiness.
    let launched = service("chatty", 60);
    assert!(launched.succeeded(), "{launched:?}");
    assert_eq!(launched.killed_processes, 0);
}

#[test]
fn huge_messages_count_by_their_whole_lines() {
    assert!(service("huge", 1).succeeded());
}

#[test]
fn a_daemon_notifies() {
    let launched = service("grandchild", 0);
    assert!(launched.succeeded(), "{launched:?}");
    assert_eq!(launched.killed_processes, 1);
}

#[test]
fn last_words_before_a_failure_count() {
    for _ in 0..10 {
        assert!(service("last-words", 1).succeeded());
    }
}

#[test]
fn a_failure_that_is_told_is_no_readiness() {
    let launched = service("failing", 1);
    assert_eq!((launched.end, launched.ready_after), (End::Exited(3), None));
    let seen = launched.last_seen.unwrap();
    assert!(seen.contains("STATUS=Cannot\\u{1b} read the configuration\\nERRNO=2"), "{seen}");
}

#[test]
fn a_stranger_is_not_heard() {
    let directory = tempfile::tempdir().unwrap();
    let [name, sent] = ["name", "sent"].map(|name| directory.path().join(name));
    let script = format!(
        "printf %s \"$NOTIFY_SOCKET\" >{0}.new; mv {0}.new {0}; while [ ! -e {1} ]; do sleep 0.05; done; exit 3",
        name.display(),
        sent.display()
    );
    let stranger = std::thread::spawn({
        let name = name.clone();
        move || {
            eventually("the name of the socket", || name.exists());
            let socket = UnixDatagram::unbound().unwrap();
            socket.send_to(b"READY=1", std::fs::read_to_string(&name).unwrap()).unwrap();
            std::fs::write(sent, "").unwrap();
        }
    });
    let launched = shell(&script);
    stranger.join().unwrap();
    assert_eq!((launched.end, launched.ready_after), (End::Exited(3), None));
    let seen = launched.last_seen.unwrap();
    assert!(seen.contains(&format!("process {}, which is not part of the launch", std::process::id())), "{seen}");
    let socket = std::fs::read_to_string(name).unwrap();
    assert!(!Path::new(&socket).parent().unwrap().exists(), "{socket} was left behind");
}

#[test]
fn the_socket_is_removed_after_failures_too() {
    let directory = tempfile::tempdir().unwrap();
    let name = directory.path().join("name");
    for end in ["systemd-notify --ready; exec sleep 1000", "exit 3", "kill -9 $$"] {
        shell(&format!("printf %s \"$NOTIFY_SOCKET\" >{}; {end}", name.display()));
        let socket = std::fs::read_to_string(&name).unwrap();
        assert!(socket.starts_with('/') && !Path::new(&socket).parent().unwrap().exists(), "{socket} was left behind");
    }
}

#[test]
fn a_service_without_root_notifies() {
    if is_root("to give up root") {
        let launched = shell(
            "setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs systemd-notify --ready && exec sleep 1000",
        );
        assert!(launched.succeeded(), "{launched:?}");
    }
}

#[test]
fn services_in_namespaces_notify() {
    if is_root("to make namespaces") {
        for namespaces in ["--net", "--mount", "--user --map-root-user", "--pid --fork --mount-proc"] {
            let launched = shell(&format!("exec unshare {namespaces} sh -c 'systemd-notify --ready; exec sleep 1000'"));
            assert!(launched.succeeded(), "{namespaces}: {launched:?}");
        }
    }
}

#[test]
fn what_the_caller_sets_for_the_program_is_handed_on() {
    let launched =
        run(&CommandLine::new("sh", ["-c", "test $WATCHDOG_USEC = 5 && systemd-notify --ready"]), |options| {
            options.environment.push(("WATCHDOG_USEC".into(), Some("5".into())));
        });
    assert!(launched.succeeded(), "{launched:?}");
}

#[test]
fn a_service_of_debian_notifies() {
    const UNIT: &str = "/lib/systemd/system/redis-server.service";
    let Ok(unit) = std::fs::read_to_string(UNIT) else {
        coldstart_testing::skip("redis-server is not installed");
        return;
    };
    assert!(unit.lines().any(|line| line == "Type=notify"));
    let command = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("redis.conf");
    std::fs::write(&config, "bind 127.0.0.1\nsave \"\"\n").unwrap();
    let port = distinct_port("127.0.0.1");
    let command = command.replace("/etc/redis/redis.conf", config.to_str().unwrap());
    let line: CommandLine = format!("{command} --dir {} --port {port}", directory.path().display()).parse().unwrap();
    let launched = run(&line, |options| options.grace = Duration::from_secs(30));
    assert!(launched.succeeded(), "{launched:?}");
    assert_eq!((launched.ended_processes, launched.killed_processes), (1, 0));
}
