//! All directories of an index: listed once, given the time to settle, and guarded.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use coldstart_host::mounts::Mounts;

use crate::guard::{Guard, is_absent};
use crate::listing::{Listing, Times};
use crate::store::{store_item, tells_no_change};

/// Longest wait for a directory or file that keeps changing.
pub(crate) const PATIENCE: Duration = Duration::from_secs(6);

/// What is known of a directory.
#[derive(Clone, Debug)]
pub enum Known {
    /// It was listed; the number of its guard.
    Listed(Listing, usize),
    /// There is none; the number of its guard.
    Absent(usize),
    /// It is left to the interpreter, for a reason told as a clause.
    Unknown(String),
}

/// Directories and their guards.
#[derive(Debug, Default)]
pub struct Directories {
    known: BTreeMap<PathBuf, Known>,
    guards: Vec<Guard>,
    numbers: HashMap<PathBuf, usize>,
}

impl Directories {
    /// Lists directories, which must be absolute. Waits until those that have just changed have settled; those that do not are unknown.
    /// `times`: how exactly what is recorded will be compared.
    pub fn list<'a>(paths: impl IntoIterator<Item = &'a Path>, times: Times) -> Self {
        let mounts = Mounts::here().unwrap_or_default();
        let mut directories = Self::default();
        let mut open: Vec<PathBuf> = paths.into_iter().map(Path::to_owned).collect();
        open.sort();
        open.dedup();
        let begin = std::time::Instant::now();
        loop {
            let mut wait: Option<Duration> = None;
            let mut unsettled = Vec::new();
            for path in open {
                match look(&path, times) {
                    Look::Settled(listing) => directories.add_listed(path, listing, &mounts),
                    Look::Absent => {
                        let number = directories.guard(Guard { path: path.clone(), identity: None });
                        directories.known.insert(path, Known::Absent(number));
                    }
                    Look::Unknown(reason) => {
                        directories.known.insert(path, Known::Unknown(reason));
                    }
                    Look::Unsettled(left) => {
                        wait = Some(wait.map_or(left, |wait| wait.max(left)));
                        unsettled.push(path);
                    }
                }
            }
            let Some(wait) = wait else { return directories };
            if begin.elapsed() + wait > PATIENCE {
                for path in unsettled {
                    directories.known.insert(path, Known::Unknown("it keeps changing".to_owned()));
                }
                return directories;
            }
            std::thread::sleep(wait);
            open = unsettled;
        }
    }

    fn add_listed(&mut self, path: PathBuf, listing: Listing, mounts: &Mounts) {
        let known = if let Some(guard) = store_item(&path).and_then(|item| Guard::of(&item)) {
            Known::Listed(listing, self.guard(guard))
        } else if tells_no_change(&path, mounts) {
            let reason =
                "it is in an image whose directories all have the same time, so that another image looks the same";
            Known::Unknown(reason.to_owned())
        } else {
            let own = Guard { path: path.clone(), identity: Some(listing.identity) };
            Known::Listed(listing, self.guard(own))
        };
        self.known.insert(path, known);
    }

    fn guard(&mut self, guard: Guard) -> usize {
        let next = self.guards.len();
        let number = *self.numbers.entry(guard.path.clone()).or_insert(next);
        if number == next {
            self.guards.push(guard);
        }
        number
    }

    /// What is known of a directory that was asked for.
    pub fn get(&self, path: &Path) -> Option<&Known> {
        self.known.get(path)
    }

    /// The listing and guard of a directory, if it was listed.
    pub fn listing(&self, path: &Path) -> Option<(&Listing, usize)> {
        match self.known.get(path)? {
            Known::Listed(listing, guard) => Some((listing, *guard)),
            _ => None,
        }
    }

    /// Everything known, by path, and all guards, by number.
    pub(crate) fn into_parts(self) -> (BTreeMap<PathBuf, Known>, Vec<Guard>) {
        (self.known, self.guards)
    }

    /// All guards, by number.
    pub fn guards(&self) -> &[Guard] {
        &self.guards
    }

    /// Directories that are left to the interpreter, with the reasons.
    pub fn unknown(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.known.iter().filter_map(|(path, known)| match known {
            Known::Unknown(reason) => Some((path.as_path(), reason.as_str())),
            _ => None,
        })
    }
}

enum Look {
    Settled(Listing),
    Unsettled(Duration),
    Absent,
    Unknown(String),
}

fn look(path: &Path, times: Times) -> Look {
    match Listing::of(path) {
        Ok(Some(listing)) => match listing.unsettled_for(times, SystemTime::now()) {
            None => Look::Settled(listing),
            Some(left) => Look::Unsettled(left),
        },
        Ok(None) => Look::Unsettled(crate::listing::SETTLED),
        // An archive of modules, or a part of one.
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {
            Look::Unknown("it is not a directory".to_owned())
        }
        Err(error) if is_absent(&error) => Look::Absent,
        Err(error) => Look::Unknown(format!("it cannot be listed: {error}")),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_new_directory_is_waited_for_and_an_archive_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let [new, archive, absent] = ["new", "archive.zip", "absent"].map(|name| root.path().join(name));
        fs::create_dir(&new).unwrap();
        fs::write(new.join("m.py"), "").unwrap();
        fs::write(&archive, "").unwrap();
        let directories = Directories::list([new.as_path(), &archive, &absent, &new], Times::Nanoseconds);
        let (listing, guard) = directories.listing(&new).unwrap();
        assert!(listing.unsettled_for(Times::Nanoseconds, SystemTime::now()).is_none());
        assert_eq!(directories.guards()[guard].identity, Some(listing.identity));
        assert!(matches!(directories.get(&absent), Some(Known::Absent(_))));
        assert_eq!(directories.unknown().collect::<Vec<_>>(), [(archive.as_path(), "it is not a directory")]);
        assert_eq!(directories.guards().len(), 2);
    }
}
