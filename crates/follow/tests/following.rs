//! The event loop, on programs that make and lose processes and threads in all ways.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use coldstart_follow::{Birth, EventLoop, Following, Handler, Next, Origin, StopTimes, Stops, Waiting};
use coldstart_host::process::ProcessFiles;
use coldstart_sys::tracing::traced;
use coldstart_testing::compile;

/// Longer than any of these programs takes on a machine under load.
const DEADLINE: Duration = Duration::from_secs(120);

/// Writes down what it is told and holds it against what it was told before.
#[derive(Debug)]
struct Log {
    begin: Instant,
    /// Processes by thread, of those that live.
    living: BTreeMap<u32, u32>,
    processes: u64,
    threads: u64,
    orphans: u64,
    programs: u64,
    statuses: BTreeMap<u32, ExitStatus>,
    first: Option<u32>,
    /// How deep each process is in the tree, by what it took over.
    deepest: u64,
    depths: BTreeMap<u32, u64>,
    /// Following ends when so many processes are there.
    enough: u64,
}

impl Log {
    fn new() -> Self {
        Self {
            begin: Instant::now(),
            living: BTreeMap::new(),
            processes: 0,
            threads: 0,
            orphans: 0,
            programs: 0,
            statuses: BTreeMap::new(),
            first: None,
            deepest: 0,
            depths: BTreeMap::new(),
            enough: u64::MAX,
        }
    }

    fn first_code(&self) -> Option<i32> {
        self.statuses[&self.first.unwrap()].code()
    }
}

impl Handler for Log {
    type Heritage = u64;
    type End = &'static str;
    type Error = io::Error;

    const STOPS: Stops = Stops::Few;

    fn between_stops(&mut self, _: &Following) -> io::Result<Option<&'static str>> {
        if self.begin.elapsed() > DEADLINE {
            return Ok(Some("it took too long"));
        }
        Ok((self.processes >= self.enough).then_some("enough"))
    }

    fn heritage(&self, thread: u32) -> u64 {
        self.depths.get(&thread).copied().unwrap_or(0)
    }

    fn born(&mut self, following: &mut Following, birth: Birth<u64>) -> io::Result<()> {
        let Birth { thread, process, origin } = birth;
        assert_eq!(following.process_of(thread), Some(process));
        assert_eq!(self.living.insert(thread, process), None, "{thread} is born twice");
        let is_process = thread == process;
        self.threads += 1;
        self.processes += u64::from(is_process);
        let depth = match origin {
            Origin::First => {
                assert_eq!(self.first.replace(thread), None);
                0
            }
            Origin::Made { process: maker, heritage, .. } => {
                assert!(is_process || maker == process);
                heritage + u64::from(is_process)
            }
            Origin::Orphan { heritage } => {
                self.orphans += 1;
                heritage
            }
        };
        self.depths.insert(thread, depth);
        self.deepest = self.deepest.max(depth);
        Ok(())
    }

    fn executes(
        &mut self,
        following: &mut Following,
        thread: u32,
        former: Option<u32>,
    ) -> io::Result<Next<&'static str>> {
        self.programs += 1;
        let caller = former.unwrap_or(thread);
        assert_eq!(self.living.remove(&caller), Some(thread), "{caller} calls execve");
        let others: Vec<u32> = self
            .living
            .iter()
            .filter(|&(&number, &process)| process == thread && number != thread)
            .map(|(&number, _)| number)
            .collect();
        assert!(others.is_empty(), "{others:?} live on after execve");
        self.living.insert(thread, thread);
        assert_eq!(following.process_of(thread), Some(thread));
        Ok(Next::GoOn)
    }

    fn at_call(&mut self, _: &mut Following, _: u32) -> io::Result<Next<&'static str>> {
        panic!("no calls are asked for");
    }

    fn signalled(&mut self, _: &mut Following, thread: u32, signal: i32) -> io::Result<Next<&'static str>> {
        assert!(self.living.contains_key(&thread));
        Ok(Next::Deliver(signal))
    }

    fn paused(&mut self, _: &mut Following, thread: u32) {
        assert!(self.living.contains_key(&thread));
    }

    fn ended(&mut self, _: &Following, thread: u32, status: ExitStatus) -> Option<&'static str> {
        self.living.remove(&thread);
        self.statuses.insert(thread, status);
        None
    }

    fn failed(&mut self, _: &Following, thread: u32, error: io::Error) -> io::Result<()> {
        panic!("{thread}: {error}");
    }
}

struct Ended {
    log: Log,
    times: StopTimes,
    end: Option<&'static str>,
}

/// Follows a program with all it starts; what is left at the end is killed.
fn follow(program: &Path, arguments: &[&str], waiting: Waiting, log: Log) -> Ended {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let pending = traced(&mut command).unwrap();
    std::thread::scope(|scope| {
        let follower = scope.spawn(|| {
            let (tracer, first) = pending.seize().unwrap().unwrap();
            let mut events = EventLoop::new(tracer, first, waiting, log);
            let end = events.run();
            assert_eq!(events.kill_all(DEADLINE).unwrap(), [0; 0]);
            let (log, times) = events.into_parts();
            Ended { log, times, end: end.unwrap() }
        });
        let spawned = command.spawn();
        drop(command);
        let ended = follower.join().unwrap();
        // It has been reaped already.
        assert!(spawned.unwrap().wait().is_err());
        ended
    })
}

fn shell(script: &str, waiting: Waiting) -> Ended {
    follow(Path::new("/bin/sh"), &["-c", script], waiting, Log::new())
}

fn build(directory: &Path, source: &str) -> PathBuf {
    compile("gcc", &directory.join("program"), source, &["-O1", "-pthread"])
}

#[test]
fn each_process_is_born_once_and_ends() {
    for waiting in [Waiting::Blocking, Waiting::Polling] {
        let Ended { log, times, end } = shell("(exit 3) & (sh -c '(exit 4); exit 5'); wait; exit 7", waiting);
        assert_eq!((end, log.first_code(), log.orphans), (None, Some(7), 0));
        assert!(log.living.is_empty(), "{:?}", log.living);
        let codes: BTreeSet<Option<i32>> = log.statuses.values().map(|status| status.code()).collect();
        assert_eq!(codes, [3, 4, 5, 7].map(Some).into());
        assert!(log.processes >= 4 && log.deepest >= 2 && log.programs >= 2, "{log:?}");
        assert!(times.stops > log.processes && times.stopped > 0);
    }
}

#[test]
fn another_thread_than_the_first_becomes_the_program() {
    let directory = tempfile::tempdir().unwrap();
    let source = r#"
        #include <pthread.h>
        #include <unistd.h>
        static void *becomes(void *unused) { execl("/bin/sh", "sh", "-c", "(exit 3); exit 9", NULL); return unused; }
        static void *sleeps(void *unused) { pause(); return unused; }
        int main(int count, char **words) {
            pthread_t thread;
            for (int i = 0; i < 5; i++) pthread_create(&thread, NULL, sleeps, NULL);
            pthread_create(&thread, NULL, becomes, NULL);
            if (count > 1) pthread_exit(NULL);
            pause();
        }"#;
    let program = build(directory.path(), source);
    // With the first thread there, and without it.
    for arguments in [&[][..], &["end"]] {
        let Ended { log, end, .. } = follow(&program, arguments, Waiting::Blocking, Log::new());
        assert_eq!((end, log.first_code(), log.programs, log.processes), (None, Some(9), 2, 2));
        // A thread that was killed before it was first seen is not one of them.
        assert!((3..=8).contains(&log.threads) && log.orphans == 0, "{log:?}");
        assert!(log.living.is_empty(), "{:?}", log.living);
    }
}

/// Threads that make processes, one of which becomes another program meanwhile; and processes that are killed while they make others. Whoever
/// was made must run on.
#[test]
fn nobody_is_held_for_a_maker_that_is_gone() {
    let directory = tempfile::tempdir().unwrap();
    let source = include_str!("following/makers_gone.c");
    let program = build(directory.path(), source);
    let Ended { log, end, .. } = follow(&program, &[], Waiting::Blocking, Log::new());
    assert_eq!((end, log.first_code()), (None, Some(6)));
    assert!(log.living.is_empty(), "{:?}", log.living);
    assert!(log.processes > 100, "{}", log.processes);
    println!("{} of {} lost their maker before it told of them", log.orphans, log.processes);
}

#[test]
fn a_brother_of_its_maker_is_followed() {
    let directory = tempfile::tempdir().unwrap();
    let source = include_str!("following/brothers.c");
    let program = build(directory.path(), source);
    let Ended { log, end, .. } = follow(&program, &[], Waiting::Blocking, Log::new());
    assert_eq!((end, log.first_code(), log.processes), (None, Some(8), 31));
    assert!(log.living.is_empty(), "{:?}", log.living);
}

#[test]
fn what_is_left_is_killed() {
    let log = Log { enough: 4, ..Log::new() };
    let script = "sleep 1000 & setsid sleep 1000 & sleep 1000 & wait";
    let Ended { log, end, .. } = follow(Path::new("/bin/sh"), &["-c", script], Waiting::Polling, log);
    assert_eq!(end, Some("enough"));
    for process in log.living.keys() {
        let stat = ProcessFiles::of(*process).stat();
        assert!(stat.is_none_or(|stat| stat.first_thread_has_ended()), "{stat:?}");
    }
}
