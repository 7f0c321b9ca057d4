//! What another crate does for an installation: files that are replaced and restored, and images that are unmounted.

use crate::error::InstallError;
use crate::manifest::ChangedFile;

/// What has become of a replaced file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplacedState {
    /// Replaced, and unchanged since.
    Replaced,
    /// The original is back, or was never replaced.
    Original,
    /// Neither: a clause that says why, such as "package libfoo1 1.2-3 became 1.2-4".
    Changed(String),
}

/// Replaces files by changed ones, and restores them. Each operation must be repeatable after a kill at any moment.
pub trait Replacer {
    /// Replaces a file as planned. The manifest that names it is already on disk.
    ///
    /// # Errors
    /// If it cannot be replaced; the file is then the original.
    fn replace(&self, file: &ChangedFile) -> Result<(), InstallError>;

    /// Restores the original, also when only a part of the replacement was done, or nothing.
    ///
    /// # Errors
    /// If it cannot be restored.
    fn restore(&self, file: &ChangedFile) -> Result<(), InstallError>;

    /// Examines a file without changing it.
    fn state(&self, file: &ChangedFile) -> ReplacedState;

    /// Unmounts the image of this UUID, before its file goes away or is exchanged. One that is not mounted is no error.
    ///
    /// # Errors
    /// If it cannot be unmounted.
    fn unmount(&self, _uuid: &str) -> Result<(), InstallError> {
        Ok(())
    }
}

/// For installations without replaced files; refuses all others.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoReplacer;

impl NoReplacer {
    fn refuse(doing: &'static str, file: &ChangedFile) -> InstallError {
        let reason = "replacing files is not built into this program".to_owned();
        InstallError::Replacer { doing, path: file.path.path().to_owned(), reason }
    }
}

impl Replacer for NoReplacer {
    fn replace(&self, file: &ChangedFile) -> Result<(), InstallError> {
        Err(Self::refuse("replace", file))
    }

    fn restore(&self, file: &ChangedFile) -> Result<(), InstallError> {
        Err(Self::refuse("restore", file))
    }

    fn state(&self, _: &ChangedFile) -> ReplacedState {
        ReplacedState::Changed("this program cannot examine replaced files".to_owned())
    }
}
