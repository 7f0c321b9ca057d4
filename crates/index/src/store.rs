//! Directories that never change once they have their name: they are checked once for the store's item or the image.
//!
//! - `/nix/store/ITEM`, `/gnu/store/ITEM`: the name contains a digest of the content, or of all that it was made from, and the item has
//!   no permission to write. Its directories are checked by the item's own.
//! - A mount of a file system that cannot be written (squashfs, EROFS, ISO 9660, cramfs, romfs): its directories are checked by the
//!   directory that it is mounted with.
//!
//! Not a mount that is only read-only here, such as NFS or CVMFS: others write to it.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use coldstart_host::mounts::Mounts;

/// Stores whose items are named by a digest.
const STORES: [&str; 2] = ["/nix/store", "/gnu/store"];
/// File systems that have no means of being written.
const IMAGES: [&str; 5] = ["squashfs", "erofs", "iso9660", "cramfs", "romfs"];
/// Bits of a mode that permit writing.
const WRITABLE: u32 = 0o222;

/// What is immutable around a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Store {
    /// An item of a store.
    Item(PathBuf),
    /// The root of a mounted image.
    Image(PathBuf),
}

impl Store {
    /// The directory that is checked.
    pub fn directory(&self) -> &Path {
        let (Self::Item(path) | Self::Image(path)) = self;
        path
    }
}

/// The immutable store around a directory, which must be absolute. A path with `..` or links that lead out of the item is in none.
pub fn store_of(directory: &Path, mounts: &Mounts) -> Option<Store> {
    // A link on the way, also one in a store, may be changed.
    let real = directory.canonicalize().ok().filter(|real| real == directory)?;
    for store in STORES {
        if let Some(item) = item_of(&real, Path::new(store)) {
            return is_closed(&item).then_some(Store::Item(item));
        }
    }
    let mount = mounts.of(&real)?;
    let is_image = IMAGES.iter().any(|kind| mount.file_system == OsStr::new(kind));
    is_image.then(|| Store::Image(mount.place.clone()))
}

/// The item that a path is in: the component right below the store.
fn item_of(path: &Path, store: &Path) -> Option<PathBuf> {
    match path.strip_prefix(store).ok()?.components().next()? {
        Component::Normal(item) => Some(store.join(item)),
        _ => None,
    }
}

/// Whether nobody has permission to write to it.
fn is_closed(item: &Path) -> bool {
    std::fs::metadata(item).is_ok_and(|found| found.is_dir() && found.permissions().mode() & WRITABLE == 0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_item_is_right_below_the_store() {
        let item = |path: &str| item_of(Path::new(path), Path::new("/gnu/store"));
        assert_eq!(item("/gnu/store/abc-python/lib/x"), Some("/gnu/store/abc-python".into()));
        assert_eq!(item("/gnu/store/abc-python"), Some("/gnu/store/abc-python".into()));
        assert_eq!(item("/gnu/store"), None);
        assert_eq!(item("/gnu/stores/abc"), None);
    }

    #[test]
    fn an_ordinary_directory_is_in_no_store() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(store_of(&directory.path().canonicalize().unwrap(), &Mounts::here().unwrap()), None);
    }

    #[test]
    fn only_a_mount_that_nobody_can_write_is_an_image() {
        let directory = tempfile::tempdir().unwrap();
        let real = directory.path().canonicalize().unwrap();
        let table = |kind: &str| {
            let line = format!("1 1 7:1 / {} ro - {kind} /dev/loop1 ro\n", real.display());
            Mounts::parse(line.as_bytes())
        };
        assert_eq!(store_of(&real, &table("squashfs")), Some(Store::Image(real.clone())));
        for others_write in ["nfs4", "fuse.cvmfs", "ext4"] {
            assert_eq!(store_of(&real, &table(others_write)), None, "{others_write}");
        }
    }
}
