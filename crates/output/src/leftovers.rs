//! Names of temporary files, and the removal of abandoned ones.
//!
//! A file without a name needs none of this. But a name is needed for an instant before it replaces another file
//! (no call both names a file and replaces one), and for longer where file systems do not support files without names. A writer
//! that is killed then leaves the name behind. A file is removed only on three conditions: its name has our form, it carries
//! our mark with a process that has ended (`mark.rs`), and it can be locked; the writer holds a lock, which the kernel releases
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

/// Between the target's name and the random letters.
const INFIX: &[u8] = b".coldstart-";
/// Number of random letters and digits at the end.
pub(crate) const RANDOM_LETTERS: usize = 6;
/// The longest file name, in bytes (`NAME_MAX`).
const LONGEST_NAME: usize = 255;

/// The prefix of a temporary name for the target `name`: `.NAME.coldstart-`, to which [`RANDOM_LETTERS`] are added. A long name
/// is truncated.
pub(crate) fn temporary_prefix(name: &OsStr) -> OsString {
    let room = LONGEST_NAME.saturating_sub(INFIX.len()).saturating_sub(RANDOM_LETTERS).saturating_sub(1);
    let mut kept = name.as_bytes();
    while kept.len() > room || (kept.len() < name.len() && ends_within_a_letter(name.as_bytes(), kept.len())) {
        kept = kept.split_last().map_or(&[], |(_, before)| before);
    }
    OsString::from_vec([b".", kept, INFIX].concat())
}

/// Whether a UTF-8 character spans this position: some file systems refuse names with an incomplete character.
fn ends_within_a_letter(name: &[u8], at: usize) -> bool {
    name.get(at).is_some_and(|byte| byte & 0xc0 == 0x80)
}

/// Whether the name has the form of [`temporary_prefix`].
fn is_temporary(name: &OsStr) -> bool {
    let name = name.as_bytes();
    let Some((before, letters)) = name.split_last_chunk::<RANDOM_LETTERS>() else { return false };
    let named = before.strip_suffix(INFIX).is_some_and(|before| before.len() > 1 && before.starts_with(b"."));
    named && letters.iter().all(u8::is_ascii_alphanumeric)
}

/// Abandoned files found in a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// Files of ours that were removed.
    pub removed: Vec<PathBuf>,
    /// Files with such a name on a file system without extended attributes, so that their writer is unknown. They are
    /// kept.
    pub unknown: Vec<PathBuf>,
}

/// What happened to a file with such a name.
enum Fate {
    Removed,
    /// It is in use, or not ours.
    Stays,
    Unknown,
}

/// Removes files left in `directory` by writers that were killed. Files that are locked, without our mark, or that may not
/// be removed, stay.
///
/// # Errors
/// The kernel's error when the directory is read.
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
    // Checked first: opening a pipe or a device would have effects.
    if lstat(path).map_or(true, |found| FileType::from_raw_mode(found.st_mode) != FileType::RegularFile) {
        return Fate::Stays;
    }
    let flags = OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    // On network file systems only a file open for writing can be locked; the mode of a nearly finished file may forbid it.
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

/// Takes the lock that marks a file as in use. `false`: another process has it.
///
/// # Errors
/// The kernel's error, also where the file system has no locks.
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
        // A child that another test is just starting holds it until then.
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
