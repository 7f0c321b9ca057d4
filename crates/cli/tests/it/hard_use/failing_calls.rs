//! A disk that is full, or breaks, at each call in turn: the command says which file and why, and everything is as it was.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use coldstart_testing::{Turn, is_root, skip};
use fuser::Errno;

use super::disk::{Change, Watcher, show, through};
use super::readers::damage;
use super::room::{Room, Usual, is_temporary, succeeded, told};
use super::writers::{OUT, Writer, writers};
use super::{Count, asked};

/// How a disk fails.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Failure {
    /// From one call on there is no room.
    Full,
    /// One call is an I/O error.
    Broken,
}

/// A disk that fails at a call.
struct Failing {
    failure: Failure,
    /// From 1.
    at: usize,
    seen: AtomicUsize,
    refused: Mutex<Vec<Change>>,
}

impl Failing {
    fn at(failure: Failure, at: usize) -> Arc<Self> {
        Arc::new(Self { failure, at, seen: AtomicUsize::new(0), refused: Mutex::default() })
    }
}

impl Watcher for Failing {
    fn may(&self, change: &Change) -> Result<(), Errno> {
        let takes_room = matches!(change, Change::Create { .. } | Change::Write { .. } | Change::Reserve { .. });
        // What cannot be removed stays. Directories of links are given a temporary name before.
        let removes = match change {
            Change::Remove { .. } => true,
            Change::Rename { to, .. } => is_temporary(Path::new(&to.1)),
            _ => false,
        };
        // The program's own work.
        let is_its = matches!(change, Change::Create { name, .. } if name == "ran");
        if removes || is_its || (self.failure == Failure::Full && !takes_room) {
            return Ok(());
        }
        let number = self.seen.fetch_add(1, Ordering::SeqCst) + 1;
        let errno = match self.failure {
            Failure::Full if number >= self.at => Errno::ENOSPC,
            Failure::Broken if number == self.at => Errno::EIO,
            _ => return Ok(()),
        };
        self.refused.lock().unwrap().push(change.clone());
        Err(errno)
    }
}

/// A room that is seen through a disk of ours.
struct Shown {
    room: Room,
}

impl Shown {
    fn place(&self) -> PathBuf {
        self.room.outside().join("shown")
    }

    /// Does something while the room is seen through a disk.
    fn through<T>(&self, watcher: &Arc<Failing>, what: impl FnOnce() -> T) -> T {
        through(&self.room, &self.place(), watcher, what)
    }

    fn run(&self, writer: &Writer, watcher: &Arc<Failing>) -> Output {
        self.through(watcher, || self.room.run_in(&self.place(), writer).output().unwrap())
    }

    /// Fills the room, and runs the writer's setup through a disk that works.
    fn prepare(&self, writer: &Writer) {
        self.room.fill();
        self.through(&Failing::at(Failure::Broken, 0), || self.room.set_up(&self.place(), writer));
    }
}

/// The calls that fail: all, or one of them.
fn chosen(failure: Failure, calls: usize) -> Vec<usize> {
    if asked().is_some() {
        return (1..=calls + 1).collect();
    }
    vec![match failure {
        Failure::Full => calls / 2 + 1,
        Failure::Broken => calls,
    }]
}

/// Whether only a line was lost that the recorded program writes itself, of what it finds, which it does not tell: the two starts then
/// seem to differ, and the index is not kept.
fn is_lost_line(failure: Failure, writer: &Writer, output: &Output, refused: Option<&Change>) -> bool {
    let is_write = matches!((failure, refused), (Failure::Broken, Some(Change::Write { .. })));
    writer.name.starts_with("index make") && is_write && output.status.code() == Some(1)
}

fn fail_at_each_call(writer: &Writer, failure: Failure, count: &Count) {
    let shown = Shown { room: Room::new() };
    shown.room.judge_at(&shown.place());
    let calls = AtomicUsize::new(0);
    let run = || {
        let sound = Failing::at(failure, usize::MAX);
        let output = shown.run(writer, &sound);
        calls.store(sound.seen.load(Ordering::SeqCst), Ordering::SeqCst);
        output
    };
    let mut usual = Usual::of(writer, &shown.room, || shown.prepare(writer), run);
    for at in chosen(failure, calls.load(Ordering::SeqCst)) {
        shown.prepare(writer);
        usual.begin(&shown.room);
        let disk = Failing::at(failure, at);
        let output = shown.run(writer, &disk);
        let refused = disk.refused.lock().unwrap();
        let what = format!("{failure:?} at call {at}, {:?}: {}", refused.first().map(short), told(&output));
        count.one();
        if succeeded(writer, &output) {
            // The call did not matter, or the command had found another way.
            shown.through(&Failing::at(failure, 0), || match refused.first() {
                // A directory of links that is removed in part waits for the next command.
                Some(Change::FlushDirectory { .. }) => usual.holds(writer, &shown.room, &what),
                _ => usual.is_done(writer, &shown.room, &what),
            });
            continue;
        }
        if is_lost_line(failure, writer, &output, refused.first()) {
            shown.through(&Failing::at(failure, 0), || usual.is_untouched(writer, &shown.room, &what));
            continue;
        }
        assert!(!refused.is_empty() && output.status.code() == Some(2), "{}: {what}", writer.name);
        assert_names_the_cause(writer, failure, &output, &what);
        let is_incomplete = said(&output).contains("is incomplete");
        if is_incomplete || matches!(writer.name.as_str(), "bind --audit-library --force" | "speedup -o") {
            // A trace is kept as far as it goes. A library that a program is to use is written before the program, a plan before the page.
            shown.through(&Failing::at(failure, 0), || usual.holds_alone(writer, &shown.room, &what));
        } else if writer.has_steps() {
            // What an installation could not finish it undoes. What cannot be undone the next command does.
            if writer.words[1] == "install" {
                usual.is_untouched(writer, &shown.room, &what);
            }
            let again = shown.run(writer, &Failing::at(failure, usize::MAX));
            assert!(succeeded(writer, &again), "{}: {what}: the next run: {}", writer.name, told(&again));
            shown.through(&Failing::at(failure, 0), || usual.is_done(writer, &shown.room, &what));
        } else {
            usual.is_untouched(writer, &shown.room, &what);
        }
    }
}

fn short(change: &Change) -> String {
    let mut text = format!("{change:?}");
    text.truncate(60);
    text
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What is said where only an interpreter knows why it could not write.
const ASKS: &str = "is there room on the file system";

/// The message says what the system said, and names the output, what is rewritten, or a directory.
#[track_caller]
fn assert_names_the_cause(writer: &Writer, failure: Failure, output: &Output, what: &str) {
    let said = said(output);
    if writer.starts_programs() && said.contains("`./program`: it exited with code 1") {
        // It could not write its own file.
        return;
    }
    let causes: &[&str] = match failure {
        // As the system says it, as we do, SQLite, and where only an interpreter knows it.
        Failure::Full => &["No space left on device", "no space left on the disk", "database or disk is full", ASKS],
        Failure::Broken => &["Input/output error", "disk I/O error", ASKS],
    };
    assert!(causes.iter().any(|cause| said.contains(cause)), "{}: {what}: the cause is not named", writer.name);
    let names = writer.words.iter().filter(|word| !word.starts_with('-') && *word != "to" && *word != "app");
    let mut quoted = names.map(String::as_str).chain(["`to", "/shown", "`app`", "`.`"]);
    assert!(quoted.any(|name| said.contains(name)), "{}: {what}: no file is named", writer.name);
}

fn fail_those(name: &'static str, failure: Failure, is_wanted: impl Fn(&Writer) -> bool) {
    if !is_root() {
        return;
    }
    let room = Room::new();
    room.fill();
    if let Err(error) = show(&room.path(""), &room.outside().join("shown"), &Failing::at(failure, 0)) {
        return skip(&format!("FUSE: {error}"));
    }
    let count = Count::of(name);
    for (writer, _) in writers(is_wanted) {
        fail_at_each_call(&writer, failure, &count);
    }
}

#[test]
fn a_disk_that_gets_full_is_named_and_all_is_as_it_was() {
    fail_those("runs on a full disk", Failure::Full, |writer| !writer.starts_programs());
}

#[test]
fn a_call_that_fails_is_named_and_all_is_as_it_was() {
    fail_those("runs on a broken disk", Failure::Broken, |writer| !writer.starts_programs());
}

#[test]
fn a_recording_on_a_disk_that_gets_full_is_not_there() {
    let _turn = Turn::shared("page-cache");
    fail_those("recordings on a full disk", Failure::Full, Writer::starts_programs);
}

#[test]
fn a_recording_of_which_a_call_fails_is_not_there() {
    let _turn = Turn::shared("page-cache");
    fail_those("recordings on a broken disk", Failure::Broken, Writer::starts_programs);
}

/// From one call on this disk has no room, not even to write over what is there: SQLite cannot take back the piece that it was at.
#[test]
fn what_had_room_of_a_trace_is_readable_or_not_there() {
    if !is_root() {
        return;
    }
    let shown = Shown { room: Room::new() };
    shown.room.fill();
    if let Err(error) = show(&shown.room.path(""), &shown.place(), &Failing::at(Failure::Full, 0)) {
        return skip(&format!("FUSE: {error}"));
    }
    let here = |name: &str| shown.room.path(name);
    let import = |disk: &Arc<Failing>| {
        let _ = std::fs::remove_file(here(OUT));
        let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart"));
        command.args(["trace", "import", "recorded.data", "-o", OUT]);
        shown.room.surround(&mut command, &shown.place());
        shown.through(disk, || command.output().unwrap())
    };
    let sound = Failing::at(Failure::Full, usize::MAX);
    let output = import(&sound);
    assert!(output.status.success(), "{}", told(&output));
    let calls = sound.seen.load(Ordering::SeqCst);
    let count = Count::of("traces on a full disk on which nothing can be written over");
    for at in 1..=calls {
        let output = import(&Failing::at(Failure::Full, at));
        count.one();
        let what = format!("full at call {at} of {calls}: {}", told(&output));
        let is_kept = said(&output).contains("is incomplete");
        assert_eq!(output.status.code(), Some(2), "{what}");
        assert!(is_kept || said(&output).to_lowercase().contains("no space left"), "{what}");
        assert_eq!(here(OUT).exists(), is_kept, "{what}");
        assert_eq!(Some(&here(OUT)).filter(|_| is_kept).and_then(|path| damage(path)), None, "{what}");
    }
}
