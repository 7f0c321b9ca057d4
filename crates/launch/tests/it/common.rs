//! What the tests of real launches share.

#[path = "../written/mod.rs"]
mod written;

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use coldstart_launch::{CommandLine, LaunchOptions};
pub(crate) use written::script;

/// The fixture program, built once.
pub(crate) fn behave() -> &'static PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let program = directory.join("behave");
        // Built aside and renamed: several test binaries may do so at once, and may not overwrite a running program.
        let fresh = directory.join(format!("behave-{}", std::process::id()));
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/behave.c");
        let status = Command::new("cc").args(["-O1", "-pthread", "-o"]).arg(&fresh).arg(source).status().unwrap();
        assert!(status.success());
        std::fs::rename(&fresh, &program).unwrap();
        program
    })
}

/// The example program, brought up to date: `cargo test` with the name of a test does not build examples.
pub(crate) fn example() -> &'static PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let ours = std::env::current_exe().unwrap();
        let profile = ours.parent().unwrap().parent().unwrap();
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "--offline", "--example", "launch", "--manifest-path"]);
        build.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
        if profile.ends_with("release") {
            build.arg("--release");
        }
        assert!(build.status().unwrap().success());
        profile.join("examples/launch")
    })
}

pub(crate) fn behaving(words: &[&str]) -> CommandLine {
    CommandLine::new(behave(), words.iter().copied())
}

/// A variable in the environment of everything that one launch starts.
pub(crate) struct Marker(String);

impl Marker {
    const VARIABLE: &str = "COLDSTART_LAUNCH_TEST";

    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        Self(format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)))
    }

    pub(crate) fn pair(&self) -> (&'static str, &str) {
        (Self::VARIABLE, &self.0)
    }

    pub(crate) fn options(&self, readiness: &str) -> LaunchOptions {
        LaunchOptions {
            readiness: readiness.parse().unwrap(),
            environment: vec![(Self::VARIABLE.into(), Some(self.0.clone().into()))],
            time_limit: Some(Duration::from_secs(120)),
            grace: Duration::from_millis(300),
            ..LaunchOptions::default()
        }
    }

    /// Numbers of the living processes that carry the marker, zombies included. A launcher's guardian is none of the
    /// program's, and goes right after its launcher.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let wanted = format!("{}={}", Self::VARIABLE, self.0);
        let is_guardian =
            |number: &u32| std::fs::read(format!("/proc/{number}/comm")).is_ok_and(|name| name == b"guardian\n");
        let carries = |number: &u32| {
            std::fs::read(format!("/proc/{number}/environ"))
                .is_ok_and(|environment| environment.split(|&byte| byte == 0).any(|entry| entry == wanted.as_bytes()))
                && !is_guardian(number)
        };
        let number = |entry: std::fs::DirEntry| entry.file_name().to_str()?.parse().ok();
        std::fs::read_dir("/proc").unwrap().filter_map(|entry| number(entry.ok()?)).filter(carries).collect()
    }

    pub(crate) fn assert_nothing_left(&self) {
        assert_eq!(self.processes(), [] as [u32; 0], "processes were left behind");
    }
}

/// Waits until a condition holds; fails the test after two minutes.
pub(crate) fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < Duration::from_secs(120), "{what} did not come about");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// What a launch brings that is ended by its time limit, once the program came as far as it is asked for. Each limit is tried: the
/// first is enough on most machines, and one that stands still for seconds needs the last.
pub(crate) fn within_limits<T>(
    limits: &[Duration],
    launch: impl Fn(Duration) -> T,
    is_there: impl Fn(&T) -> bool,
) -> T {
    let (last, others) = limits.split_last().unwrap();
    others.iter().map(|&limit| launch(limit)).find(is_there).unwrap_or_else(|| launch(*last))
}

/// A port that was free a moment ago and is given to no other test, out of reach of connections' own ports: they begin at 32768.
pub(crate) fn distinct_port(address: &str) -> u16 {
    static GIVEN: Mutex<Vec<u16>> = Mutex::new(Vec::new());
    let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    let begin = 20_000 + u16::try_from(std::process::id() % 12_000).unwrap();
    let mut ports = (begin..32_768).chain(20_000..begin).filter(|port| !given.contains(port));
    let port = ports.find(|&port| TcpListener::bind((address, port)).is_ok()).unwrap();
    given.push(port);
    port
}

/// As long as the result is kept, no test takes an X display. A server that begins takes the first number that is free, one that was
/// killed a moment ago among them; and two that begin at once may both clear away what that one left, and both take it.
pub(crate) fn no_display_is_taken() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}
