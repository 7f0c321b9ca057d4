//! One launch, from the spawn to the last process reaped.
//!
//! Between the spawn and readiness this file does only what cannot be done before or after: no thread, no allocation,
//! one `poll`. Commands without [`Setup`] and without a private view are spawned by std with `posix_spawn`, which borrows our memory
//! (`CLONE_VFORK`) instead of copying our page tables; a `pre_exec` hook would make it fork.

use std::ffi::OsString;
use std::fs::File;
use std::io::IsTerminal;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::command_line::CommandLine;
use crate::error::LaunchError;
use crate::guard::{Covered, Guard};
use crate::interrupt::Interrupt;
use crate::launched::{End, Launched};
use crate::lookup::find_program;
use crate::options::{Input, LaunchOptions};
use crate::output::Output;
use crate::readiness::{Look, Watch, watch};
use crate::refusal::explain;
use crate::tree::Tree;

/// Changes a command before it is spawned, such as a hook that runs between fork and exec.
pub type Setup<'a> = &'a dyn Fn(&mut Command);

/// Launches in one process run one at a time: each would take the other's orphans for its own.
static LAUNCHING: Mutex<()> = Mutex::new(());

/// Interval of checks on the descendants after the first process's exit, while one of them may become ready.
const DESCENDANTS_INTERVAL: Duration = Duration::from_millis(10);

/// Starts the program, waits until it is ready, calls `at_ready`, and ends its remaining processes.
///
/// A program that crashes, or is not ready within the limit, is a result. With a readiness other than exit, a first
/// process that exits with code 0 counts as a daemon's starter: its descendants may still become ready.
///
/// Meanwhile this process is a subreaper. Its children that are new and in another process
/// group than ours count as the program's. Children that do not fit this rule must be started before.
///
/// # Errors
/// When the program cannot be started, or we are interrupted; started processes have been ended then, too.
pub fn launch(
    command_line: &CommandLine,
    options: &LaunchOptions,
    setup: Option<Setup<'_>>,
    at_ready: &mut dyn FnMut(),
) -> Result<Launched, LaunchError> {
    let _turn = LAUNCHING.lock().unwrap_or_else(PoisonError::into_inner);
    PreparedLaunch::new(command_line, options, setup)?.run_now(at_ready)
}

/// Starts a command beside a launch, such as a check of the program's work. It is killed when this process ends, as the program is.
/// In a process group of its own, what it leaves running is ended with the program.
///
/// # Errors
/// The kernel's.
pub fn spawn_beside(command: &mut Command) -> std::io::Result<Child> {
    let covered = Guard::of_process()?.map(Guard::cover);
    let _marked = covered.as_ref().and_then(Covered::hand_down);
    command.spawn()
}

/// A launch with all preparations done.
///
/// Looking a program up reads directories and its inode, and so does opening its standard streams: to measure a cold
/// start, prepare, then drop the caches, then [`run`](Self::run).
pub struct PreparedLaunch {
    command: Command,
    options: LaunchOptions,
    readiness: Box<dyn Watch>,
    shares_group: bool,
    guard: Option<Guard>,
}

impl PreparedLaunch {
    /// Finds the program and opens what its standard streams need.
    ///
    /// # Errors
    /// See [`launch`].
    pub fn new(
        command_line: &CommandLine,
        options: &LaunchOptions,
        setup: Option<Setup<'_>>,
    ) -> Result<Self, LaunchError> {
        let guard = Guard::of_process()
            .map_err(|error| LaunchError::system("start a process that ends the program if we are killed", error))?;
        let shares_group = options.input == Input::Inherit && std::io::stdin().is_terminal();
        let mut readiness = watch(&options.readiness, &options.output, options.working_directory.as_deref());
        let replaced = readiness.command_line(command_line)?;
        let mut command = command(replaced.as_ref().unwrap_or(command_line), options)?;
        if !shares_group {
            // Ctrl-C at the terminal then reaches only us, and we end the tree in order.
            command.process_group(0);
        }
        readiness.prepare(&mut command)?;
        if let Some(mounts) = &options.mounts {
            // Before other hooks: what it does is no call of the program.
            mounts.enter_with(&mut command);
        }
        if let Some(setup) = setup {
            setup(&mut command);
        }
        Ok(Self { command, options: options.clone(), readiness, shares_group, guard })
    }

    /// Starts it; from here on as [`launch`].
    ///
    /// # Errors
    /// See [`launch`].
    pub fn run(self, at_ready: &mut dyn FnMut()) -> Result<Launched, LaunchError> {
        let _turn = LAUNCHING.lock().unwrap_or_else(PoisonError::into_inner);
        self.run_now(at_ready)
    }

    fn run_now(self, at_ready: &mut dyn FnMut()) -> Result<Launched, LaunchError> {
        let Self { mut command, options, mut readiness, shares_group, guard } = self;
        if let Some(signal) = options.interrupt.as_ref().and_then(Interrupt::signal) {
            return Err(LaunchError::Interrupted { signal });
        }
        // Dropped after the tree, which it covers.
        let covered = guard.map(Guard::cover);
        let mut tree = Tree::before_launch(shares_group, guard.map(Guard::process))
            .map_err(|error| LaunchError::system("take charge of the program's processes", error))?;

        let marked = covered.as_ref().and_then(Covered::hand_down);
        let begin = Instant::now();
        let mut child = command
            .spawn()
            .map_err(|error| explain(command.get_program().as_ref(), options.working_directory.as_deref(), error))?;
        tree.launched(child.id());
        drop(marked);
        let outcome = wait_until_ready(&mut child, begin, &options, readiness.as_mut(), &mut tree)?;
        if matches!(outcome, Outcome::Ready { .. }) {
            at_ready();
        }
        // Before the tree is ended: what it does then is not part of the start, and ended processes have no counters.
        let counts = tree.counts();
        // Our ends of the program's pipes stay open until it has ended: a broken pipe would end it differently.
        tree.end(options.grace, options.interrupt.as_ref(), &mut || readiness.drain())?;
        readiness.drain();
        let status = tree.status().map_err(|error| LaunchError::system("learn how the program ended", error))?;
        if let Some(signal) = options.interrupt.as_ref().and_then(Interrupt::signal) {
            return Err(LaunchError::Interrupted { signal });
        }
        let (ready_after, elapsed, end) = outcome.judge(status, readiness.is_exit());
        Ok(Launched {
            process: child.id(),
            ready_after,
            elapsed,
            end,
            last_seen: if ready_after.is_none() { readiness.last_seen() } else { None },
            counts,
            usage: tree.usage(),
            ended_processes: tree.ended_count(),
            killed_processes: tree.killed_count(),
        })
    }
}

/// Why the wait ended, and how long after the beginning.
enum Outcome {
    Ready(Duration),
    /// It ended without ever becoming ready.
    Over(Duration),
    TimedOut(Duration),
    Interrupted(Duration),
}

impl Outcome {
    fn judge(&self, status: Option<ExitStatus>, is_exit: bool) -> (Option<Duration>, Duration, End) {
        let by_itself = || match status.map(|status| (status.code(), status.signal())) {
            Some((Some(code), _)) => End::Exited(code),
            Some((None, Some(signal))) => End::Signalled(signal),
            _ => End::Ended,
        };
        match *self {
            Self::Ready(after) if is_exit => (Some(after), after, by_itself()),
            Self::Ready(after) => (Some(after), after, End::Ended),
            Self::Over(after) => (None, after, by_itself()),
            Self::TimedOut(after) | Self::Interrupted(after) => (None, after, End::TimedOut),
        }
    }
}

/// The command for a command line, and its file, looked up in the program's `PATH`. `environment` is
/// set (or, with `None`, removed) on top of our own.
///
/// # Errors
/// When no program is found.
pub fn command_of(
    command_line: &CommandLine,
    environment: &[(OsString, Option<OsString>)],
    directory: Option<&Path>,
) -> Result<(Command, PathBuf), LaunchError> {
    let path = environment
        .iter()
        .rfind(|(name, _)| name == "PATH")
        .map_or_else(|| std::env::var_os("PATH"), |(_, value)| value.clone());
    let program = find_program(&command_line.program, path.as_deref(), directory)?;
    let mut command = Command::new(&program);
    // As a shell does: the name as typed, though the file was found elsewhere.
    command.arg0(&command_line.program).args(&command_line.arguments);
    for (name, value) in environment {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    if let Some(directory) = directory {
        command.current_dir(directory);
    }
    Ok((command, program))
}

fn command(command_line: &CommandLine, options: &LaunchOptions) -> Result<Command, LaunchError> {
    let directory = options.working_directory.as_deref();
    let (mut command, _) = command_of(command_line, &options.environment, directory)?;
    match &options.input {
        Input::Null => command.stdin(null("input")?),
        Input::Inherit => command.stdin(Stdio::inherit()),
        Input::File(_) => command.stdin(options.input.open()?.map_or_else(Stdio::null, Stdio::from)),
    };
    match &options.output {
        Output::Null => command.stdout(null("output")?).stderr(null("output")?),
        Output::Inherit => command.stdout(Stdio::inherit()).stderr(Stdio::inherit()),
        Output::File(path) => {
            let redirection = |source| LaunchError::Redirection { stream: "output", path: path.clone(), source };
            File::create(path).map_err(redirection)?;
            let file = File::options().append(true).open(path).map_err(redirection)?;
            command.stdout(file.try_clone().map_err(redirection)?).stderr(file)
        }
    };
    Ok(command)
}

/// Opened here, because std opens it only when it spawns, and a missing one then looks like a missing program.
fn null(stream: &'static str) -> Result<File, LaunchError> {
    let path = PathBuf::from("/dev/null");
    File::options().read(true).write(true).open(&path).map_err(|source| LaunchError::Redirection {
        stream,
        path,
        source,
    })
}

fn wait_until_ready(
    child: &mut Child,
    begin: Instant,
    options: &LaunchOptions,
    readiness: &mut dyn Watch,
    tree: &mut Tree,
) -> Result<Outcome, LaunchError> {
    let mut process: Option<OwnedFd> = Some(open_handle(child.id())?);
    readiness.started(child)?;
    loop {
        let limit = options.time_limit.map(|limit| limit.saturating_sub(begin.elapsed()));
        let descendants_only = process.is_none().then_some(DESCENDANTS_INTERVAL);
        let timeout = [limit, readiness.interval(), descendants_only].into_iter().flatten().min();
        let woken = wait(process.as_ref(), options.interrupt.as_ref(), readiness, timeout)?;
        let woken_at = Instant::now();
        let now = woken_at.saturating_duration_since(begin);
        if woken.interrupted {
            return Ok(Outcome::Interrupted(now));
        }
        let look = |readiness: &mut dyn Watch, descriptor_ready: bool, tree: &mut Tree| {
            let ready = readiness.look(Look { descriptor_ready, woken: woken_at, tree })?;
            Ok::<_, LaunchError>(ready.map(|moment| Outcome::Ready(moment.saturating_duration_since(begin))))
        };
        if let Some(ready) = look(readiness, woken.readiness, tree)? {
            return Ok(ready);
        }
        if woken.ended {
            let status = tree.status().map_err(|error| LaunchError::system("wait for the program", error))?;
            let Some(status) = status else { continue };
            if readiness.is_exit() {
                return Ok(if status.code().is_some() { Outcome::Ready(now) } else { Outcome::Over(now) });
            }
            // Its last output or file counts, although we notice its end first.
            if let Some(ready) = look(readiness, true, tree)? {
                return Ok(ready);
            }
            if !status.success() {
                return Ok(Outcome::Over(now));
            }
            process = None;
        }
        if process.is_none() {
            let alive =
                tree.is_alive().map_err(|error| LaunchError::system("look for the program's processes", error))?;
            if !alive {
                return Ok(look(readiness, true, tree)?.unwrap_or(Outcome::Over(now)));
            }
        }
        if options.time_limit.is_some_and(|limit| now >= limit) {
            return Ok(Outcome::TimedOut(now));
        }
    }
}

fn open_handle(number: u32) -> Result<OwnedFd, LaunchError> {
    let number = i32::try_from(number).ok().and_then(Pid::from_raw);
    let handle = number.ok_or(rustix::io::Errno::SRCH).and_then(|number| pidfd_open(number, PidfdFlags::empty()));
    handle.map_err(|error| LaunchError::system("get a handle on the program (pidfd_open, Linux 5.3)", error))
}

/// What ended a `poll`.
#[derive(Default)]
struct Woken {
    ended: bool,
    interrupted: bool,
    readiness: bool,
}

fn wait(
    process: Option<&OwnedFd>,
    interrupt: Option<&Interrupt>,
    readiness: &dyn Watch,
    timeout: Option<Duration>,
) -> Result<Woken, LaunchError> {
    // The end of the process stands in for missing descriptors, polled for no events.
    let descriptor = readiness.descriptor();
    let Some(filler) = process.map(AsFd::as_fd).or(descriptor).or(interrupt.map(AsFd::as_fd)) else {
        // Only the clock is left.
        std::thread::sleep(timeout.unwrap_or(DESCENDANTS_INTERVAL));
        return Ok(Woken::default());
    };
    let mut polled =
        [process.map(AsFd::as_fd), interrupt.map(AsFd::as_fd), descriptor].map(|descriptor| match descriptor {
            Some(descriptor) => PollFd::from_borrowed_fd(descriptor, PollFlags::IN),
            None => PollFd::from_borrowed_fd(filler, PollFlags::empty()),
        });
    let timeout = timeout.map(|limit| Timespec {
        tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(limit.subsec_nanos()),
    });
    match poll(&mut polled, timeout.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(LaunchError::system("wait for the program", error)),
    }
    let [ended, interrupted, ready] = polled.map(|polled| !polled.revents().is_empty());
    Ok(Woken {
        ended: process.is_some() && ended,
        interrupted: interrupt.is_some() && interrupted,
        readiness: descriptor.is_some() && ready,
    })
}
