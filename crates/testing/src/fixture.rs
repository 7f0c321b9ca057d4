//! Fixtures that take long to build are built once, for all tests and all later runs.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use tempfile::TempDir;

use crate::within;

/// Longer than any fixture takes to build.
const LONGEST_BUILD: Duration = Duration::from_secs(600);

/// `tmp` in cargo's build directory: on the build's disk, while /tmp may be in memory.
pub fn build_directory() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    // TARGET/PROFILE/deps/PROGRAM
    let target = program.ancestors().nth(3).expect("a test runs from its build directory");
    let directory = target.join("tmp");
    fs::create_dir_all(&directory).unwrap();
    directory
}

/// A new directory on the disk that holds the build.
pub fn scratch() -> TempDir {
    TempDir::new_in(build_directory()).unwrap()
}

/// The inputs of a fixture: any change means another fixture.
#[derive(Clone, Debug, Default)]
pub struct Ingredients(blake3::Hasher);

impl Ingredients {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Source text, options.
    #[must_use]
    pub fn bytes(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.0.update(&(bytes.as_ref().len() as u64).to_le_bytes()).update(bytes.as_ref());
        self
    }

    /// The content of a file.
    #[must_use]
    pub fn file(self, path: impl AsRef<Path>) -> Self {
        self.bytes(fs::read(path).unwrap())
    }

    /// A program: where it is, its size and its time.
    #[must_use]
    pub fn program(self, name: impl AsRef<Path>) -> Self {
        let name = name.as_ref();
        let path = match name.is_absolute() {
            true => Some(name.to_owned()),
            false => std::env::var_os("PATH").and_then(|path| {
                std::env::split_paths(&path).map(|entry| entry.join(name)).find(|path| path.is_file())
            }),
        };
        let Some(metadata) = path.as_ref().and_then(|path| fs::metadata(path).ok()) else { return self.bytes("none") };
        let identity = format!("{path:?} {} {} {}", metadata.len(), metadata.mtime(), metadata.mtime_nsec());
        self.bytes(identity)
    }

    /// `fixture` with a digest of them.
    pub(crate) fn name(&self, fixture: &str) -> String {
        format!("{fixture}-{}", &self.0.finalize().to_hex()[..16])
    }
}

/// The directory of a fixture, which `make` fills unless it was made before from the same inputs. No test may change its
/// content.
///
/// # Panics
/// When making it fails.
#[track_caller]
pub fn built(name: &str, ingredients: &Ingredients, make: impl FnOnce(&Path)) -> PathBuf {
    let root = build_directory().join("built");
    fs::create_dir_all(&root).unwrap();
    let name = ingredients.name(name);
    let directory = root.join(&name);
    let mark = root.join(format!("{name}.built"));
    if mark.exists() {
        return directory;
    }
    // One builds, the others wait for it.
    let lock = OpenOptions::new().create(true).append(true).open(directory.with_extension("lock")).unwrap();
    let locked = || flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok();
    assert!(within(LONGEST_BUILD, locked), "`{name}` is not built within {} s", LONGEST_BUILD.as_secs());
    if !mark.exists() {
        // The unfinished work of a killed test. Made in its final place: some fixtures contain their whole paths.
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir(&directory).unwrap();
        make(&directory);
        fs::write(&mark, "").unwrap();
    }
    directory
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixture_is_made_once_of_the_same_ingredients() {
        let moment = format!("{:?} {}", std::time::SystemTime::now(), std::process::id());
        let ingredients = Ingredients::new().bytes(moment).program("sh").program("no-such-program");
        let first = built("a-test-of-fixtures", &ingredients, |at| fs::write(at.join("file"), "content").unwrap());
        let second = built("a-test-of-fixtures", &ingredients, |_| panic!("made twice"));
        assert_eq!(first, second);
        assert_eq!(fs::read_to_string(first.join("file")).unwrap(), "content");
        let other = built("a-test-of-fixtures", &ingredients.bytes("more"), |_| {});
        assert_ne!(first, other);
        for directory in [first, other] {
            fs::remove_dir_all(&directory).unwrap();
            fs::remove_file(directory.with_extension("lock")).unwrap();
            fs::remove_file(directory.with_extension("built")).unwrap();
        }
    }
}
