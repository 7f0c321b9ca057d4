//! The power goes off: what a disk may hold then is computed from the order of writes, flushes and renames. Each file is the
//! old one or the new one, whole, in every such state; and when a command has ended, it is the new one.
//!
//! The model is the strict one of POSIX. What was written to a file since its last fsync(2) is kept, lost, or half of it is kept.
//! Names change in order, and some of the last changes since an fsync of their directory are lost. Real file systems keep more.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use coldstart_testing::{Turn, is_root, skip};
use fuser::Errno;

use super::Count;
use super::disk::{Change, Watcher, show, through};
use super::room::{Room, Usual, digest};
use super::writers::{Writer, writers};

/// Remembers every change.
#[derive(Default)]
struct Journal {
    changes: Mutex<Vec<Change>>,
}

impl Watcher for Journal {
    fn may(&self, _: &Change) -> Result<(), Errno> {
        Ok(())
    }

    fn made(&self, change: Change) {
        self.changes.lock().unwrap().push(change);
    }
}

/// Names of a tree: a directory's number and a name lead to a file's number.
type Names = BTreeMap<(u64, OsString), u64>;

/// What is left of changes that were not flushed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Unflushed {
    Kept,
    Half,
    Lost,
}

const UNFLUSHED: [Unflushed; 3] = [Unflushed::Kept, Unflushed::Half, Unflushed::Lost];

/// What the disk held before the command.
#[derive(Clone, Default)]
struct Held {
    root: u64,
    names: Names,
    contents: HashMap<u64, Vec<u8>>,
}

impl Held {
    fn read(directory: &Path) -> Self {
        let mut held = Self { root: fs::metadata(directory).unwrap().ino(), ..Self::default() };
        held.add(directory);
        held
    }

    fn add(&mut self, directory: &Path) {
        let own = fs::metadata(directory).unwrap().ino();
        for entry in fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            let found = entry.metadata().unwrap();
            self.names.insert((own, entry.file_name()), found.ino());
            if found.is_dir() {
                self.add(&entry.path());
            } else if found.is_file() {
                self.contents.insert(found.ino(), fs::read(entry.path()).unwrap());
            }
        }
    }
}

/// A file's content as it was flushed last, and the changes since.
#[derive(Clone, Default)]
struct Content {
    flushed: Vec<u8>,
    since: Vec<Change>,
    /// In short, for each of [`UNFLUSHED`].
    left: [String; 3],
}

impl Content {
    fn of(bytes: Vec<u8>) -> Self {
        let mut content = Self { flushed: bytes, ..Self::default() };
        content.look();
        content
    }

    fn add(&mut self, change: &Change) {
        self.since.push(change.clone());
        self.look();
    }

    fn flush(&mut self) {
        self.flushed = self.after(Unflushed::Kept);
        self.since.clear();
        self.look();
    }

    fn look(&mut self) {
        self.left = UNFLUSHED.map(|unflushed| digest(&self.after(unflushed)));
    }

    fn after(&self, unflushed: Unflushed) -> Vec<u8> {
        let kept = match unflushed {
            Unflushed::Kept => self.since.len(),
            Unflushed::Half => self.since.len() / 2,
            Unflushed::Lost => 0,
        };
        let mut content = self.flushed.clone();
        self.since[..kept].iter().for_each(|change| apply(&mut content, change));
        // A single write is torn, too.
        if let (Unflushed::Half, Some(Change::Write { file, offset, bytes })) = (unflushed, self.since.get(kept)) {
            let bytes = bytes[..bytes.len() / 2].to_vec();
            apply(&mut content, &Change::Write { file: *file, offset: *offset, bytes });
        }
        content
    }
}

fn apply(content: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Write { offset, bytes, .. } => {
            let end = *offset as usize + bytes.len();
            if content.len() < end {
                content.resize(end, 0);
            }
            content[*offset as usize..end].copy_from_slice(bytes);
        }
        Change::Cut { size, .. } => content.resize(*size as usize, 0),
        _ => {}
    }
}

fn rename(names: &mut Names, change: &Change) {
    match change.clone() {
        Change::Name { directory, name, file } => drop(names.insert((directory, name), file)),
        Change::Remove { directory, name } => drop(names.remove(&(directory, name))),
        Change::Rename { from, to, exchange } => {
            let (one, other) = (names.remove(&from), names.remove(&to));
            names.extend(one.map(|file| (to, file)));
            if exchange {
                names.extend(other.map(|file| (from, file)));
            }
        }
        _ => {}
    }
}

/// A state that a power loss may leave.
struct Left<'a> {
    /// In words.
    what: String,
    /// The file at each path.
    paths: &'a BTreeMap<PathBuf, u64>,
    contents: &'a HashMap<u64, Content>,
    unflushed: usize,
    /// Whether the command may have ended.
    is_end: bool,
}

impl Left<'_> {
    /// What a file holds, in short.
    fn content(&self, path: &Path) -> Option<&String> {
        Some(&self.contents.get(self.paths.get(path)?)?.left[self.unflushed])
    }
}

/// Calls `look` for every state that a power loss may leave after `changes`.
fn each_state(held: &Held, changes: &[Change], mut look: impl FnMut(&Left<'_>)) {
    let mut contents: HashMap<u64, Content> =
        held.contents.iter().map(|(number, bytes)| (*number, Content::of(bytes.clone()))).collect();
    let written = changes.iter().filter_map(|change| match change {
        Change::Write { file, .. } | Change::Cut { file, .. } | Change::Flush { file } => Some(*file),
        _ => None,
    });
    let regular: HashSet<u64> = contents.keys().copied().chain(written).collect();
    for file in &regular {
        contents.entry(*file).or_insert_with(|| Content::of(Vec::new()));
    }
    // The tree after each change of names.
    let mut names = held.names.clone();
    let mut trees = vec![tree(held, &names, &regular)];
    let mut flushed_names = 0;
    for moment in 0..=changes.len() {
        if let Some(change) = moment.checked_sub(1).and_then(|before| changes.get(before)) {
            match change {
                Change::Write { file, .. } | Change::Cut { file, .. } => contents.get_mut(file).unwrap().add(change),
                Change::Flush { file } => contents.get_mut(file).unwrap().flush(),
                Change::FlushDirectory { .. } => flushed_names = trees.len() - 1,
                Change::Name { .. } | Change::Remove { .. } | Change::Rename { .. } => {
                    rename(&mut names, change);
                    trees.push(tree(held, &names, &regular));
                }
                Change::Create { .. } | Change::Reserve { .. } | Change::Attribute { .. } => {}
            }
        }
        for (unflushed, how) in UNFLUSHED.iter().enumerate() {
            for (number, paths) in trees.iter().enumerate().skip(flushed_names) {
                let what = format!("after change {moment}, unflushed data {how:?}, {number} changes of names kept");
                look(&Left { what, paths, contents: &contents, unflushed, is_end: moment == changes.len() });
            }
        }
    }
}

/// The regular files by path.
fn tree(held: &Held, names: &Names, regular: &HashSet<u64>) -> BTreeMap<PathBuf, u64> {
    fn add(names: &Names, regular: &HashSet<u64>, at: (u64, &Path), tree: &mut BTreeMap<PathBuf, u64>) {
        for ((_, name), file) in names.range((at.0, OsString::new())..(at.0 + 1, OsString::new())) {
            let path = at.1.join(name);
            if regular.contains(file) {
                tree.insert(path, *file);
            } else {
                add(names, regular, (*file, &path), tree);
            }
        }
    }
    let mut tree = BTreeMap::new();
    add(names, regular, (held.root, Path::new("")), &mut tree);
    tree
}

fn lose_power(writer: &Writer, count: &Count) {
    let room = Room::new();
    let shown = room.outside().join("shown");
    let held = Mutex::new(Held::default());
    let journal = Mutex::new(Arc::new(Journal::default()));
    let prepare = || {
        room.fill();
        through(&room, &shown, &Arc::<Journal>::default(), || room.set_up(&shown, writer));
        *held.lock().unwrap() = Held::read(&room.path(""));
        *journal.lock().unwrap() = Arc::default();
    };
    let run = || {
        let journal = Arc::clone(&journal.lock().unwrap());
        through(&room, &shown, &journal, || room.run_in(&shown, writer).output().unwrap())
    };
    let usual = Usual::of(writer, &room, prepare, run);
    let changes = journal.lock().unwrap().changes.lock().unwrap().clone();
    let held = held.lock().unwrap().clone();
    let wanted = usual.wanted();
    // Whole objects that were written at once.
    let written = changes.iter().filter_map(|change| match change {
        Change::Write { offset: 0, bytes, .. } => Some(bytes),
        _ => None,
    });
    let is_json = |bytes: &&Vec<u8>| serde_json::from_slice::<serde_json::Value>(bytes).is_ok();
    let json: HashSet<String> = written.filter(is_json).map(|bytes| digest(bytes)).collect();
    each_state(&held, &changes, |left| {
        count.one();
        for name in &wanted {
            let now = left.content(name);
            let [before, after] = [usual.before.get(name), usual.after.get(name)];
            let is_right = now == after || (now == before && !left.is_end);
            // An installation's manifest tells how far it is, also in the middle.
            let tells =
                !left.is_end && name.ends_with("program/manifest.json") && now.is_some_and(|now| json.contains(now));
            assert!(
                is_right || tells,
                "{}: power loss {}: {}: {now:?} is neither {before:?} nor {after:?}: {:#?}",
                writer.name,
                left.what,
                name.display(),
                changes.iter().map(short).collect::<Vec<_>>()
            );
        }
    });
}

fn short(change: &Change) -> String {
    match change {
        Change::Write { file, offset, bytes } => format!("Write {} bytes at {offset} of {file}", bytes.len()),
        other => format!("{other:?}"),
    }
}

fn lose_power_in_those(name: &'static str, is_wanted: impl Fn(&Writer) -> bool) {
    if !is_root() {
        return;
    }
    let room = Room::new();
    room.fill();
    if let Err(error) = show(&room.path(""), &room.outside().join("shown"), &Arc::new(Journal::default())) {
        return skip(&format!("FUSE: {error}"));
    }
    let count = Count::of(name);
    for (writer, _) in writers(is_wanted) {
        lose_power(&writer, &count);
    }
}

#[test]
fn a_power_loss_leaves_the_old_or_the_new_file() {
    lose_power_in_those("states after a power loss", |writer| !writer.starts_programs());
}

#[test]
fn a_power_loss_leaves_a_recording_whole_or_none() {
    let _turn = Turn::shared("page-cache");
    lose_power_in_those("states of recordings after a power loss", Writer::starts_programs);
}
