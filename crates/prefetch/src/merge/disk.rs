//! Which recordings are of one and the same disk.
//!
//! Offsets on the device and a file system's metadata blocks mean nothing on another disk, and a plan names no disk: device
//! numbers and names are the same on many hosts. But files lie at other places on every disk that was not
//! copied as a whole, so recordings are of one disk if the same files are at the same places.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use super::recording::Recording;

/// Files that are compared: those of the smallest hashes of their names, thus the same in each order of recordings.
const COMPARED_FILES: usize = 64;

/// A place of a file: how many recordings have it there, and when the last one was made.
type Votes = HashMap<u64, (u32, i64)>;

/// Where most recordings have a sample of the files.
#[derive(Debug, Default)]
pub(super) struct PlaceVotes {
    by_hash: BTreeMap<u64, Votes>,
}

/// The places of files on the disk of most recordings.
#[derive(Debug)]
pub(super) struct Disk {
    origin_by_hash: HashMap<u64, u64>,
}

impl PlaceVotes {
    pub(super) fn add(&mut self, recording: &Recording<'_>, recorded_at: i64) {
        for (hash, origin) in places(recording) {
            let vote = self.by_hash.entry(hash).or_default().entry(origin).or_insert((0, i64::MIN));
            *vote = (vote.0 + 1, vote.1.max(recorded_at));
            if self.by_hash.len() > COMPARED_FILES {
                self.by_hash.pop_last();
            }
        }
    }

    /// Each file at the place that most recordings have it; if equally many, the latest one.
    pub(super) fn settle(self) -> Disk {
        let best = |votes: Votes| {
            let best = votes.into_iter().max_by_key(|&(origin, (count, latest))| (count, latest, origin));
            best.map(|(origin, _)| origin)
        };
        let best = |(hash, votes)| Some((hash, best(votes)?));
        Disk { origin_by_hash: self.by_hash.into_iter().filter_map(best).collect() }
    }
}

impl Disk {
    /// Whether more than half of the compared files are where this disk has them. A few have moved on the same disk, when
    /// they were upgraded between two recordings.
    pub(super) fn has(&self, recording: &Recording<'_>) -> bool {
        let (mut same, mut compared) = (0u32, 0u32);
        for (hash, origin) in places(recording) {
            if let Some(&expected) = self.origin_by_hash.get(&hash) {
                compared += 1;
                same += u32::from(expected == origin);
            }
        }
        same * 2 > compared
    }
}

fn places<'of>(recording: &'of Recording<'_>) -> impl Iterator<Item = (u64, u64)> + 'of {
    let is_file = |kind| !matches!(kind, coldstart_profile::plan::TargetKind::BlockDevice);
    let files = recording.files.iter().filter(move |(_, file)| is_file(file.kind));
    files.filter_map(|(path, file)| Some((hash_of(path), file.origin()?)))
}

fn hash_of(path: &Path) -> u64 {
    // With fixed keys: the same in each process.
    let mut hasher = DefaultHasher::new();
    path.as_os_str().hash(&mut hasher);
    hasher.finish()
}
