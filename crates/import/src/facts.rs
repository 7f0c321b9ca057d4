//! Perf's facts about the machine and itself. Each may be missing; malformed ones are ignored.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use linux_perf_data::Feature;

use super::bytes::{Bytes, Order, until_nul};

/// Bytes in front of the path in an entry of the build ids: header, process, build id with its length.
const BEFORE_PATH: usize = 8 + 4 + 24;
/// `PERF_RECORD_MISC_BUILD_ID_SIZE`: the length of the build id is stored.
const HAS_SIZE: u16 = 1 << 15;
/// The longest build id that the format has room for.
const LONGEST: usize = 20;
/// The privilege level of a mapping in a record's `misc` (`PERF_RECORD_MISC_CPUMODE_MASK`), and that of programs.
const LEVEL: u16 = 7;
const USER: u16 = 2;

/// The facts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    /// `uname -r`.
    pub(super) kernel: Option<String>,
    /// `uname -m`.
    pub(super) machine: Option<String>,
    /// Processors that were online.
    pub(super) processors: Option<u32>,
    /// Perf's own command line.
    pub(super) command: Vec<OsString>,
    /// Names of the events, in their order.
    pub(super) events: Vec<String>,
    /// Seconds since 1970, and what the clock of the records said at that moment, in nanoseconds.
    pub(super) clock: Option<(i64, u64)>,
    /// Build ids by path. The kernel's own are left out.
    pub(super) build_ids: BTreeMap<PathBuf, Vec<u8>>,
}

impl Facts {
    /// Reads them.
    pub(super) fn read(facts: &BTreeMap<u32, &[u8]>, order: Order) -> Self {
        let fact = |feature: Feature| facts.get(&feature.0).map(|bytes| Bytes::new(bytes, 0, order));
        let text = |feature| {
            let text = fact(feature).and_then(|mut it| it.string())?;
            Some(String::from_utf8_lossy(text).into_owned())
        };
        Self {
            kernel: text(Feature::OSRELEASE),
            machine: text(Feature::ARCH),
            processors: fact(Feature::NRCPUS).and_then(processors),
            command: fact(Feature::CMDLINE).map(command).unwrap_or_default(),
            events: fact(Feature::EVENT_DESC).map(event_names).unwrap_or_default(),
            clock: fact(Feature::CLOCK_DATA).and_then(clock),
            build_ids: fact(Feature::BUILD_ID).map(build_ids).unwrap_or_default(),
        }
    }
}

/// Those that were there, then those that were online.
fn processors(mut bytes: Bytes<'_>) -> Option<u32> {
    bytes.u32()?;
    bytes.u32()
}

fn command(mut bytes: Bytes<'_>) -> Vec<OsString> {
    bytes.u32();
    std::iter::from_fn(|| bytes.string()).map(|word| OsStr::from_bytes(word).to_owned()).collect()
}

/// Number of events, size of their attributes, then each: attributes, how many numbers, name, numbers.
fn event_names(mut bytes: Bytes<'_>) -> Vec<String> {
    let mut names = Vec::new();
    let Some((_, size)) = bytes.u32().zip(bytes.u32()) else { return names };
    let mut name = || {
        bytes.take_wide(size.into())?;
        let numbers = bytes.u32()?;
        let name = bytes.string()?;
        bytes.take_wide(u64::from(numbers).checked_mul(8)?)?;
        Some(String::from_utf8_lossy(name).into_owned())
    };
    names.extend(std::iter::from_fn(&mut name));
    names
}

/// Version 1, the clock's number, the time of day and the clock's time at the same moment, in nanoseconds.
fn clock(mut bytes: Bytes<'_>) -> Option<(i64, u64)> {
    let version = bytes.u32()?;
    bytes.u32()?;
    let (wall, clock) = (bytes.u64()?, bytes.u64()?);
    let seconds = i64::try_from(wall / 1_000_000_000).ok()?;
    (version == 1).then_some((seconds, clock))
}

/// Entries like records: a header, then process, build id, path.
pub(super) fn build_ids(mut bytes: Bytes<'_>) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut entry = || {
        let (_, misc, size) = (bytes.u32()?, bytes.u16()?, usize::from(bytes.u16()?));
        bytes.u32()?;
        let id = bytes.take(24)?;
        let path = until_nul(bytes.take(size.checked_sub(BEFORE_PATH)?)?);
        let length = if misc & HAS_SIZE != 0 { id.get(LONGEST).map(|&length| usize::from(length)) } else { None };
        let id = id.get(..length.unwrap_or(LONGEST).min(LONGEST))?;
        Some((misc, path, if length.is_none() { without_zeros(id) } else { id }))
    };
    while let Some((misc, path, id)) = entry() {
        if misc & LEVEL == USER && path.starts_with(b"/") && !id.is_empty() {
            all.insert(PathBuf::from(OsStr::from_bytes(path)), id.to_vec());
        }
    }
    all
}

/// Old perfs did not say how long a build id is. Those of linkers have a length that is a multiple of four.
fn without_zeros(mut id: &[u8]) -> &[u8] {
    while let Some((rest, [0, 0, 0, 0])) = id.split_last_chunk() {
        id = rest;
    }
    id
}
