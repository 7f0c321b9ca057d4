//! Running tests, several at a time.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::binaries::Binary;
use super::hanging;
use super::queue::Queue;
use crate::kept_output::KeptOutput;

/// How long a process may take to end after it was killed. One that waits in the kernel may never end, and must not hold up the rest.
const LONGEST_END: Duration = Duration::from_secs(30);
/// How often it is looked whether a test has ended.
const PAUSE: Duration = Duration::from_millis(2);

/// One test.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Test<'a> {
    pub(super) binary: &'a Binary,
    pub(super) name: String,
}

impl Test<'_> {
    /// The first module of an integration test's name; `None` for unit tests.
    pub(super) fn module(&self) -> Option<&str> {
        let (module, _) = self.name.split_once("::")?;
        self.binary.is_integration.then_some(module)
    }
}

/// How a test went.
pub(super) struct Outcome<'a> {
    pub(super) test: Test<'a>,
    pub(super) took: Duration,
    /// Why it failed; `None` if it passed.
    pub(super) failure: Option<String>,
    /// What it printed.
    pub(super) output: String,
}

/// How tests are run.
pub(super) struct Running<'e> {
    pub(super) jobs: usize,
    pub(super) environment: &'e [(&'e str, &'e str)],
    pub(super) fail_fast: bool,
    /// A test that takes longer hangs, and is ended.
    pub(super) longest_test: Duration,
    /// No test begins after this, and those that still run are ended.
    pub(super) deadline: Instant,
}

impl Running<'_> {
    /// Runs tests, the first ones first, and hands on how each went, in the order in which they end.
    pub(super) fn run_all<'a>(&self, tests: Vec<Test<'a>>, mut each: impl FnMut(Outcome<'a>)) {
        let queue = Queue::new(tests);
        let stopped = AtomicBool::new(false);
        let (sender, outcomes) = channel();
        std::thread::scope(|scope| {
            for _ in 0..self.jobs {
                let (queue, stopped, sender) = (&queue, &stopped, sender.clone());
                scope.spawn(move || self.work(queue, stopped, &sender));
            }
            drop(sender);
            outcomes.iter().for_each(&mut each);
        });
    }

    fn work<'a>(&self, queue: &Queue<'a>, stopped: &AtomicBool, outcomes: &Sender<Outcome<'a>>) {
        while !stopped.load(Ordering::Relaxed) && Instant::now() < self.deadline {
            let Some(test) = queue.begin() else { return };
            let begin = Instant::now();
            let (failure, output) = self.run(&test).unwrap_or_else(|error| (Some(format!("{error:#}")), String::new()));
            queue.end(&test);
            if self.fail_fast && failure.is_some() {
                stopped.store(true, Ordering::Relaxed);
            }
            let _ = outcomes.send(Outcome { test, took: begin.elapsed(), failure, output });
        }
    }

    /// Why a test failed, if it did, and what it printed.
    fn run(&self, test: &Test<'_>) -> Result<(Option<String>, String)> {
        let output = KeptOutput::new()?;
        let mut command = test.binary.command();
        command.args(["--exact", &test.name, "--nocapture", "--test-threads", "1"]);
        command.envs(self.environment.iter().copied());
        command.stdout(output.stream()?).stderr(output.stream()?);
        let mut child =
            command.spawn().with_context(|| format!("cannot start {}", test.binary.executable.display()))?;
        let begin = Instant::now();
        let end = wait(&mut child, self.deadline.min(begin + self.longest_test))?;
        let text = output.text()?;
        let failure = match end {
            End::Killed(place) => Some(format!("it had not ended after {} s:\n{place}", begin.elapsed().as_secs())),
            End::Unkillable(place) => Some(format!("it hangs in the kernel and cannot be killed:\n{place}")),
            End::Exited(status) if !status.success() => Some(said(status)),
            // So that a name that the program does not take as we do is no success.
            End::Exited(_) if !text.contains("1 passed") => Some("it did not run".to_owned()),
            End::Exited(_) => None,
        };
        Ok((failure, text))
    }
}

/// How a process ended.
enum End {
    Exited(ExitStatus),
    /// It ran past its deadline: what it waited for.
    Killed(String),
    /// So did this one, and it still exists.
    Unkillable(String),
}

/// Waits for the end of a process, and kills it at the deadline.
fn wait(child: &mut Child, deadline: Instant) -> Result<End> {
    if let Some(status) = wait_until(child, deadline)? {
        return Ok(End::Exited(status));
    }
    let place = hanging::describe(child.id());
    child.kill()?;
    Ok(match wait_until(child, Instant::now() + LONGEST_END)? {
        Some(_) => End::Killed(place),
        None => End::Unkillable(place),
    })
}

/// Waits for the end of a process until the deadline, and leaves it alone then.
pub(super) fn wait_until(child: &mut Child, deadline: Instant) -> Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() > deadline {
            return Ok(None);
        }
        std::thread::sleep(PAUSE);
    }
}

fn said(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(101), _) => "it failed".to_owned(),
        (Some(code), _) => format!("it exited with code {code}"),
        (None, signal) => format!("signal {} ended it", signal.unwrap_or_default()),
    }
}
