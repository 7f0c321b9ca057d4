//! The directory that a command runs in: filled anew for each try, and always in the same place, since some outputs hold paths.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use coldstart_testing::{Ingredients, built, compile, copy_program, succeed};
use tempfile::TempDir;

use super::readers::damage;
use super::writers::{OUT, Writer};
use crate::killed::VARIABLE;
use crate::outputs::scene::{new_folder, original};

/// What a user has at the name of the output; `--force` writes over it.
pub(super) const USERS: &str = "a user's text";
/// Many functions, so that a list of them is not empty.
const FUNCTIONS: &str = "#define F(n) __attribute__((noinline)) int f##n(int x) { return x + n; }\n\
     F(1) F(2) F(3) F(4) F(5) F(6)\n\
     int main(void) { return f4(f2(f6(0))) == 13; }\n";

/// The files of a directory by name, with their content in short.
pub(super) type State = BTreeMap<PathBuf, String>;

/// A directory of files that the commands read.
pub(super) struct Room {
    directory: TempDir,
    place: PathBuf,
    /// Where its files are read by what reads them, since some tell where they are.
    judged_at: Mutex<PathBuf>,
}

impl Room {
    /// An empty one.
    pub(super) fn new() -> Self {
        let directory = new_folder();
        let place = directory.path().join("room");
        Self { directory, judged_at: Mutex::new(place.clone()), place }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.place.join(name)
    }

    /// Has its files read where the same directory is mounted.
    pub(super) fn judge_at(&self, place: &Path) {
        *self.judged_at.lock().unwrap() = place.to_owned();
    }

    /// Its parent, in which nothing else is but the history.
    pub(super) fn outside(&self) -> &Path {
        self.directory.path()
    }

    /// Fills it with the files as they are before any command.
    pub(super) fn fill(&self) {
        let _ = fs::remove_dir_all(&self.place);
        fs::create_dir_all(&self.place).unwrap();
        succeed(Command::new("cp").args(["-a", "--"]).arg(format!("{}/.", files().display())).arg(&self.place));
        // SQLite changes it as it likes, and a measurement that cannot be added to it is kept beside it.
        let history = self.outside().join("history");
        let _ = fs::remove_dir_all(&history);
        fs::create_dir(&history).unwrap();
        fs::rename(self.path("history.sqlite"), history.join("history.sqlite")).unwrap();
    }

    /// Brings about what a writer needs, in `place`, and writes a user's file at its output if it is to replace that.
    pub(super) fn set_up(&self, place: &Path, writer: &Writer) {
        if !writer.setup.is_empty() {
            succeed(self.command(place).args(writer.setup));
        }
        if writer.replaces {
            fs::write(self.path(OUT), USERS).unwrap();
        }
    }

    /// What a writer does here when nothing disturbs it.
    #[track_caller]
    pub(super) fn usual(&self, writer: &Writer) -> Usual {
        Usual::of(writer, self, || self.prepare(writer), || self.run(writer))
    }

    /// Fills it and brings about what a writer needs.
    pub(super) fn prepare(&self, writer: &Writer) {
        self.fill();
        self.set_up(&self.place, writer);
    }

    /// Runs a writer here to its end.
    pub(super) fn run(&self, writer: &Writer) -> Output {
        self.run_in(&self.place, writer).output().unwrap()
    }

    /// The writer's command, which runs in `place`: here, or where the same directory is mounted.
    pub(super) fn run_in(&self, place: &Path, writer: &Writer) -> Command {
        let mut command = self.command(place);
        command.args(&writer.words);
        command
    }

    fn command(&self, place: &Path) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart"));
        self.surround(&mut command, place);
        command
    }

    /// Gives a command the directory and the environment of the room: nothing is written outside.
    pub(super) fn surround(&self, command: &mut Command, place: &Path) {
        command.current_dir(place).stdin(Stdio::null());
        command.env("COLDSTART_HISTORY", self.outside().join("history/history.sqlite")).env("HOME", place.join("home"));
        command.env("TMPDIR", place.join("tmp")).env("PYTHONDONTWRITEBYTECODE", "1").env(VARIABLE, self.mark());
        command.env_remove("XDG_DATA_HOME").env_remove("XDG_CONFIG_HOME").env_remove("XDG_CACHE_HOME");
    }

    /// In the environment of everything that is started here.
    pub(super) fn mark(&self) -> String {
        self.directory.path().display().to_string()
    }

    /// Everything below.
    pub(super) fn state(&self) -> State {
        let mut state = State::new();
        gather(&self.place, Path::new(""), &mut state);
        state
    }
}

/// Whether a writer did its work. `speedup` ends with 1 when nothing makes the program faster, and writes all the same.
pub(super) fn succeeded(writer: &Writer, output: &Output) -> bool {
    output.status.success() || (writer.words[0] == "speedup" && output.status.code() == Some(1))
}

pub(super) fn told(output: &Output) -> String {
    format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr))
}

/// What a writer does when nothing disturbs it.
pub(super) struct Usual {
    pub(super) before: State,
    pub(super) after: State,
    /// How long it takes.
    pub(super) time: Duration,
}

impl Usual {
    /// Runs the writer: `prepare` fills the room, and `run` runs it.
    #[track_caller]
    pub(super) fn of(writer: &Writer, room: &Room, prepare: impl Fn(), run: impl Fn() -> Output) -> Self {
        prepare();
        let before = room.state();
        let begun = Instant::now();
        let output = run();
        let time = begun.elapsed();
        assert!(succeeded(writer, &output), "{}: {}", writer.name, told(&output));
        let after = room.state();
        assert!(before != after, "{} writes nothing", writer.name);
        Self { before, after, time }
    }

    /// Looks at the room, filled anew: a setup may leave other bytes each time.
    pub(super) fn begin(&mut self, room: &Room) {
        self.before = room.state();
    }

    /// Asserts that each file is the old one or a new one, whole. Temporary files of ours are not looked at.
    #[track_caller]
    pub(super) fn holds(&self, writer: &Writer, room: &Room, what: &str) {
        let now = room.state();
        for name in now.keys().chain(self.before.keys()).collect::<BTreeSet<_>>() {
            if is_temporary(name) {
                continue;
            }
            let [before, after, now] = [&self.before, &self.after, &now].map(|state| state.get(name));
            if now == before || now == after || (now.is_some() && self.is_new(name, room)) {
                continue;
            }
            panic!("{}: {what}: {}: {now:?} is neither {before:?} nor {after:?}", writer.name, name.display());
        }
        if let Some(kept) = writer.keeps.map(Path::new)
            && now.get(kept) != self.before.get(kept)
        {
            assert_eq!(now.get(Path::new(OUT)), self.before.get(kept), "{}: {what}: nothing was kept", writer.name);
        }
    }

    /// Asserts that what a writer would write is there, and nothing else.
    #[track_caller]
    pub(super) fn is_done(&self, writer: &Writer, room: &Room, what: &str) {
        let now = room.state();
        let differing: Vec<_> = now
            .keys()
            .chain(self.after.keys())
            .filter(|name| !is_unmarked(&room.place.join(name), name))
            .filter(|name| now.get(*name) != self.after.get(*name))
            .filter(|name| now.get(*name) == self.before.get(*name) || !self.is_new(name, room))
            .collect();
        assert!(differing.is_empty(), "{}: {what}: {differing:?}", writer.name);
    }

    /// Asserts that the room is as it was before.
    #[track_caller]
    pub(super) fn is_untouched(&self, writer: &Writer, room: &Room, what: &str) {
        let changed = self.changed(room);
        assert!(changed.is_empty(), "{}: {what}: changed: {changed:?}", writer.name);
    }

    /// Asserts that [all is whole](Self::holds), and that nothing is there or gone beside what the writer writes: no temporary file.
    #[track_caller]
    pub(super) fn holds_alone(&self, writer: &Writer, room: &Room, what: &str) {
        self.holds(writer, room, what);
        let wanted = self.wanted();
        let others: Vec<_> = self.changed(room).into_iter().filter(|name| !wanted.contains(name)).collect();
        assert!(others.is_empty(), "{}: {what}: changed beside its output: {others:?}", writer.name);
    }

    /// What is different from before.
    fn changed(&self, room: &Room) -> Vec<PathBuf> {
        // What the started program makes itself is no output. Directories on the way to an installation, and its lock, stay.
        let matters = |state: &State, name: &PathBuf| {
            let is_directory = state[name].contains("is_dir: true");
            name != Path::new("ran") && !(name.starts_with("home") && (is_directory || name.ends_with(".lock")))
        };
        let now = room.state();
        now.keys()
            .filter(|name| matters(&now, name) && now.get(*name) != self.before.get(*name))
            .chain(self.before.keys().filter(|name| matters(&self.before, name) && !now.contains_key(*name)))
            .cloned()
            .collect()
    }

    /// Whether a file that the writer writes is a new one, and whole: some are different after each run.
    fn is_new(&self, name: &Path, room: &Room) -> bool {
        // An installation's manifest tells how far it is, also in the middle.
        let tells = name.ends_with("program/manifest.json");
        (tells || self.before.get(name) != self.after.get(name))
            && match damage(&room.judged_at.lock().unwrap().join(name)) {
                None => true,
                Some(damage) => {
                    println!("{}: {damage}", name.display());
                    false
                }
            }
    }

    /// The files that the writer writes, or changes.
    pub(super) fn wanted(&self) -> BTreeSet<PathBuf> {
        let is_regular = |name: &&PathBuf| {
            [&self.before, &self.after]
                .iter()
                .any(|state| state.get(*name).is_some_and(|what| what.contains(" bytes, ")))
        };
        let names = self.before.keys().chain(self.after.keys()).filter(is_regular);
        // The program that is started makes `ran` itself, and nothing is in a lock.
        let names = names.filter(|name| *name != Path::new("ran") && !name.ends_with(".lock"));
        names.filter(|name| self.before.get(*name) != self.after.get(*name)).cloned().collect()
    }

    /// Whether the room is as after the writer's run.
    pub(super) fn is_after(&self, room: &Room) -> bool {
        let now = room.state();
        let is_written = |name: &PathBuf| self.before.get(name) != self.after.get(name);
        let is_it = |name: &PathBuf| now.get(name) != self.before.get(name) || !is_written(name);
        let is_lasting = |name: &&PathBuf| !is_unmarked(&room.place.join(name), name);
        now.keys().filter(is_lasting).eq(self.after.keys()) && now.keys().filter(is_lasting).all(is_it)
    }
}

/// Whether a name is one of ours that does not last: `.NAME.coldstart-XXXXXX`, or what is in such a directory.
pub(super) fn is_temporary(name: &Path) -> bool {
    let mut parts = name.iter().map(|part| part.to_str().unwrap());
    parts.any(|part| {
        [".making-", ".coldstart-trial-"].iter().any(|start| part.starts_with(start))
            || part.strip_prefix('.').is_some_and(|rest| rest.contains(".coldstart-"))
    })
}

/// Whether a temporary file or directory was created but not marked when its writer was killed: an empty file, or a directory with no
/// more than an empty marker. Without a mark, no command may remove it (docs/outputs.md, docs/bind.md).
fn is_unmarked(path: &Path, name: &Path) -> bool {
    let is_empty_file = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_file() && found.len() == 0);
    is_temporary(name)
        && match fs::read_dir(path) {
            Ok(mut entries) => entries.all(|entry| is_empty_file(&entry.unwrap().path())),
            Err(_) => is_empty_file(path),
        }
}

/// Content in short.
pub(super) fn digest(bytes: &[u8]) -> String {
    format!("{} bytes, {}", bytes.len(), &blake3::hash(bytes).to_hex()[..16])
}

fn gather(directory: &Path, below: &Path, state: &mut State) {
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let (path, name) = (entry.path(), below.join(entry.file_name()));
        // Another process may remove it meanwhile.
        let Ok(found) = path.symlink_metadata() else { continue };
        let kind = found.file_type();
        let what = if kind.is_file() {
            let Ok(bytes) = fs::read(&path) else { continue };
            digest(&bytes)
        } else if kind.is_symlink() {
            format!("link to {}", fs::read_link(&path).unwrap().display())
        } else {
            format!("{kind:?}")
        };
        if kind.is_dir() {
            gather(&path, &name, state);
        }
        state.insert(name, what);
    }
}

/// The files: those of `outputs/scene.rs`, and what the other commands need.
fn files() -> PathBuf {
    let coldstart = env!("CARGO_BIN_EXE_coldstart");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/hard_use/room.rs");
    let others = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/outputs/scene.rs");
    let ingredients = Ingredients::new().program(coldstart).program("cc").program("perf").file(source).file(others);
    built("hard-use", &ingredients, |at| {
        succeed(Command::new("cp").args(["-a", "--"]).arg(format!("{}/.", original().display())).arg(at));
        for name in ["tmp", "home"] {
            fs::create_dir(at.join(name)).unwrap();
        }
        copy_program("/bin/true", at.join("true"));
        fs::write(at.join("use.py"), "import json, csv\nprint(json.__name__, csv.__name__)\n").unwrap();
        fs::write(at.join("other.py"), "import decimal\n").unwrap();
        compile("cc", &at.join("functions"), FUNCTIONS, &["-O1", "-ffunction-sections"]);
        let run = |program: &str, words: &[&str]| {
            succeed(Command::new(program).args(words).current_dir(at).stdin(Stdio::null()));
        };
        run(coldstart, &["trace", "--layers", "functions", "-o", "functions.coldtrace", "--", "./functions"]);
        run("perf", &["record", "-q", "-e", "page-faults", "-c", "1", "-d", "-o", "recorded.data", "--", "./true"]);
    })
}
