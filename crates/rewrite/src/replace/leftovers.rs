//! Names for files that are not done, and their removal when nobody will finish them.
//!
//! A file without a name needs none of this. But a name is needed for an instant before it takes another file's place
//! (no call both names a file and replaces one), and for longer where file systems know no files without names. Whoever is
//! killed then leaves the name behind. The writer holds a lock on such a file, and the kernel takes the lock away when the
//! writer ends in whatever way: what can be locked belongs to nobody.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags, flock, fstat, lstat, open, unlink};
use rustix::io::Errno;

use super::facts::Identity;
use super::original::kind_of;

/// What stands between the name of the file to be and the random letters.
const MARK: &[u8] = b".coldstart-";
/// Number of random letters and digits at the end.
pub(super) const RANDOM_LETTERS: usize = 6;
/// The longest name that file systems take, in bytes (`NAME_MAX`).
const LONGEST_NAME: usize = 255;

/// The beginning of a temporary name for a file that will be called `name`: `.NAME.coldstart-`, to which
/// [`RANDOM_LETTERS`] are added. Of a long name only the beginning is taken.
pub(super) fn temporary_prefix(name: &OsStr) -> OsString {
    let room = LONGEST_NAME.saturating_sub(MARK.len()).saturating_sub(RANDOM_LETTERS).saturating_sub(1);
    let mut kept = name.as_bytes();
    while kept.len() > room || (kept.len() < name.len() && ends_within_a_letter(name.as_bytes(), kept.len())) {
        kept = kept.split_last().map_or(&[], |(_, before)| before);
    }
    OsString::from_vec([b".", kept, MARK].concat())
}

/// Whether UTF-8 has a letter across this place: some file systems refuse names with half a letter.
fn ends_within_a_letter(name: &[u8], at: usize) -> bool {
    name.get(at).is_some_and(|byte| byte & 0xc0 == 0x80)
}

/// Whether [`temporary_prefix`] may have made this name.
fn is_temporary(name: &OsStr) -> bool {
    let name = name.as_bytes();
    let Some((before, letters)) = name.split_last_chunk::<RANDOM_LETTERS>() else { return false };
    let named = before.strip_suffix(MARK).is_some_and(|before| before.len() > 1 && before.starts_with(b"."));
    named && letters.iter().all(u8::is_ascii_alphanumeric)
}

/// Removes files that writers who were killed have left in `directory`, and tells their paths. Those that somebody holds,
/// or that may not be removed, stay.
///
/// # Errors
/// What the kernel answers when the directory is read.
pub fn remove_leftovers(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut removed = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        if is_temporary(&entry.file_name()) && remove_if_abandoned(&entry.path()) {
            removed.push(entry.path());
        }
    }
    removed.sort();
    Ok(removed)
}

fn remove_if_abandoned(path: &Path) -> bool {
    // Looked at first: opening a pipe or a device would have effects.
    if lstat(path).map_or(true, |found| kind_of(found.st_mode).is_some()) {
        return false;
    }
    let flags = OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    // On network file systems only what is open for writing can be locked; a file that was nearly done may forbid it.
    let opened = open(path, flags | OFlags::RDWR, Mode::empty()).or_else(|_| open(path, flags, Mode::empty()));
    let Ok(file) = opened.map(File::from) else { return false };
    hold(&file).is_ok_and(|held| held) && still_has(path, &file) && unlink(path).is_ok()
}

/// Takes the lock that says "somebody works on this". `false`: somebody else has it.
///
/// # Errors
/// The kernel's answer, also where the file system has no locks.
pub(super) fn hold(file: &File) -> io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// Whether the path still names this file.
pub(super) fn still_has(path: &Path, file: &File) -> bool {
    fstat(file).is_ok_and(|own| lstat(path).is_ok_and(|found| Identity::new(&own).is_same_file(&found)))
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

    #[test]
    fn what_is_held_or_no_file_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        for name in [".held.coldstart-aaaaaa", ".left.coldstart-bbbbbb", ".mine.coldstart-ccc", "left.coldstart-dddddd"]
        {
            std::fs::write(path(name), name).unwrap();
        }
        std::fs::create_dir(path(".directory.coldstart-eeeeee")).unwrap();
        std::os::unix::fs::symlink(path("left.coldstart-dddddd"), path(".link.coldstart-ffffff")).unwrap();
        let held = File::open(path(".held.coldstart-aaaaaa")).unwrap();
        assert!(hold(&held).unwrap());
        assert_eq!(remove_leftovers(directory.path()).unwrap(), [path(".left.coldstart-bbbbbb")]);
        drop(held);
        // A child that another test is just about to start holds it until then.
        let mut attempts = (0..1000).map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(1));
            remove_leftovers(directory.path()).unwrap()
        });
        assert_eq!(attempts.find(|removed| !removed.is_empty()).unwrap(), [path(".held.coldstart-aaaaaa")]);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 4);
    }
}
