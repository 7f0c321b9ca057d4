//! Holding the frequency while measuring.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use coldstart_profile::measurement::FrequencyRange;
use coldstart_sys::guardian::{Guardian, PutBack};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::error::FrequencyError;
use super::settings::{Setting, check, fix, saved, write};
use super::tree::Tree;

/// How often, and how long apart, the lock is tried: the guardian of one that was killed needs a moment.
const LOCK_ATTEMPTS: u32 = 40;
const LOCK_INTERVAL: Duration = Duration::from_millis(25);

/// The processors at their base frequency, without turbo, for as long as this lives.
///
/// Everything is put back when it is dropped, and by a [`Guardian`] when this process dies without having done so. Hold
/// before anything is timed or launched.
pub struct FixedFrequency {
    tree: Tree,
    before: Vec<Setting>,
    fixed: Vec<Setting>,
    range: Option<FrequencyRange>,
    /// `None` once everything was put back.
    guardian: Option<Guardian>,
    /// Held by the guardian, too: nobody else may begin until all is put back.
    _lock: File,
}

impl FixedFrequency {
    /// Fixes the frequency of every processor below `root` (see [`SYSFS`](super::SYSFS)) and reads everything back.
    ///
    /// # Errors
    /// See [`FrequencyError`]; what had been changed by then has been put back.
    pub fn hold(root: &Path) -> Result<Self, FrequencyError> {
        super::check(root)?;
        let tree = Tree::new(root);
        let policies = tree.policies();
        let lock = lock(&tree)?;
        // Under the lock: another's settings must not be taken for the machine's.
        let before = saved(&tree, &policies)?;
        let guardian = guardian(&tree, &before, &lock)
            .map_err(|source| FrequencyError::System { action: "start the process that puts it back", source })?;
        let mut held = Self { tree, before, fixed: Vec::new(), range: None, guardian: Some(guardian), _lock: lock };
        (held.fixed, held.range) = fix(&held.tree, &policies)?;
        Ok(held)
    }

    /// What the processors are held at.
    pub fn range(&self) -> Option<FrequencyRange> {
        self.range
    }

    /// The number of the process that puts everything back.
    pub fn guardian(&self) -> Option<u32> {
        self.guardian.as_ref().map(Guardian::process)
    }

    /// Whether all is still as it was set: a power daemon may have had its own mind.
    ///
    /// # Errors
    /// [`FrequencyError::NotTaken`] with the first setting that is not.
    pub fn still_held(&self) -> Result<(), FrequencyError> {
        check(&self.tree, &self.fixed)
    }

    /// Puts everything back, and looks whether it is.
    ///
    /// # Errors
    /// [`FrequencyError::NotPutBack`] with the first setting that is not.
    pub fn release(mut self) -> Result<(), FrequencyError> {
        self.put_back()
    }

    fn put_back(&mut self) -> Result<(), FrequencyError> {
        let Some(guardian) = self.guardian.take() else { return Ok(()) };
        // It does the writes and has ended when this returns.
        drop(guardian);
        if check(&self.tree, &self.before).is_ok() {
            return Ok(());
        }
        // Somebody may have killed it.
        for setting in &self.before {
            let _ = write(&self.tree, setting);
        }
        check(&self.tree, &self.before).map_err(|error| match error {
            FrequencyError::NotTaken { path, wanted, found } => FrequencyError::NotPutBack { path, wanted, found },
            other => other,
        })
    }
}

impl Drop for FixedFrequency {
    fn drop(&mut self) {
        // Who wants to know calls `release`.
        let _ = self.put_back();
    }
}

impl std::fmt::Debug for FixedFrequency {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("FixedFrequency").field("range", &self.range).finish_non_exhaustive()
    }
}

/// Locks the directory itself, which is there, needs no permission to be written, and is one for all users. (Each network
/// namespace has a `/sys` of its own, so that a container with one is not seen; [`FixedFrequency::still_held`] tells
/// then.)
fn lock(tree: &Tree) -> Result<File, FrequencyError> {
    let path = tree.path("cpufreq");
    let failed = |source| FrequencyError::System { action: "lock it against other measurements", source };
    let file = File::open(&path).map_err(failed)?;
    for attempt in 1..=LOCK_ATTEMPTS {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(Errno::WOULDBLOCK) if attempt < LOCK_ATTEMPTS => std::thread::sleep(LOCK_INTERVAL),
            Err(Errno::WOULDBLOCK) => break,
            Err(Errno::INTR) => {}
            Err(error) => return Err(failed(error.into())),
        }
    }
    Err(FrequencyError::HeldByAnother { path })
}

fn guardian(tree: &Tree, before: &[Setting], lock: &File) -> std::io::Result<Guardian> {
    let writes = before.iter().map(|setting| PutBack::new(&tree.path(&setting.name), setting.value.as_bytes()));
    Guardian::start(&writes.collect::<Result<Vec<_>, _>>()?, lock.as_fd())
}
