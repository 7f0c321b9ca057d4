//! Root runs commands in the directory of another user, who swaps the names of inputs, outputs and their directory for links to files of root,
//! pipes and directories all the time: root's files stay as they are, nothing is made elsewhere, and every command ends.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use coldstart_testing::{NOBODY, PATIENCE, Random, Turn, is_root, succeed, within};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::room::Room;
use super::writers::{OUT, Writer, writers};
use super::{Count, tries};
use crate::killed::eventually;

/// Runs of each command where nothing else is asked for.
const USUAL_TRIES: usize = 2;
/// What only root may read, or change.
const SECRET: &str = "a file of root\n";

/// The user who owns the room.
struct Hostile<'a> {
    room: &'a Room,
    stop: &'a AtomicBool,
    name: PathBuf,
    /// What takes the name's place.
    others: Vec<PathBuf>,
}

impl Hostile<'_> {
    /// Swaps the name and one of the others, until told to stop. Each swap is one call, so that the name is always there, if
    /// it ever was.
    fn swap(&self, mut random: Random) {
        while !self.stop.load(Ordering::Relaxed) {
            let other = &self.others[random.below(self.others.len())];
            assert!(self.name.starts_with(self.room.path("")), "{} is not in the room", self.name.display());
            if renameat_with(CWD, other, CWD, &self.name, RenameFlags::EXCHANGE).is_err() {
                let _ = symlink(self.room.outside().join("roots/victim"), &self.name);
                let _ = lchown(&self.name, Some(NOBODY), Some(NOBODY));
            }
            if random.percent(50) {
                std::thread::yield_now();
            } else {
                std::thread::sleep(Duration::from_micros(random.below(300) as u64));
            }
        }
    }
}

/// Root's files, and everything that could change about them.
fn roots(room: &Room) -> Vec<String> {
    let outside = room.outside();
    let mut told: Vec<String> =
        fs::read_dir(outside).unwrap().map(|entry| format!("{:?}", entry.unwrap().path())).collect();
    let mut names: Vec<_> = fs::read_dir(outside.join("roots")).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    told.sort();
    for path in names {
        let found = path.symlink_metadata().unwrap();
        let content = if found.is_file() { fs::read_to_string(&path).unwrap() } else { String::new() };
        told.push(format!(
            "{} {:o} {} {}.{} {content}",
            path.display(),
            found.mode(),
            found.uid(),
            found.mtime(),
            found.mtime_nsec()
        ));
    }
    told
}

/// Waits for a command; `None` if it does not end in time, and is killed.
fn wait(child: &mut Child) -> Option<ExitStatus> {
    let mut status = None;
    let ended = within(PATIENCE, || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    if !ended {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    status
}

/// The names that a command reads or writes, and whether one may be a pipe: what SQLite opens (docs/promises.md), and what a
/// started program reads, waits for a writer.
fn names(writer: &Writer, room: &Room) -> Vec<(String, bool)> {
    // Nothing but the room's own files, of which `state` has the names.
    let own = room.state();
    let words = writer.words.iter().map(|word| word.trim_start_matches("./"));
    let is_own = |word: &&str| *word != OUT && own.contains_key(Path::new(word)) && room.path(word).is_file();
    let inputs = words.filter(is_own).map(|word| {
        let waits = writer.starts_programs() || word.ends_with(".coldtrace");
        (word.to_owned(), !waits)
    });
    let mut names: Vec<_> = inputs.collect();
    if writer.words.iter().any(|word| word == OUT) {
        names.insert(0, (OUT.to_owned(), true));
    }
    names
}

/// A directory of the other user, in which outputs are where that one is swapped.
const ABOVE: &str = "above";

/// The same command with its output in a directory, if it has an output.
fn with_output_below(writer: &Writer) -> Option<Writer> {
    if writer.replaces || writer.keeps.is_some() || !writer.words.iter().any(|word| word == OUT) {
        return None;
    }
    let mut below = writer.clone();
    below.name.push_str(", below");
    below.words.iter_mut().filter(|word| *word == OUT).for_each(|word| *word = format!("{ABOVE}/{OUT}"));
    Some(below)
}

/// What is swapped in one way of trying.
#[derive(Clone, Copy, PartialEq)]
enum Swapped {
    /// An input or the output.
    Name,
    /// The directory of the output.
    Above,
}

fn run_among_swaps(writer: &Writer, swapped: Swapped, tries: usize, count: &Count) {
    let seed = tries as u64;
    let room = Room::new();
    let place = room.path("");
    fs::create_dir(room.outside().join("roots")).unwrap();
    fs::create_dir(room.outside().join("roots/directory")).unwrap();
    fs::write(room.outside().join("roots/victim"), SECRET).unwrap();
    fs::set_permissions(room.outside().join("roots/victim"), PermissionsExt::from_mode(0o600)).unwrap();
    for number in 0..tries {
        room.fill();
        room.set_up(&place, writer);
        let names = match swapped {
            Swapped::Name => names(writer, &room),
            Swapped::Above => {
                fs::create_dir(room.path(ABOVE)).unwrap();
                vec![(ABOVE.to_owned(), true)]
            }
        };
        let Some((name, may_be_pipe)) = names.get(number % names.len().max(1)).cloned() else { return };
        let others = room.path("others");
        fs::create_dir(&others).unwrap();
        fs::create_dir(others.join("directory")).unwrap();
        symlink(room.outside().join("roots/victim"), others.join("link")).unwrap();
        symlink(room.outside().join("roots/none"), others.join("dangling")).unwrap();
        // Where an output goes below a directory, a link to one is followed, as by cp(1).
        if name != OUT || !writer.goes_below {
            symlink(room.outside().join("roots/directory"), others.join("link to a directory")).unwrap();
        }
        if may_be_pipe {
            succeed(Command::new("mkfifo").arg(others.join("pipe")));
        }
        let copy = others.join("copy");
        if swapped == Swapped::Name && fs::copy(room.path(&name), &copy).is_err() {
            fs::write(&copy, "").unwrap();
        }
        let own = format!("{NOBODY}:{NOBODY}");
        succeed(Command::new("chown").args(["-R", "-h", &own]).arg(&place));
        let before = roots(&room);

        let stop = AtomicBool::new(false);
        let mut others: Vec<PathBuf> = fs::read_dir(&others).unwrap().map(|entry| entry.unwrap().path()).collect();
        others.sort();
        let hostile = Hostile { room: &room, stop: &stop, name: room.path(&name), others };
        let moments = Random::new(seed * 1000 + number as u64);
        let status = std::thread::scope(|scope| {
            scope.spawn(|| hostile.swap(moments));
            let mut command = room.run_in(&place, writer);
            let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            let status = wait(&mut child);
            stop.store(true, Ordering::Relaxed);
            status
        });
        count.one();
        let what = format!("{}: run {number} of seed {seed}, `{name}` swapped", writer.name);
        let status = status.unwrap_or_else(|| panic!("{what}: it does not end"));
        assert!(status.code().is_some_and(|code| code != 101), "{what}: {status}");
        eventually("the end of all that the command had started", &room.mark(), <[String]>::is_empty);
        assert_eq!(roots(&room), before, "{what}");
        assert!(!is_leaked(&place, &what), "{what}");
    }
}

/// Whether others may read a copy of root's file in the room.
fn is_leaked(directory: &Path, what: &str) -> bool {
    fs::read_dir(directory).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        let found = path.symlink_metadata().unwrap();
        if found.is_dir() {
            return is_leaked(&path, what);
        }
        let is_it = found.is_file() && fs::read(&path).unwrap() == SECRET.as_bytes();
        if is_it {
            println!("{what}: {} holds root's file", path.display());
        }
        is_it && found.mode() & 0o044 != 0
    })
}

fn run_those(name: &'static str, swapped: Swapped, is_wanted: impl Fn(&Writer) -> bool) {
    if !is_root() {
        return;
    }
    let count = Count::of(name);
    for (writer, way) in writers(is_wanted) {
        let below = with_output_below(&writer);
        let Some(writer) = (if swapped == Swapped::Above { below } else { Some(writer) }) else { continue };
        match way.share(tries(USUAL_TRIES)) {
            0 => {}
            tries => run_among_swaps(&writer, swapped, tries, &count),
        }
    }
}

#[test]
fn files_of_root_stay_while_names_are_swapped() {
    run_those("runs while names were swapped", Swapped::Name, |writer| !writer.starts_programs());
}

#[test]
fn files_of_root_stay_while_names_are_swapped_in_a_recording() {
    let _turn = Turn::shared("page-cache");
    run_those("recordings while names were swapped", Swapped::Name, Writer::starts_programs);
}

#[test]
fn files_of_root_stay_while_the_directory_of_an_output_is_swapped() {
    run_those("runs while the output's directory was swapped", Swapped::Above, |writer| !writer.starts_programs());
}

#[test]
fn files_of_root_stay_while_the_directory_of_a_recording_is_swapped() {
    let _turn = Turn::shared("page-cache");
    let name = "recordings while the output's directory was swapped";
    run_those(name, Swapped::Above, Writer::starts_programs);
}
