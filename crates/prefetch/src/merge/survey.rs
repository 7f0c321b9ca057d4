//! The first reading of the plans: what most of them agree on.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use coldstart_profile::FileIdentity;
use coldstart_profile::plan::{PlanView, PlannedDevice, TargetKind};

use super::disk::{Disk, PlaceVotes};
use super::join::Join;
use super::recording::Recording;

/// What several plans have in common. Add each, then [`Self::settle`].
#[derive(Debug, Default)]
pub struct Survey {
    recordings: u32,
    starts: Vec<Duration>,
    hot_starts: Vec<Duration>,
    devices: Vec<PlannedDevice>,
    /// Of the latest recording; of several from one second, the smallest.
    latest: Option<(i64, std::cmp::Reverse<Vec<OsString>>)>,
    programs: HashMap<OsString, u32>,
    files: BTreeMap<PathBuf, SeenFile>,
    places: PlaceVotes,
}

/// The versions of a file.
#[derive(Debug, Default)]
struct SeenFile {
    versions: HashMap<FileIdentity, Seen>,
    is_rewritten: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    count: u32,
    latest: i64,
}

/// What the plans agree on.
#[derive(Debug)]
pub(super) struct Agreed {
    pub(super) recordings: u32,
    pub(super) recorded_at: i64,
    pub(super) recorded_start: Duration,
    pub(super) hot_start: Option<Duration>,
    pub(super) device: PlannedDevice,
    pub(super) device_kinds: usize,
    pub(super) command: Vec<OsString>,
    pub(super) programs: usize,
    pub(super) versions: BTreeMap<PathBuf, AgreedVersion>,
    pub(super) disk: Disk,
}

/// The version of a file that is planned.
#[derive(Clone, Copy, Debug)]
pub(super) struct AgreedVersion {
    pub(super) identity: FileIdentity,
    /// Then every version counts.
    pub(super) is_rewritten: bool,
    /// Recordings with another version.
    pub(super) others: u32,
}

impl AgreedVersion {
    /// Whether pages of a target are pages of this version.
    pub(super) fn covers(&self, kind: TargetKind) -> bool {
        self.is_rewritten || identity_of(kind) == Some(self.identity)
    }
}

impl Survey {
    /// Takes note of a plan.
    pub fn add(&mut self, plan: &PlanView<'_>) {
        let (summary, command) = (plan.summary(), plan.command());
        let recording = Recording::of(plan);
        self.recordings += 1;
        self.starts.push(summary.recorded_start);
        self.hot_starts.extend(Some(summary.hot_start).filter(|hot| !hot.is_zero()));
        self.devices.push(summary.device);
        let program = command.first().and_then(|program| Path::new(program).file_name()).unwrap_or_default();
        *self.programs.entry(program.to_owned()).or_default() += 1;
        self.latest = self.latest.take().max(Some((summary.recorded_at, std::cmp::Reverse(command))));
        for (&path, file) in &recording.files {
            let Some(identity) = identity_of(file.kind) else { continue };
            let seen = match self.files.get_mut(path) {
                Some(seen) => seen,
                None => self.files.entry(path.to_owned()).or_default(),
            };
            seen.is_rewritten |= matches!(file.kind, TargetKind::RewrittenFile(_));
            let version = seen.versions.entry(identity).or_insert(Seen { count: 0, latest: summary.recorded_at });
            version.count += 1;
            version.latest = version.latest.max(summary.recorded_at);
        }
        self.places.add(&recording, summary.recorded_at);
    }

    /// Decides what the plans agree on; `None` if there was no plan.
    #[must_use]
    pub fn settle(mut self) -> Option<Join> {
        let device = middle_device(&mut self.devices)?;
        let device_kinds = self.devices.chunk_by(is_alike).count();
        let (recorded_at, std::cmp::Reverse(command)) = self.latest?;
        let agreed = |(path, file): (PathBuf, SeenFile)| Some((path, file.agreed()?));
        Some(Join::new(Agreed {
            recordings: self.recordings,
            recorded_at,
            recorded_start: middle(&mut self.starts).unwrap_or_default(),
            hot_start: middle(&mut self.hot_starts),
            device,
            device_kinds,
            command,
            programs: self.programs.len(),
            versions: self.files.into_iter().filter_map(agreed).collect(),
            disk: self.places.settle(),
        }))
    }
}

impl SeenFile {
    /// The version of most recordings; if equally many, the one recorded last, then the newer and the larger file. A
    /// rewritten file has the identity that was recorded last.
    fn agreed(&self) -> Option<AgreedVersion> {
        let all: u32 = self.versions.values().map(|seen| seen.count).sum();
        let rank = |(identity, seen): &(&FileIdentity, &Seen)| {
            let count = if self.is_rewritten { 0 } else { seen.count };
            (count, seen.latest, identity.modified, identity.size)
        };
        let (&identity, seen) = self.versions.iter().max_by_key(rank)?;
        let others = if self.is_rewritten { 0 } else { all - seen.count };
        Some(AgreedVersion { identity, is_rewritten: self.is_rewritten, others })
    }
}

fn identity_of(kind: TargetKind) -> Option<FileIdentity> {
    match kind {
        TargetKind::File(identity) | TargetKind::RewrittenFile(identity) => Some(identity),
        TargetKind::BlockDevice | TargetKind::Name | TargetKind::Directory => None,
    }
}

/// The upper median.
fn middle(times: &mut [Duration]) -> Option<Duration> {
    times.sort_unstable();
    times.get(times.len() / 2).copied()
}

/// Of the kind that most recordings have (with one head or without; if equally many, without), the device of middle
/// latency. Sorts the devices.
fn middle_device(devices: &mut [PlannedDevice]) -> Option<PlannedDevice> {
    devices.sort_unstable_by_key(|device| (device.seeks, device.latency, device.bandwidth, device.parallel));
    let (flat, seeking) = devices.split_at(devices.partition_point(|device| !device.seeks));
    let kind = if seeking.len() > flat.len() { seeking } else { flat };
    kind.get(kind.len() / 2).copied()
}

/// Whether two measurements may be of one device: on a busy machine its latency differs several times.
fn is_alike(a: &PlannedDevice, b: &PlannedDevice) -> bool {
    a.seeks == b.seeks && b.latency <= a.latency.saturating_mul(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(latency: u64, seeks: bool) -> PlannedDevice {
        PlannedDevice { latency: Duration::from_micros(latency), bandwidth: 1, parallel: 1, seeks }
    }

    #[test]
    fn the_device_is_one_of_the_kind_of_most() {
        let mut devices = [device(9000, true), device(50, false), device(8000, true), device(10_000, true)];
        assert_eq!(middle_device(&mut devices), Some(device(9000, true)));
        assert_eq!(devices.chunk_by(is_alike).count(), 2);
        let mut devices = [device(9000, true), device(50, false)];
        assert_eq!(middle_device(&mut devices), Some(device(50, false)));
        assert_eq!(middle_device(&mut []), None);
    }

    #[test]
    fn most_recordings_decide_and_then_the_latest() {
        let version = |size| FileIdentity { size, modified: 0 };
        let seen = |count, latest| Seen { count, latest };
        let mut file = SeenFile::default();
        file.versions.extend([(version(1), seen(2, 10)), (version(2), seen(1, 99))]);
        let agreed = file.agreed().unwrap();
        assert_eq!((agreed.identity, agreed.others), (version(1), 1));
        file.versions.insert(version(2), seen(2, 99));
        assert_eq!(file.agreed().unwrap().identity, version(2));
        file.versions.insert(version(1), seen(7, 10));
        file.is_rewritten = true;
        let agreed = file.agreed().unwrap();
        assert_eq!((agreed.identity, agreed.others), (version(2), 0), "its identity is not checked");
    }
}
