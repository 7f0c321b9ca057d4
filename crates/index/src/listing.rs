//! The names in a directory, together with its identity.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::identity::Identity;

/// A directory that changed less than this ago may change again without another time: some file systems count in seconds, FAT in two, and
/// the clock of a server may count in anything.
pub(crate) const SETTLED: Duration = Duration::from_secs(2);
/// The same for local file systems with times in nanoseconds. The kernel takes these from its clock of ticks, of which there are at least
/// 100 in a second.
const SETTLED_BY_TICKS: Duration = Duration::from_millis(100);

/// How exactly an interpreter compares times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// One of them in whole seconds.
    Seconds,
    /// Both in nanoseconds.
    Nanoseconds,
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// Anything else.
    Other,
}

/// A name and its kind.
pub type Name = (Vec<u8>, NameKind);

/// A directory as it was when it was listed.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The directory's path as asked for.
    pub path: PathBuf,
    /// Before and after the listing the same.
    pub identity: Identity,
    names: BTreeMap<Vec<u8>, NameKind>,
}

impl Listing {
    /// Lists a directory. `Ok(None)`: it changed meanwhile.
    ///
    /// # Errors
    /// The kernel's.
    pub fn of(path: &Path) -> io::Result<Option<Self>> {
        let identity = Identity::of(path)?;
        let mut names = BTreeMap::new();
        for entry in std::fs::read_dir(path)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            let kind = match (kind.is_file(), kind.is_dir(), kind.is_symlink()) {
                (true, _, _) => NameKind::File,
                (_, true, _) => NameKind::Directory,
                (_, _, true) => NameKind::Link,
                _ => NameKind::Other,
            };
            names.insert(entry.file_name().as_bytes().to_vec(), kind);
        }
        Ok((Identity::of(path)? == identity).then(|| Self { path: path.to_owned(), identity, names }))
    }

    /// All names, sorted by their bytes.
    pub fn names(&self) -> impl Iterator<Item = (&[u8], NameKind)> {
        self.names.iter().map(|(name, kind)| (name.as_slice(), *kind))
    }

    /// The kind of a name that is there.
    pub fn kind(&self, name: &[u8]) -> Option<NameKind> {
        self.names.get(name).copied()
    }

    /// The kind of what a name leads to, links followed.
    pub fn followed(&self, name: &[u8]) -> Option<NameKind> {
        match self.kind(name)? {
            NameKind::Link => {
                let found = std::fs::metadata(self.path.join(OsStr::from_bytes(name))).ok()?;
                Some(match (found.is_file(), found.is_dir()) {
                    (true, _) => NameKind::File,
                    (_, true) => NameKind::Directory,
                    _ => NameKind::Other,
                })
            }
            kind => Some(kind),
        }
    }

    /// Whether its file system finds a name also by other letters: capitals for small ones. A directory without letters in its names has
    /// nothing that could be found so.
    pub fn folds_case(&self) -> bool {
        let other = |name: &[u8]| -> Vec<u8> {
            let flip = |&byte: &u8| {
                if byte.is_ascii_lowercase() { byte.to_ascii_uppercase() } else { byte.to_ascii_lowercase() }
            };
            name.iter().map(flip).collect()
        };
        let inode = |name: &[u8]| {
            let path = self.path.join(OsStr::from_bytes(name));
            std::fs::symlink_metadata(path).map(|found| std::os::unix::fs::MetadataExt::ino(&found)).ok()
        };
        let mut names = self.names.keys().map(|name| (name, other(name)));
        let with_letters = names.find(|(name, other)| *name != other && !self.names.contains_key(other));
        with_letters.is_some_and(|(name, other)| inode(&other).is_some_and(|found| inode(name) == Some(found)))
    }

    /// How long to wait until it counts as settled at `now`; `None` if it does.
    pub fn unsettled_for(&self, times: Times, now: SystemTime) -> Option<Duration> {
        unsettled_for(&self.identity, times, now)
    }
}

/// How long to wait until an identity tells every change; `None` if it does.
pub(crate) fn unsettled_for(identity: &Identity, times: Times, now: SystemTime) -> Option<Duration> {
    let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let settled = Duration::from_nanos(u64::try_from(identity.latest()).unwrap_or(0));
    let settled = settled.saturating_add(settling(identity, times));
    settled.checked_sub(now).filter(|left| !left.is_zero())
}

/// How long after a change the next one has another time.
fn settling(identity: &Identity, times: Times) -> Duration {
    // A device of its own: a local disk. Below a millisecond only ticks make a difference.
    let counts_ticks = identity.device.is_some() && identity.changed % 1_000_000 != 0;
    if counts_ticks && times == Times::Nanoseconds { SETTLED_BY_TICKS } else { SETTLED }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::ffi::OsStringExt;
    use std::os::unix::fs::symlink;

    #[test]
    fn names_are_bytes_and_links_are_followed_when_asked() {
        let directory = tempfile::tempdir().unwrap();
        let odd = std::ffi::OsString::from_vec(b"m\xff.py".to_vec());
        fs::write(directory.path().join(&odd), "").unwrap();
        fs::create_dir(directory.path().join("package")).unwrap();
        symlink("package", directory.path().join("link")).unwrap();
        symlink("nowhere", directory.path().join("dangling")).unwrap();
        let listing = Listing::of(directory.path()).unwrap().unwrap();
        assert_eq!(listing.kind(b"m\xff.py"), Some(NameKind::File));
        assert_eq!(
            (listing.kind(b"link"), listing.followed(b"link")),
            (Some(NameKind::Link), Some(NameKind::Directory))
        );
        assert_eq!((listing.kind(b"dangling"), listing.followed(b"dangling")), (Some(NameKind::Link), None));
        assert_eq!(listing.kind(b"absent"), None);
        assert_eq!(listing.names().count(), 4);
    }

    #[test]
    fn what_has_just_changed_is_not_settled() {
        let seconds = 1_000_000_000_i64;
        let on = |device, changed| Identity { device, inode: 1, modified: 0, changed };
        let left = |identity: &Identity, times, later: i64| {
            let now = SystemTime::UNIX_EPOCH + Duration::from_nanos((identity.changed + later).cast_unsigned());
            unsettled_for(identity, times, now).map(|left| left.as_millis())
        };
        let local = on(Some(1), 1000 * seconds + 123_456_789);
        assert_eq!(left(&local, Times::Seconds, seconds / 2), Some(1500));
        assert_eq!(left(&local, Times::Seconds, 2 * seconds), None);
        assert_eq!(left(&local, Times::Nanoseconds, seconds / 20), Some(50));
        assert_eq!(left(&local, Times::Nanoseconds, seconds / 10), None);
        // In FAT, and on a server.
        assert_eq!(left(&on(Some(1), 1000 * seconds + 120_000_000), Times::Nanoseconds, seconds), Some(1000));
        assert_eq!(left(&on(None, 1000 * seconds + 123_456_789), Times::Nanoseconds, seconds), Some(1000));
        // A server's clock may be ahead of ours.
        assert_eq!(left(&local, Times::Seconds, -5 * seconds), Some(7000));
    }
}
