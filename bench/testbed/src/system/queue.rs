//! A block device's queue settings.
//!
//! Not obvious: writing `rotational` or `scheduler` can reset `read_ahead_kb` (seen on Linux 6.18: 128
//! became 2560). So read-ahead is always written last and read back.

use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Result, ensure};
use fs_err as fs;
use serde::{Deserialize, Serialize};

use super::loop_device::sysfs;

/// The settings a bed decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct QueueSettings {
    /// The I/O scheduler.
    pub(crate) scheduler: String,
    /// Whether the kernel takes it for a disk that turns.
    pub(crate) rotational: bool,
    /// How far the kernel reads ahead, in KiB.
    pub(crate) read_ahead_kb: u64,
}

impl QueueSettings {
    /// The settings `device` has now.
    pub(crate) fn read(device: &Path) -> Result<Self> {
        let queue = sysfs(device)?.join("queue");
        let schedulers = fs::read_to_string(queue.join("scheduler"))?;
        // The chosen one stands in brackets: `[none] mq-deadline`.
        let chosen = schedulers.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(chosen, _)| chosen);
        Ok(Self {
            scheduler: chosen.unwrap_or(schedulers.trim()).to_owned(),
            rotational: fs::read_to_string(queue.join("rotational"))?.trim() == "1",
            read_ahead_kb: fs::read_to_string(queue.join("read_ahead_kb"))?.trim().parse()?,
        })
    }

    /// Gives `device` these settings and checks that it took them.
    pub(crate) fn apply(&self, device: &Path) -> Result<()> {
        let queue = sysfs(device)?.join("queue");
        write(&queue.join("scheduler"), &self.scheduler)?;
        write(&queue.join("rotational"), if self.rotational { "1" } else { "0" })?;
        write(&queue.join("read_ahead_kb"), &self.read_ahead_kb.to_string())?;
        let taken = Self::read(device)?;
        ensure!(taken == *self, "{} has the settings {taken:?} and not {self:?}", device.display());
        Ok(())
    }

    /// Like [`QueueSettings::apply`]; a device that is gone needs none.
    pub(crate) fn restore(&self, device: &Path) -> Result<()> {
        match self.apply(device) {
            Err(error) if is_missing(&error) => Ok(()),
            other => other,
        }
    }
}

fn write(file: &Path, value: &str) -> Result<()> {
    // Not fs::write: these files must not be truncated or created, only written.
    let mut file = fs::OpenOptions::new().write(true).open(file)?;
    Ok(std::io::Write::write_all(&mut file, value.as_bytes())?)
}

fn is_missing(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == ErrorKind::NotFound)
}
