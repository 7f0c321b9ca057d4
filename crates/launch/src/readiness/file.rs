//! Ready when a file appears or is written anew: pid files, sockets, markers.
//!
//! The file's status is polled. inotify on its directory reports nothing on NFS,
//! `/proc` and most of FUSE, and nothing for a missing directory. Pitfall: a file left over
//! from the last start must not count, and we must not delete it, so its state is recorded before the launch and
//! only a change counts.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::fs::{Stat, stat};
use rustix::io::Errno;
use rustix::time::{ClockId, Timespec, clock_gettime};

use super::{Look, Watch};
use crate::error::LaunchError;

/// Bounds the error of the measured time. A check takes some 2 us.
const INTERVAL: Duration = Duration::from_millis(1);
/// Longest tick of the clock for file times, with a margin: 10 ms at `CONFIG_HZ=100`.
const STAMP_TICK: Duration = Duration::from_millis(20);

pub(crate) struct FileWatch {
    path: PathBuf,
    /// The state that does not count as readiness. `None` once the file was absent.
    earlier: Option<State>,
}

/// The attributes that change when a file is replaced or written. Access time is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    device: u64,
    inode: u64,
    size: i64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileWatch {
    pub(crate) fn new(path: &Path, directory: Option<&Path>) -> Self {
        Self { path: directory.map_or_else(|| path.to_owned(), |directory| directory.join(path)), earlier: None }
    }

    /// The file's current state, symbolic links followed; `None` while it is missing.
    fn state(&self) -> Result<Option<State>, LaunchError> {
        match stat(&self.path) {
            Ok(status) => Ok(Some(State::from(&status))),
            Err(error) if is_absence(error) => Ok(None),
            Err(error) => {
                let source = io::Error::from(error);
                Err(LaunchError::FileNotVisible { path: self.path.clone(), source })
            }
        }
    }
}

/// Whether the file may still appear: links and mounts may be incomplete, or left over from an earlier server.
fn is_absence(error: Errno) -> bool {
    const NOT_YET: [Errno; 6] = [Errno::NOENT, Errno::NOTDIR, Errno::LOOP, Errno::NOTCONN, Errno::STALE, Errno::INTR];
    NOT_YET.contains(&error)
}

impl From<&Stat> for State {
    // The fields' types differ between architectures.
    #[allow(clippy::unnecessary_cast, clippy::useless_conversion)]
    fn from(status: &Stat) -> Self {
        Self {
            device: status.st_dev.into(),
            inode: status.st_ino.into(),
            size: status.st_size.into(),
            modified: (status.st_mtime as i64, status.st_mtime_nsec as i64),
            changed: (status.st_ctime as i64, status.st_ctime_nsec as i64),
        }
    }
}

impl State {
    /// Whether a change now would get a later time than the last one: on most kernels (before Linux 6.13 all)
    /// file times are as coarse as the clock's ticks.
    fn is_settled(&self, now: Timespec) -> bool {
        self.changed < (now.tv_sec, now.tv_nsec)
    }
}

impl Watch for FileWatch {
    fn prepare(&mut self, _command: &mut Command) -> Result<(), LaunchError> {
        self.earlier = self.state()?;
        let give_up = Instant::now() + STAMP_TICK;
        // A file server's clock may be ahead of ours; do not wait for it.
        while self.earlier.is_some_and(|state| !state.is_settled(clock_gettime(ClockId::RealtimeCoarse)))
            && Instant::now() < give_up
        {
            std::thread::sleep(INTERVAL);
        }
        Ok(())
    }

    fn interval(&self) -> Option<Duration> {
        Some(INTERVAL)
    }

    fn look(&mut self, _look: Look<'_>) -> Result<Option<Instant>, LaunchError> {
        let state = self.state()?;
        if state.is_none() {
            self.earlier = None;
        }
        Ok((state.is_some() && state != self.earlier).then(Instant::now))
    }

    fn last_seen(&self) -> Option<String> {
        let path = self.path.display();
        match self.earlier {
            Some(_) => Some(format!("`{path}` existed before the launch and has not changed since")),
            // A dangling link looks like a file in a listing.
            None if self.path.is_symlink() => Some(format!("`{path}` is a dangling symbolic link")),
            None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch_of(path: &Path) -> FileWatch {
        let mut watch = FileWatch::new(path, None);
        watch.prepare(&mut Command::new("true")).unwrap();
        watch
    }

    #[test]
    fn what_was_there_before_does_not_count() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, "a").unwrap();
        let watch = watch_of(&path);
        assert_eq!(watch.state().unwrap(), watch.earlier);
        std::fs::read(&path).unwrap();
        assert_eq!(watch.state().unwrap(), watch.earlier, "reading is no sign");
        std::fs::write(&path, "b").unwrap();
        assert_ne!(watch.state().unwrap(), watch.earlier, "same size, same inode");
    }

    #[test]
    fn what_is_not_there_yet_is_no_error() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::write(at("file"), "").unwrap();
        std::os::unix::fs::symlink("nowhere", at("dangling")).unwrap();
        std::os::unix::fs::symlink("ring", at("ring")).unwrap();
        for name in ["none", "no/such/parent", "file/below", "dangling", "ring"] {
            assert_eq!(watch_of(&at(name)).earlier, None, "{name}");
        }
        assert!(watch_of(&at("dangling")).last_seen().unwrap().contains("dangling symbolic link"));
    }

    #[test]
    fn a_path_that_cannot_be_looked_at_is_an_error_that_names_it() {
        let path = PathBuf::from("/tmp").join("x".repeat(5000));
        let error = FileWatch::new(&path, None).state().unwrap_err();
        assert!(error.to_string().contains("xxx"), "{error}");
    }

    #[test]
    fn a_relative_path_starts_at_the_programs_directory() {
        let path = |path: &str, directory| FileWatch::new(Path::new(path), directory).path;
        assert_eq!(path("a", Some(Path::new("/b"))), Path::new("/b/a"));
        assert_eq!(path("/a", Some(Path::new("/b"))), Path::new("/a"));
        assert_eq!(path("a", None), Path::new("a"));
    }
}
