//! Files that remember which objects were looked at.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use coldstart_loader::{FileSystem, Identity, Probe};

/// Files over others, with every object that was looked at, in order. A closure tells the path of each object but not
/// those of its further names.
pub(super) struct Recorder<'a, Inner> {
    inner: &'a Inner,
    seen: RefCell<Vec<(PathBuf, Identity)>>,
}

impl<'a, Inner: FileSystem> Recorder<'a, Inner> {
    pub(super) fn over(inner: &'a Inner) -> Self {
        Self { inner, seen: RefCell::default() }
    }

    pub(super) fn into_seen(self) -> Vec<(PathBuf, Identity)> {
        self.seen.into_inner()
    }
}

impl<Inner: FileSystem> FileSystem for Recorder<'_, Inner> {
    fn object(&self, path: &Path) -> Probe {
        let probe = self.inner.object(path);
        if let Probe::Object { identity, .. } = &probe {
            self.seen.borrow_mut().push((path.to_owned(), *identity));
        }
        probe
    }

    fn is_directory(&self, path: &Path) -> bool {
        self.inner.is_directory(path)
    }

    fn canonical(&self, path: &Path) -> Option<PathBuf> {
        self.inner.canonical(path)
    }
}
