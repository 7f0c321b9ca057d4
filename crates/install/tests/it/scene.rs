//! A directory with things at the places, and the example that installs there.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use tempfile::TempDir;

/// The example `transact`.
pub(crate) fn transact() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    BUILT.get_or_init(|| coldstart_testing::example(env!("CARGO"), manifest, "transact"))
}

/// A directory in which a file and a link stand at places.
pub(crate) fn scene() -> TempDir {
    // In memory, where a hundred installations take no time to be flushed.
    let memory = Path::new("/dev/shm");
    let directory = if memory.is_dir() { memory } else { Path::new(env!("CARGO_TARGET_TMPDIR")) };
    let scene = tempfile::tempdir_in(directory).unwrap();
    let places = scene.path().join("places");
    fs::create_dir(&places).unwrap();
    fs::write(places.join("old"), "what stood there\n").unwrap();
    fs::set_permissions(places.join("old"), Permissions::from_mode(0o640)).unwrap();
    symlink("nowhere", places.join("link")).unwrap();
    fs::write(scene.path().join("image"), "image").unwrap();
    let index = scene.path().join("index/current");
    fs::create_dir_all(index.join("python")).unwrap();
    fs::write(index.join("manifest"), "first").unwrap();
    fs::write(index.join("python/data"), "first").unwrap();
    scene
}

/// All that stands at the places: contents, modes and targets of links by path.
pub(crate) fn standing(scene: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut directories = vec![scene.join("places")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let kind = fs::symlink_metadata(&path).unwrap();
            let what = if kind.is_dir() {
                directories.push(path.clone());
                "directory".to_owned()
            } else if kind.is_symlink() {
                format!("-> {}", fs::read_link(&path).unwrap().display())
            } else {
                format!("{:o} {}", kind.permissions().mode() & 0o7777, fs::read_to_string(&path).unwrap())
            };
            found.insert(path.strip_prefix(scene).unwrap().to_owned(), what);
        }
    }
    found
}
