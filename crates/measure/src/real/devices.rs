//! The block devices that hold the files, and what is read from them.
//!
//! Their counters are the second witness beside the program's own: they see what anybody reads, so they also show when
//! somebody else did. The counters' files stay open: opening them during a cold start would be work of ours in it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use coldstart_profile::measurement::{Device, DeviceReads};
use rustix::fs::{AtFlags, CWD, StatxFlags, major, minor, statx};

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
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let mut seen: BTreeSet<u64> = BTreeSet::new();
        let mut names: BTreeSet<String> = BTreeSet::new();
        for path in files {
            let Ok(metadata) = fs::metadata(path) else { continue };
            let number = if metadata.file_type().is_block_device() { metadata.rdev() } else { metadata.dev() };
            if !seen.insert(number) {
                continue;
            }
            let name = format!("{}:{}", major(number), minor(number));
            if in_sys(&name).exists() {
                names.insert(name);
            } else {
                // btrfs numbers its subvolumes, not its devices, and not even as the mount table does.
                names.extend(
                    mount_id(path)
                        .and_then(|mount| source(&mounts, mount))
                        .and_then(|source| block_device_number(&source)),
                );
            }
        }
        let devices: Vec<_> = names.into_iter().filter_map(Counted::new).collect();
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

    /// What was read since. Cheap: one `pread` a device.
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
    fn new(number: String) -> Option<Self> {
        let place = fs::canonicalize(in_sys(&number)).ok()?;
        let counters = File::open(place.join("stat")).ok()?;
        // A partition has no queue and no drive of its own.
        let disk = if place.join("partition").exists() { place.parent()?.to_owned() } else { place.clone() };
        let read_ahead = disk.join("queue/read_ahead_kb");
        let read_ahead_kib = read_number(&read_ahead);
        let facts = Device {
            name: place.file_name()?.to_string_lossy().into_owned(),
            model: read_line(&disk.join("device/model")),
            rotational: read_number(&disk.join("queue/rotational")).map(|value| value != 0),
            read_ahead_kib,
            scheduler: read_line(&disk.join("queue/scheduler")).map(|line| chosen(&line)),
            number,
        };
        Some(Self { facts, counters, read_ahead, read_ahead_kib })
    }
}

/// "none [mq-deadline] kyber": the one in brackets.
fn chosen(line: &str) -> String {
    let inside = line.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or(line, |(inside, _)| inside).to_owned()
}

fn in_sys(number: &str) -> PathBuf {
    Path::new("/sys/dev/block").join(number)
}

/// Field 1: read requests completed; field 3: sectors read.
fn counters(file: &File) -> Option<Counters> {
    let mut buffer = [0; 512];
    let length = file.read_at(&mut buffer, 0).ok()?;
    let text = std::str::from_utf8(buffer.get(..length)?).ok()?;
    let mut fields = text.split_ascii_whitespace();
    Some((fields.next()?.parse().ok()?, fields.nth(1)?.parse().ok()?))
}

/// The number of the mount that a file is reached by (`statx(2)`, Linux 5.8).
fn mount_id(path: &Path) -> Option<u64> {
    let found = statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID).ok()?;
    (found.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(found.stx_mnt_id)
}

/// The source of a mount (`proc_pid_mountinfo(5)`: field 1 is the mount's number; the source is the second field after the
/// hyphen).
fn source(mounts: &str, mount: u64) -> Option<PathBuf> {
    let line = mounts.lines().find(|line| line.split(' ').next().and_then(|id| id.parse().ok()) == Some(mount))?;
    let source = line.split_once(" - ")?.1.split(' ').nth(1)?;
    source.starts_with('/').then(|| PathBuf::from(source))
}

fn block_device_number(path: &Path) -> Option<String> {
    let metadata = fs::metadata(path).ok().filter(|metadata| metadata.file_type().is_block_device())?;
    Some(format!("{}:{}", major(metadata.rdev()), minor(metadata.rdev()))).filter(|number| in_sys(number).exists())
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
    fn a_file_system_without_a_device_number_is_found_by_its_mount() {
        let mounts =
            "36 35 0:31 / / rw,relatime shared:1 - btrfs /dev/sda2 rw\n40 36 0:40 / /tmp rw - tmpfs tmpfs rw\n";
        assert_eq!(source(mounts, 36), Some("/dev/sda2".into()));
        assert_eq!(source(mounts, 40), None);
        assert_eq!(source(mounts, 4), None);
    }

    #[test]
    fn a_files_mount_stands_in_the_mount_table() {
        let Some(mount) = mount_id(Path::new("/proc/self/status")) else {
            println!("skipped: this kernel does not tell a file's mount (Linux 5.8)");
            assert!(std::env::var_os("COLDSTART_NO_SKIP").is_none());
            return;
        };
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let line = mounts.lines().find(|line| line.starts_with(&format!("{mount} "))).unwrap();
        assert!(line.contains(" - proc "), "{line}");
    }

    #[test]
    fn the_scheduler_in_use_stands_in_brackets() {
        assert_eq!(chosen("none [mq-deadline] kyber"), "mq-deadline");
        assert_eq!(chosen("none"), "none");
    }

    #[test]
    fn files_in_memory_have_no_device() {
        assert!(Devices::of([PathBuf::from("/proc/self/status")].iter()).devices.is_empty());
    }
}
