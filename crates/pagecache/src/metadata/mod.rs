//! Evicting the metadata of files: directory entries, inodes, the file systems' own blocks.
//!
//! Evicting files alone leaves a start too warm: on ext4 every twelfth read of a cold LibreOffice start is of directories,
//! inode tables and extent blocks. Three ways reach those, each with its limits, so they are combined:
//!
//! - the memory of the *control group* in which the program ran is reclaimed. It affects no other process, but covers only
//!   pages that were not in memory before the program started;
//! - unused *entries* (directory entries and inodes) of the whole machine are dropped. No pages go;
//! - the *block device*'s pages are evicted: metadata blocks of the whole file system. Some devices cannot be opened.
//!
//! Entries must come before devices: while an inode is in memory its block is not read again, resident
//! or not. Once a program has run in the group after all three, the group alone covers everything.

mod device;

use std::path::PathBuf;

use coldstart_host::kernel::{numbers, settings};
use coldstart_sys::drop_caches::{drop_entries, drop_refusal};
use coldstart_sys::memory_group::{GroupError, MemoryGroup};

use self::device::{MetadataDevice, Skipped};

/// One way of evicting metadata.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Way {
    /// The program's control group is reclaimed.
    Group,
    /// Unused directory entries and inodes are dropped.
    Entries,
    /// A block device's pages are evicted.
    Device(PathBuf),
}

impl Way {
    /// "control group", "entries", or the device's path.
    pub fn name(&self) -> String {
        match self {
            Self::Group => "control group".to_owned(),
            Self::Entries => "entries".to_owned(),
            Self::Device(path) => path.to_string_lossy().into_owned(),
        }
    }

    /// What is counted: "bytes", "entries", or "pages" of 4 KiB.
    pub fn unit(&self) -> &'static str {
        match self {
            Self::Group => "bytes",
            Self::Entries => "entries",
            Self::Device(_) => "pages",
        }
    }
}

/// The result of a way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WayOutcome {
    /// The way.
    pub way: Way,
    /// The amount before and after; or why the way was not used.
    pub result: Result<Taken, String>,
}

/// An amount before and after. In bytes charged for a group, in numbers of entries, in pages of 4 KiB for a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Before.
    pub before: u64,
    /// After.
    pub after: u64,
}

/// Evicts metadata, by the ways available here.
#[derive(Debug)]
pub struct MetadataEviction {
    /// `None`: no program is run, so a group would be useless.
    group: Option<Result<MemoryGroup, String>>,
    devices: Vec<MetadataDevice>,
    skipped: Vec<Skipped>,
}

impl MetadataEviction {
    /// Prepares the ways for files that programs will read: creates a group, and finds the devices of their file
    /// systems.
    pub fn for_programs(files: impl IntoIterator<Item = PathBuf>) -> Self {
        let group = MemoryGroup::create().map_err(|error| told(&error));
        Self { group: Some(group), ..Self::for_files(files) }
    }

    /// Prepares the ways for files read by any process: entries and devices.
    pub fn for_files(files: impl IntoIterator<Item = PathBuf>) -> Self {
        let (devices, skipped) = device::devices_of(files);
        Self { group: None, devices, skipped }
    }

    /// Moves this process into the group, so that a program started next belongs to it. Without a group it does nothing.
    ///
    /// # Errors
    /// When that is not permitted, or the group has been frozen; then there is no group from here on.
    pub fn enter(&mut self) -> Result<(), GroupError> {
        let Some(Ok(group)) = &mut self.group else { return Ok(()) };
        group.enter().inspect_err(|error| self.group = Some(Err(told(error))))
    }

    /// Moves this process back out of the group; what was started in it stays there.
    pub fn leave(&mut self) {
        // Refused only if our former group was removed meanwhile, which cannot happen while we return to it.
        if let Some(Ok(group)) = &mut self.group {
            let _ = group.leave();
        }
    }

    /// Whether programs can be run in a group, so that [`group_only`](Self::group_only) is enough after the first time.
    pub fn has_group(&self) -> bool {
        matches!(self.group, Some(Ok(_)))
    }

    /// Evicts by all available ways.
    pub fn all_ways(&mut self) -> Vec<WayOutcome> {
        let mut outcomes = self.group_only();
        let entries = drop_refusal().map_or_else(evict_entries, |reason| Err(reason.to_owned()));
        outcomes.push(WayOutcome { way: Way::Entries, result: entries });
        for device in &self.devices {
            outcomes.push(WayOutcome { way: Way::Device(device.path.clone()), result: device.evict() });
        }
        for Skipped { device, reason } in &self.skipped {
            outcomes.push(WayOutcome { way: Way::Device(device.clone()), result: Err(reason.clone()) });
        }
        outcomes
    }

    /// Evicts only what is charged to the group.
    pub fn group_only(&mut self) -> Vec<WayOutcome> {
        let result = self.group.as_ref().map(|group| match group {
            Ok(group) => reclaim(group),
            Err(reason) => Err(reason.clone()),
        });
        result.map(|result| WayOutcome { way: Way::Group, result }).into_iter().collect()
    }
}

fn reclaim(group: &MemoryGroup) -> Result<Taken, String> {
    let charged = || group.charged().map(|charged| charged.total).map_err(|error| error.to_string());
    let before = charged()?;
    group.reclaim().map_err(|error| error.to_string())?;
    Ok(Taken { before, after: charged()? })
}

fn evict_entries() -> Result<Taken, String> {
    let before = unused_entries();
    drop_entries().map_err(|error| error.to_string())?;
    Ok(Taken { before, after: unused_entries() })
}

/// Unused directory entries and inodes (`Documentation/admin-guide/sysctl/fs.rst`, `dentry-state` and
/// `inode-nr`: the second number of each).
fn unused_entries() -> u64 {
    let second = |setting| numbers(setting).get(1).and_then(|&number| u64::try_from(number).ok()).unwrap_or(0);
    second(settings::DENTRY_STATE).saturating_add(second(settings::INODE_NR))
}

fn told(error: &GroupError) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
