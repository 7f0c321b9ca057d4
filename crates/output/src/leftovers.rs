//! Names for files that are not done, and their removal when nobody will finish them.
//!
//! A file without a name needs none of this. But a name is needed for an instant before it takes another file's place
//! (no call both names a file and replaces one), and for longer where file systems know no files without names. Whoever is
//! killed then leaves the name behind. What is removed fulfils three conditions: it is named as we name such files, it carries
//! our mark with a process that is gone (`mark.rs`), and it can be locked; the writer holds a lock, which the kernel takes away
//! when the writer ends in whatever way. A name alone never suffices.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, FlockOperation, Mode, OFlags, flock, lstat, open, unlink};
use rustix::io::Errno;

use crate::mark::is_abandoned;
use crate::staged::still_has;

/// What stands between the name of the file to be and the random letters.
const INFIX: &[u8] = b".coldstart-";
/// Number of random letters and digits at the end.
pub(crate) const RANDOM_LETTERS: usize = 6;
/// The longest name that file systems take, in bytes (`NAME_MAX`).
const LONGEST_NAME: usize = 255;

/// The beginning of a temporary name for a file that will be called `name`: `.NAME.coldstart-`, to which
/// [`RANDOM_LETTERS`] are added. Of a long name only the beginning is taken.
pub(crate) fn temporary_prefix(name: &OsStr) -> OsString {
    let room = LONGEST_NAME.saturating_sub(INFIX.len()).saturating_sub(RANDOM_LETTERS).saturating_sub(1);
    let mut kept = name.as_bytes();
    while kept.len() > room || (kept.len() < name.len() && ends_within_a_letter(name.as_bytes(), kept.len())) {
        kept = kept.split_last().map_or(&[], |(_, before)| before);
    }
    OsString::from_vec([b".", kept, INFIX].concat())
}

/// Whether UTF-8 has a letter across this place: some file systems refuse names with half a letter.
fn ends_within_a_letter(name: &[u8], at: usize) -> bool {
    name.get(at).is_some_and(|byte| byte & 0xc0 == 0x80)
}

/// Whether [`temporary_prefix`] may have made this name.
fn is_temporary(name: &OsStr) -> bool {
    let name = name.as_bytes();
    let Some((before, letters)) = name.split_last_chunk::<RANDOM_LETTERS>() else { return false };
    let named = before.strip_suffix(INFIX).is_some_and(|before| before.len() > 1 && before.starts_with(b"."));
    named && letters.iter().all(u8::is_ascii_alphanumeric)
}

/// What was found in a directory of files that were never finished.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// Files of ours that were removed.
    pub removed: Vec<PathBuf>,
    /// Files with names like ours on a file system without extended attributes, where it cannot be told whose they are.
    /// They stay.
    pub unknown: Vec<PathBuf>,
}

/// What became of a file with a name like ours.
enum Fate {
    Removed,
    /// It is used, or not ours.
    Stays,
    Unknown,
}

/// Removes files that writers who were killed have left in `directory`. Those that somebody holds, that do not carry our
/// mark, or that may not be removed, stay.
///
/// # Errors
/// What the kernel answers when the directory is read.
pub fn remove_leftovers(directory: &Path) -> io::Result<Leftovers> {
    let mut leftovers = Leftovers::default();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        if !is_temporary(&entry.file_name()) {
            continue;
        }
        match remove_if_abandoned(&entry.path()) {
            Fate::Removed => leftovers.removed.push(entry.path()),
            Fate::Unknown => leftovers.unknown.push(entry.path()),
            Fate::Stays => {}
        }
    }
    leftovers.removed.sort();
    leftovers.unknown.sort();
    Ok(leftovers)
}

fn remove_if_abandoned(path: &Path) -> Fate {
    // Looked at first: opening a pipe or a device would have effects.
    if lstat(path).map_or(true, |found| FileType::from_raw_mode(found.st_mode) != FileType::RegularFile) {
        return Fate::Stays;
    }
    let flags = OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    // On network file systems only what is open for writing can be locked; a file that was nearly done may forbid it.
    let opened = open(path, flags | OFlags::RDWR, Mode::empty()).or_else(|_| open(path, flags, Mode::empty()));
    let Ok(file) = opened.map(File::from) else { return Fate::Stays };
    match is_abandoned(&file) {
        Ok(true) => {}
        Err(error) if Errno::from_io_error(&error) == Some(Errno::OPNOTSUPP) => {
            return if hold(&file).is_ok_and(|held| held) { Fate::Unknown } else { Fate::Stays };
        }
        _ => return Fate::Stays,
    }
    if hold(&file).is_ok_and(|held| held) && still_has(path, &file) && unlink(path).is_ok() {
        Fate::Removed
    } else {
        Fate::Stays
    }
}

/// Takes the lock that says "somebody works on this". `false`: somebody else has it.
///
/// # Errors
/// The kernel's answer, also where the file system has no locks.
pub(crate) fn hold(file: &File) -> io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporary_names_are_told_from_others_and_never_too_long() {
        for name in ["a", "libfoo.so.1.2", &"x".repeat(255), &"ü".repeat(127), &"€".repeat(85)] {
            let mut made = temporary_prefix(OsStr::new(name)).into_string().expect("no letter is cut");
            made.push_str("aZ09xy");
            assert!(made.len() <= LONGEST_NAME && made.len() >= name.len().min(LONGEST_NAME - 3), "{made}");
            assert!(is_temporary(OsStr::new(&made)), "{made}");
        }
        for other in ["", ".coldstart-abcdef", "..coldstart-abcde", "a.coldstart-abcdef", ".a.coldstart-abc_ef", ".a"] {
            assert!(!is_temporary(OsStr::new(other)), "{other}");
        }
    }

    /// Marks a file as written by a process that has ended.
    fn abandon(path: &Path) {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let mark = format!("{} 1 -", child.id());
        rustix::fs::setxattr(path, crate::MARK, mark.as_bytes(), rustix::fs::XattrFlags::empty()).unwrap();
    }

    #[test]
    fn only_what_is_marked_and_abandoned_and_not_held_is_removed() {
        let directory = tempfile::tempdir_in(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target")).unwrap();
        let path = |name: &str| directory.path().join(name);
        let abandoned =
            [".held.coldstart-aaaaaa", ".left.coldstart-bbbbbb", ".mine.coldstart-ccc", "a.coldstart-dddddd"];
        let users = [".lib.so.coldstart-backup", ".lib.so.coldstart-before", ".lib.so.coldstart-123456"];
        for name in abandoned.iter().chain(&users) {
            std::fs::write(path(name), name).unwrap();
        }
        abandoned.iter().for_each(|name| abandon(&path(name)));
        std::fs::create_dir(path(".directory.coldstart-eeeeee")).unwrap();
        std::os::unix::fs::symlink(path(abandoned[3]), path(".link.coldstart-ffffff")).unwrap();
        let held = File::open(path(abandoned[0])).unwrap();
        assert!(hold(&held).unwrap());
        let removed = |paths: &[PathBuf]| Leftovers { removed: paths.to_vec(), unknown: Vec::new() };
        assert_eq!(remove_leftovers(directory.path()).unwrap(), removed(&[path(abandoned[1])]));
        drop(held);
        // A child that another test is just about to start holds it until then.
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while remove_leftovers(directory.path()).unwrap() != removed(&[path(abandoned[0])]) {
            assert!(std::time::Instant::now() < deadline, "it is not removed");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        for name in users.iter().chain(&abandoned[2..]) {
            assert_eq!(std::fs::read_to_string(path(name)).unwrap(), *name);
        }
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 7);
    }
}
