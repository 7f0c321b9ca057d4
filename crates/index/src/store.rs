//! Directories that never change once they have their name, and those that do not tell a change.
//!
//! - `/nix/store/ITEM`, `/gnu/store/ITEM`: the name contains a digest of the content, or of all that it was made from, and the item has
//!   no permission to write. Its directories are checked by the item's own.
//! - An image of a file system that cannot be written (squashfs, EROFS, ISO 9660, cramfs, romfs): another image may be mounted in its place,
//!   with the same device, the same inodes and, as the time of the last change comes from the image as well, the same times. Its directories
//!   are checked one by one; where all have the same time, as in reproducible builds, they tell nothing.
//!
//! A mount that is only read-only here, such as NFS or CVMFS, is like any other: others write to it.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use coldstart_host::mounts::Mounts;

use crate::identity::Identity;

/// Stores whose items are named by a digest.
const STORES: [&str; 2] = ["/nix/store", "/gnu/store"];
/// File systems that have no means of being written.
const IMAGES: [&str; 5] = ["squashfs", "erofs", "iso9660", "cramfs", "romfs"];
/// Bits of a mode that permit writing.
const WRITABLE: u32 = 0o222;

/// The item of an immutable store around a directory, which must be absolute. A path with `..` or links that lead out of the item is in none.
pub fn store_item(directory: &Path) -> Option<PathBuf> {
    // A link on the way, also one in a store, may be changed.
    let real = directory.canonicalize().ok().filter(|real| real == directory)?;
    STORES.iter().find_map(|store| item_of(&real, Path::new(store))).filter(|item| is_closed(item))
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

/// Whether a directory is in an image and has the same time as all directories around it, so that another image cannot be told from it.
///
/// Around it are those that lead to it, and what is right below each of these. The image's own directory counts only if there is
/// no other: tools make it anew.
pub(crate) fn tells_no_change(directory: &Path, mounts: &Mounts) -> bool {
    let Ok(real) = directory.canonicalize() else { return false };
    let Some(mount) = mounts.of(&real) else { return false };
    if !IMAGES.iter().any(|kind| mount.file_system == OsStr::new(kind)) {
        return false;
    }
    let Ok(own) = Identity::of(&real) else { return true };
    let has_another_time = |path: &Path| Identity::of(path).is_ok_and(|found| found.modified != own.modified);
    let mut has_others = false;
    for above in real.ancestors().take_while(|above| above.starts_with(&mount.place)) {
        let below = std::fs::read_dir(above).into_iter().flatten().flatten();
        let directories = below.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        for path in directories.map(|entry| entry.path()).filter(|path| *path != real) {
            has_others = true;
            if has_another_time(&path) {
                return false;
            }
        }
    }
    has_others || !has_another_time(&mount.place)
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
        assert_eq!(store_item(&directory.path().canonicalize().unwrap()), None);
    }

    #[test]
    fn only_an_image_whose_directories_have_one_time_tells_no_change() {
        let directory = tempfile::tempdir().unwrap();
        let real = directory.path().canonicalize().unwrap();
        let table = |kind: &str| {
            let line = format!("1 1 7:1 / {} ro - {kind} /dev/loop1 ro\n", real.display());
            Mounts::parse(line.as_bytes())
        };
        let at = |name: &str, seconds: u64| {
            let path = real.join(name);
            std::fs::create_dir_all(&path).unwrap();
            let time = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
            std::fs::File::open(&path).unwrap().set_modified(time).unwrap();
            path
        };
        let (a, _) = (at("a", 1), at("b", 1));
        assert!(tells_no_change(&a, &table("squashfs")));
        for others_write in ["nfs4", "fuse.cvmfs", "ext4"] {
            assert!(!tells_no_change(&a, &table(others_write)), "{others_write}");
        }
        at("c", 2);
        assert!(!tells_no_change(&a, &table("erofs")));
    }
}
