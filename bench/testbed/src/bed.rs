//! A bed and its state on disk.
//!
//! Every change that `up` makes to the system is a [`Step`]. It is written to `state.json` before it is made, so that
//! `down` finds it even when `up` was killed; undoing a step that was never made is not an error.

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use fs_err as fs;
use serde::{Deserialize, Serialize};

use crate::model::Parameters;
use crate::system::process::ProcessIdentity;
use crate::system::queue::QueueSettings;

mod undo;

pub(crate) use undo::{Busy, undo};

/// The kind of a bed's disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum BedKind {
    /// A model of a disk with one moving head.
    Hdd,
    /// A model of a disk behind a network.
    Net,
    /// This machine's own disk.
    Disk,
}

impl fmt::Display for BedKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Hdd => "hdd",
            Self::Net => "net",
            Self::Disk => "disk",
        })
    }
}

/// Something done to the system, with what is needed to undo it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub(crate) enum Step {
    /// A directory created by us.
    Directory { path: PathBuf },
    /// The working copy of the image.
    WorkingCopy { path: PathBuf },
    /// The server and its FUSE mount; `process` is known once it runs.
    Server { mount_point: PathBuf, process: Option<ProcessIdentity> },
    /// A loop device on `backing`; `device` is known once it is attached.
    Loop { backing: PathBuf, device: Option<PathBuf> },
    /// The queue settings `device` had before ours.
    Queue { device: PathBuf, before: QueueSettings },
    /// A file system mounted at `target`.
    Mount { target: PathBuf },
}

/// A bed as written to `state.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct State {
    pub(crate) schema: String,
    pub(crate) name: String,
    pub(crate) kind: BedKind,
    /// The model's figures; `None` for this machine's own disk.
    pub(crate) parameters: Option<Parameters>,
    /// The image the working copy was made from.
    pub(crate) image: PathBuf,
    pub(crate) mount_point: PathBuf,
    /// Whether `up` has finished.
    pub(crate) complete: bool,
    /// The steps made, in order.
    pub(crate) steps: Vec<Step>,
}

/// The state file's format.
pub(crate) const SCHEMA: &str = "coldstart-testbed.state/1";

impl State {
    /// The bed with the directory `home`; `None` when there is none.
    pub(crate) fn load(home: &Path) -> Result<Option<Self>> {
        let file = home.join("state.json");
        let bytes = match fs::read(&file) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        let state: Self =
            serde_json::from_slice(&bytes).with_context(|| format!("{} is not a bed's state", file.display()))?;
        ensure!(
            state.schema == SCHEMA,
            "{} has the format {}, not {SCHEMA}\nhint: take the bed down with the version that brought it up",
            file.display(),
            state.schema
        );
        Ok(Some(state))
    }

    /// Writes the state beside its place and renames, so that it is always whole.
    pub(crate) fn save(&self, home: &Path) -> Result<()> {
        let growing = home.join("state.partial");
        fs::write(&growing, serde_json::to_vec_pretty(self)?)?;
        fs::rename(&growing, home.join("state.json"))?;
        Ok(())
    }

    /// Removes the state: the bed is gone.
    pub(crate) fn remove(home: &Path) -> Result<()> {
        match fs::remove_file(home.join("state.json")) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// The loop device, once attached.
    pub(crate) fn device(&self) -> Option<&Path> {
        self.steps.iter().find_map(|step| match step {
            Step::Loop { device, .. } => device.as_deref(),
            _ => None,
        })
    }

    /// The working copy of the image: what the server, or the loop device itself, reads.
    pub(crate) fn working_copy(&self) -> Option<&Path> {
        self.steps.iter().find_map(|step| match step {
            Step::WorkingCopy { path } => Some(path.as_path()),
            _ => None,
        })
    }

    /// The server's mount point and process, if the bed has a server.
    pub(crate) fn server(&self) -> Option<(&Path, Option<&ProcessIdentity>)> {
        self.steps.iter().find_map(|step| match step {
            Step::Server { mount_point, process } => Some((mount_point.as_path(), process.as_ref())),
            _ => None,
        })
    }
}

/// Keeps a second `up` or `down` of the same bed out while it lives.
pub(crate) struct Lock {
    _file: fs::File,
}

impl Lock {
    /// # Errors
    /// When another command is changing this bed.
    pub(crate) fn take(home: &Path) -> Result<Self> {
        fs::create_dir_all(home)?;
        let file = fs::File::create(home.join("lock"))?;
        file.file().try_lock().with_context(|| format!("another command is using the bed in {}", home.display()))?;
        Ok(Self { _file: file })
    }
}
