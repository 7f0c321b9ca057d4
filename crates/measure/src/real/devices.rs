//! The block devices that hold the files, and their read counters.
//!
//! Their counters cross-check the program's own: they include all processes, so they also show
//! reads by others. The counters' files stay open: opening them during a cold start would disturb it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use coldstart_host::block_device::BlockDevice;
use coldstart_host::mounts::Mounts;
use coldstart_host::text::chosen;
use coldstart_profile::measurement::{Device, DeviceReads};

/// The unit of `/sys/block/*/stat`, whatever the device's own sectors (`Documentation/block/stat.rst`).
const SECTOR: u64 = 512;

/// The devices, and their counters at the last [`begin`](Self::begin).
pub(crate) struct Devices {
    devices: Vec<Counted>,
    begin: Reading,
}

struct Counted {
    facts: Device,
    counters: File,
    /// `read_ahead_kb` of the device or, for a partition, of its disk.
    read_ahead: PathBuf,
    /// At the last begin.
    read_ahead_kib: Option<u64>,
}

/// Requests and sectors read, for each device in order; `None` where its counters could not be read.
pub(crate) type Reading = Vec<Option<Counters>>;

/// Requests and sectors.
type Counters = (u64, u64);

impl Devices {
    /// The devices of these files; those of network and memory file systems have none.
    pub(crate) fn of<'p>(files: impl Iterator<Item = &'p PathBuf>) -> Self {
        let mounts = Mounts::here().unwrap_or_default();
        let mut seen: BTreeSet<(u64, u64)> = BTreeSet::new();
        // In the order of their numbers as text, in which results list them.
        let mut found: BTreeMap<String, BlockDevice> = BTreeMap::new();
        for path in files {
            let Ok(metadata) = fs::metadata(path) else { continue };
            let number = if metadata.file_type().is_block_device() { metadata.rdev() } else { 0 };
            if !seen.insert((metadata.dev(), number)) {
                continue;
            }
            found.extend(BlockDevice::beneath(path, &mounts).map(|device| (device.number().to_string(), device)));
        }
        let devices: Vec<_> = found.into_values().filter_map(|device| Counted::new(&device)).collect();
        let begin = vec![None; devices.len()];
        Self { devices, begin }
    }

    /// Notes the counters and the readahead windows.
    pub(crate) fn begin(&mut self) {
        for device in &mut self.devices {
            device.read_ahead_kib = read_number(&device.read_ahead);
        }
        self.begin = self.now();
    }

    /// The reads since then. Cheap: one `pread` a device.
    pub(crate) fn since_begin(&self) -> Reading {
        let since = |(now, begin): (Option<Counters>, &Option<Counters>)| {
            let (now, begin) = (now?, (*begin)?);
            Some((now.0.wrapping_sub(begin.0), now.1.wrapping_sub(begin.1)))
        };
        self.now().into_iter().zip(&self.begin).map(since).collect()
    }

    pub(crate) fn reads(&self, reading: &Reading) -> Vec<DeviceReads> {
        let reads = |(device, reading): (&Counted, &Option<Counters>)| {
            let (requests, sectors) = (*reading)?;
            Some(DeviceReads {
                device: device.facts.number.clone(),
                requests,
                bytes: sectors.saturating_mul(SECTOR),
                read_ahead_kib: device.read_ahead_kib,
            })
        };
        self.devices.iter().zip(reading).filter_map(reads).collect()
    }

    pub(crate) fn facts(&self) -> Vec<Device> {
        self.devices.iter().map(|device| device.facts.clone()).collect()
    }

    fn now(&self) -> Reading {
        self.devices.iter().map(|device| counters(&device.counters)).collect()
    }
}

impl Counted {
    fn new(device: &BlockDevice) -> Option<Self> {
        let place = fs::canonicalize(device.directory()).ok()?;
        let counters = File::open(place.join("stat")).ok()?;
        // A partition has no queue or drive; its disk has.
        let disk = device.disk_directory()?;
        let read_ahead = disk.join("queue/read_ahead_kb");
        let read_ahead_kib = read_number(&read_ahead);
        let facts = Device {
            name: place.file_name()?.to_string_lossy().into_owned(),
            model: read_line(&disk.join("device/model")),
            rotational: read_number(&disk.join("queue/rotational")).map(|value| value != 0),
            read_ahead_kib,
            scheduler: read_line(&disk.join("queue/scheduler")).map(|line| chosen(&line).to_owned()),
            number: device.number().to_string(),
        };
        Some(Self { facts, counters, read_ahead, read_ahead_kib })
    }
}

/// Field 1: read requests completed; field 3: sectors read.
fn counters(file: &File) -> Option<Counters> {
    let mut buffer = [0; 512];
    let length = file.read_at(&mut buffer, 0).ok()?;
    let text = std::str::from_utf8(buffer.get(..length)?).ok()?;
    let mut fields = text.split_ascii_whitespace();
    Some((fields.next()?.parse().ok()?, fields.nth(1)?.parse().ok()?))
}

fn read_line(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|line| !line.is_empty())
}

fn read_number(path: &Path) -> Option<u64> {
    read_line(path)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_in_memory_have_no_device() {
        assert!(Devices::of([PathBuf::from(coldstart_host::process::own::STATUS)].iter()).devices.is_empty());
    }
}
