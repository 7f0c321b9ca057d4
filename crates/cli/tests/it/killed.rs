//! A verb that is killed while its program runs leaves nothing of the program behind.

use std::ffi::OsStr;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use coldstart_host::process::{ProcessFiles, numbers};

/// In the environment of everything that one verb starts.
pub(crate) const VARIABLE: &str = "COLDSTART_KILLED_TEST";
/// Long enough for any machine; a test that waits so long has failed.
const DEADLINE: Duration = Duration::from_secs(120);

/// The command lines of living processes that carry the mark; zombies have none.
pub(crate) fn carriers(mark: &str) -> Vec<String> {
    let wanted = format!("{VARIABLE}={mark}");
    let line = |number: u32| {
        let process = ProcessFiles::of(number);
        let carries = process.environment().iter().any(|variable| *variable == *wanted);
        carries.then(|| process.arguments().join(OsStr::new(" ")).to_string_lossy().into_owned())
    };
    numbers().unwrap().into_iter().filter_map(line).filter(|line| !line.is_empty()).collect()
}

pub(crate) fn eventually(what: &str, mark: &str, mut holds: impl FnMut(&[String]) -> bool) {
    let begin = Instant::now();
    loop {
        let now = carriers(mark);
        if holds(&now) {
            return;
        }
        assert!(begin.elapsed() < DEADLINE, "{what} did not come about: {now:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn nothing_is_left_of_a_program_when_its_verb_is_killed() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let plan = folder.path().join("a.prefetch");
    let plan = plan.to_str().unwrap();
    // The second start never gets ready, so that the verb is killed during one that is not its first.
    let seen = folder.path().join("seen");
    let script =
        format!("setsid sleep 98765 & test -e {0} || {{ touch {0}; echo ready; }}; sleep 98765", seen.display());
    for (number, verb) in [
        &["measure", "--no-history", "--state", "hot", "--ready", "stdout:ready"][..],
        &["prefetch", "record", "-o", plan, "--ready", "stdout:never"],
        &["speedup", "-o", plan, "--ready", "stdout:never"],
    ]
    .into_iter()
    .enumerate()
    {
        let mark = format!("{}-{number}", std::process::id());
        let mut coldstart = Command::new(env!("CARGO_BIN_EXE_coldstart"))
            .args(verb)
            .args(["--grace", "0", "--", "sh", "-c", &script])
            .env(VARIABLE, &mark)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let sleepers = |lines: &[String]| lines.iter().filter(|line| line.starts_with("sleep ")).count();
        eventually("the program", &mark, |lines| {
            assert_eq!(coldstart.try_wait().unwrap(), None, "{verb:?} ended by itself");
            sleepers(lines) >= 2
        });
        coldstart.kill().unwrap();
        coldstart.wait().unwrap();
        eventually("the end of the program, and of what guards it", &mark, <[String]>::is_empty);
    }
}
