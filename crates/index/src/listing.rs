//! The names in a directory, together with its identity.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::identity::Identity;

/// A directory that changed less than this ago may change again without another time: some file systems count in seconds, FAT in two.
pub(crate) const SETTLED: Duration = Duration::from_secs(2);

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

    /// How long to wait until it counts as settled at `now`; `None` if it does.
    pub fn unsettled_for(&self, now: SystemTime) -> Option<Duration> {
        unsettled_for(&self.identity, now)
    }
}

/// How long to wait until an identity tells every change; `None` if it does.
pub(crate) fn unsettled_for(identity: &Identity, now: SystemTime) -> Option<Duration> {
    let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let settled = Duration::from_nanos(u64::try_from(identity.latest()).unwrap_or(0)).saturating_add(SETTLED);
    settled.checked_sub(now).filter(|left| !left.is_zero())
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
        let directory = tempfile::tempdir().unwrap();
        let listing = Listing::of(directory.path()).unwrap().unwrap();
        let changed = SystemTime::UNIX_EPOCH + Duration::from_nanos(listing.identity.latest().cast_unsigned());
        assert_eq!(listing.unsettled_for(changed + Duration::from_millis(500)), Some(Duration::from_millis(1500)));
        assert_eq!(listing.unsettled_for(changed + SETTLED), None);
        // A server's clock may be ahead of ours.
        assert_eq!(listing.unsettled_for(changed - Duration::from_secs(5)), Some(Duration::from_secs(7)));
    }
}
