//! What the tests of real launches share.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use coldstart_host::process::{ProcessFiles, numbers};
use coldstart_launch::{CommandLine, LaunchOptions};
pub(crate) use coldstart_testing::script;
use coldstart_testing::{Ingredients, Turn, built};

/// The fixture program, built once.
pub(crate) fn behave() -> PathBuf {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/behave.c");
    let directory = built("behave", &Ingredients::new().file(source).program("cc"), |at| {
        let words = ["-O1", "-pthread", "-o", "behave", source];
        assert!(Command::new("cc").args(words).current_dir(at).status().unwrap().success());
    });
    directory.join("behave")
}

/// The example program.
pub(crate) fn example() -> PathBuf {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    coldstart_testing::example(env!("CARGO"), manifest, "launch")
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
        let is_guardian = |number: &u32| ProcessFiles::of(*number).name() == "guardian";
        let carries = |number: &u32| {
            ProcessFiles::of(*number).environment().iter().any(|entry| *entry == *wanted) && !is_guardian(number)
        };
        numbers().unwrap().into_iter().filter(carries).collect()
    }

    pub(crate) fn assert_nothing_left(&self) {
        assert_eq!(self.processes(), [] as [u32; 0], "processes were left behind");
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

/// As long as the result is kept, no test takes an X display. A server that begins takes the first number that is free, one that was
/// killed a moment ago among them; and two that begin at once may both clear away what that one left, and both take it.
pub(crate) fn no_display_is_taken() -> Turn {
    Turn::alone("displays")
}
