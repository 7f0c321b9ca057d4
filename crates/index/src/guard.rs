//! What must be as it was for an index to be believed, and which of it has changed.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::identity::Identity;

/// Threads that check at the same time: on a network each waits for a request of its own.
const THREADS: usize = 32;
/// With fewer guards than this for each, threads cost more than they save on a local file system.
const FOR_A_THREAD: usize = 16;

/// A path and what was there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guard {
    /// The path, absolute.
    #[serde(with = "path_as_bytes")]
    pub path: PathBuf,
    /// `None`: there was nothing.
    pub identity: Option<Identity>,
}

/// How something guarded has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// It is no longer there.
    Gone,
    /// There was nothing, and now there is.
    Appeared,
    /// Another file or directory is there.
    Replaced,
    /// The same file or directory, with other content, names or rights.
    Changed,
    /// It cannot be asked any more.
    Unreadable,
}

impl Change {
    /// As a clause behind a path: "has changed".
    pub fn words(self) -> &'static str {
        match self {
            Self::Gone => "is gone",
            Self::Appeared => "is new",
            Self::Replaced => "was replaced",
            Self::Changed => "has changed",
            Self::Unreadable => "cannot be looked at",
        }
    }
}

impl Guard {
    /// What is at a path now. `None` if it cannot be asked.
    pub fn of(path: &Path) -> Option<Self> {
        let identity = match Identity::of(path) {
            Ok(identity) => Some(identity),
            Err(error) if is_absent(&error) => None,
            Err(_) => return None,
        };
        Some(Self { path: path.to_owned(), identity })
    }

    /// How it has changed.
    pub fn change(&self) -> Option<Change> {
        match (self.identity, Identity::of(&self.path)) {
            (Some(was), Ok(is)) if was == is => None,
            (Some(was), Ok(is)) if (was.device, was.inode) != (is.device, is.inode) => Some(Change::Replaced),
            (Some(_), Ok(_)) => Some(Change::Changed),
            (None, Ok(_)) => Some(Change::Appeared),
            (None, Err(error)) if is_absent(&error) => None,
            (Some(_), Err(error)) if is_absent(&error) => Some(Change::Gone),
            (_, Err(_)) => Some(Change::Unreadable),
        }
    }
}

/// Whether an error says that there is nothing at a path. One that leads through a file (`ENOTDIR`) may mean a part of an archive.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::NOENT)
}

/// Checks all at the same time, and returns the numbers of those that have changed, in order.
pub fn changes(guards: &[Guard]) -> Vec<(usize, Change)> {
    let found = Mutex::new(Vec::new());
    in_parallel(guards, |number, guard| {
        if let Some(change) = guard.change() {
            found.lock().unwrap_or_else(PoisonError::into_inner).push((number, change));
        }
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_by_key(|(number, _)| *number);
    found
}

/// Does something with each item, with its number, in no order.
pub fn in_parallel<T: Sync>(items: &[T], work: impl Fn(usize, &T) + Sync) {
    let threads = items.len().div_ceil(FOR_A_THREAD).clamp(1, THREADS);
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some((number, item)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|number| Some((number, items.get(number)?)))
        {
            work(number, item);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            // Without another thread the work takes longer, and is done all the same.
            let _ = std::thread::Builder::new().stack_size(64 << 10).spawn_scoped(scope, work);
        }
        work();
    });
}

/// Paths as bytes: serde takes UTF-8 only.
pub(crate) mod path_as_bytes {
    use std::ffi::OsString;
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    use std::path::{Path, PathBuf};

    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(path.as_os_str().as_bytes())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
        // A sequence of bytes has the same form.
        Vec::deserialize(deserializer).map(|bytes| PathBuf::from(OsString::from_vec(bytes)))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn every_kind_of_change_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        for name in ["same", "gone", "replaced", "grown", "other"] {
            fs::create_dir(at(name)).unwrap();
        }
        let guards: Vec<Guard> =
            ["same", "gone", "replaced", "grown", "new", "absent"].map(|name| Guard::of(&at(name)).unwrap()).into();
        assert_eq!(changes(&guards), []);
        fs::remove_dir(at("gone")).unwrap();
        fs::remove_dir(at("replaced")).unwrap();
        fs::rename(at("other"), at("replaced")).unwrap();
        fs::write(at("grown").join("x"), "").unwrap();
        fs::write(at("new"), "").unwrap();
        assert_eq!(
            changes(&guards),
            [(1, Change::Gone), (2, Change::Replaced), (3, Change::Changed), (4, Change::Appeared)]
        );
    }

    #[test]
    fn a_path_through_a_file_may_be_a_part_of_an_archive() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        fs::write(&file, "").unwrap();
        assert_eq!(Guard::of(&file.join("below")), None);
    }

    #[test]
    fn many_are_checked_each_once_and_told_in_order() {
        let directory = tempfile::tempdir().unwrap();
        let guard = |number: usize| Guard { path: directory.path().join(number.to_string()), identity: None };
        let guards: Vec<Guard> = (0..1000).map(guard).collect();
        for number in (0..1000).step_by(7) {
            fs::write(&guards[number].path, "").unwrap();
        }
        let expected: Vec<_> = (0..1000).step_by(7).map(|number| (number, Change::Appeared)).collect();
        assert_eq!(changes(&guards), expected);
    }
}
