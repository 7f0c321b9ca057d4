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

/// Retries of the lock, and their interval: the guardian of a killed coldstart needs a moment.
const LOCK_ATTEMPTS: u32 = 40;
const LOCK_INTERVAL: Duration = Duration::from_millis(25);

/// The processors at their base frequency, without turbo, for as long as this lives.
///
/// All settings are restored on drop, and by a [`Guardian`] when this process dies before. Create it
/// before any timing or launch.
pub struct FixedFrequency {
    tree: Tree,
    before: Vec<Setting>,
    fixed: Vec<Setting>,
    range: Option<FrequencyRange>,
    /// `None` once all settings are restored.
    guardian: Option<Guardian>,
    /// Held by the guardian, too: no other coldstart may begin until all is restored.
    _lock: File,
}

impl FixedFrequency {
    /// Fixes the frequency of every processor below `root` (see [`SYSFS`](super::SYSFS)) and verifies the settings.
    ///
    /// # Errors
    /// See [`FrequencyError`]; earlier changes have been undone then.
    pub fn hold(root: &Path) -> Result<Self, FrequencyError> {
        super::check(root)?;
        let tree = Tree::new(root);
        let policies = tree.policies();
        let lock = lock(&tree)?;
        // Under the lock: another coldstart's settings must not count as the original ones.
        let before = saved(&tree, &policies)?;
        let guardian = guardian(&tree, &before, &lock)
            .map_err(|source| FrequencyError::System { action: "start the process that puts it back", source })?;
        let mut held = Self { tree, before, fixed: Vec::new(), range: None, guardian: Some(guardian), _lock: lock };
        (held.fixed, held.range) = fix(&held.tree, &policies)?;
        Ok(held)
    }

    /// The fixed frequencies.
    pub fn range(&self) -> Option<FrequencyRange> {
        self.range
    }

    /// The PID of the guardian that restores the settings.
    pub fn guardian(&self) -> Option<u32> {
        self.guardian.as_ref().map(Guardian::process)
    }

    /// Whether all settings are unchanged: a power daemon may have overridden them.
    ///
    /// # Errors
    /// [`FrequencyError::NotTaken`] with the first changed setting.
    pub fn still_held(&self) -> Result<(), FrequencyError> {
        check(&self.tree, &self.fixed)
    }

    /// Restores all settings, and verifies them.
    ///
    /// # Errors
    /// [`FrequencyError::NotPutBack`] with the first setting that is not restored.
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
        // It may have been killed.
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
        // For errors, call `release`.
        let _ = self.put_back();
    }
}

impl std::fmt::Debug for FixedFrequency {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("FixedFrequency").field("range", &self.range).finish_non_exhaustive()
    }
}

/// Locks the directory itself, which always exists, needs no write permission, and is the same for all users. (Each network
/// namespace has its own `/sys`, so a container with one is not seen; then [`FixedFrequency::still_held`] reports
/// it.)
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
