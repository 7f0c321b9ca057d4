//! A plan, used in place.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;

use super::layout::{CHECKED_FROM, HEADER_SIZE, MAGIC, STEP_SIZE, TARGET_SIZE, VERSION, header, kind, step, target};
use super::{MOST_BYTES, PlanSummary, PlannedDevice, PrefetchPlan, Step, Target, TargetKind};
use crate::{FileIdentity, PageRange};

/// Why this build cannot use bytes as a plan.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlanError {
    /// Another kind of file, or an empty one.
    #[error("not a prefetch plan: the first 8 bytes are not \"coldplan\"")]
    NotAPlan,
    /// Written by a newer coldstart.
    #[error("the plan has format version {found}; this coldstart reads versions up to {VERSION}")]
    NewerVersion {
        /// Version in the file.
        found: u32,
    },
    /// Truncated, or too long.
    #[error("the plan should be {expected} bytes long but is {found}")]
    WrongLength {
        /// Length the header and its counts ask for.
        expected: u64,
        /// Length of the bytes.
        found: u64,
    },
    /// A byte has changed since the plan was written.
    #[error("the plan is damaged: its checksum is {found:08x}, not {expected:08x}")]
    WrongChecksum {
        /// In the header.
        expected: u32,
        /// Of the bytes.
        found: u32,
    },
    /// An invalid record.
    #[error("the plan is damaged at byte {offset}: {what}")]
    BadRecord {
        /// Offset of the record.
        offset: usize,
        /// The reason.
        what: &'static str,
    },
    /// Larger than the limit for reading.
    #[error("it would have {length} bytes, but a plan has at most {} MiB", MOST_BYTES >> 20)]
    TooLong {
        /// The length in bytes.
        length: u64,
    },
    /// Larger than the format allows.
    #[error("{number} exceeds the limit of the format (4,294,967,295)")]
    TooLarge {
        /// The count or length.
        number: u64,
    },
}

/// A checked plan over the bytes of its file. Nothing is copied; no method can fail or panic after [`PlanView::read`].
#[derive(Clone, Copy, Debug)]
pub struct PlanView<'bytes> {
    header: &'bytes [u8],
    targets: &'bytes [u8],
    steps: &'bytes [u8],
    command: &'bytes [u8],
    names: &'bytes [u8],
}

impl<'bytes> PlanView<'bytes> {
    /// Checks the bytes of a plan file: magic, version, length, checksum, and that each record stays inside its tables.
    ///
    /// # Errors
    /// See [`PlanError`].
    pub fn read(bytes: &'bytes [u8]) -> Result<Self, PlanError> {
        if !bytes.starts_with(&MAGIC) {
            return Err(PlanError::NotAPlan);
        }
        let found = bytes.len() as u64;
        if bytes.len() < HEADER_SIZE {
            return Err(PlanError::WrongLength { expected: HEADER_SIZE as u64, found });
        }
        let version = u32_at(bytes, header::VERSION);
        if version != VERSION {
            return Err(PlanError::NewerVersion { found: version });
        }
        let count = |at| u64::from(u32_at(bytes, at));
        let lengths = [
            count(header::TARGET_COUNT) * TARGET_SIZE as u64,
            count(header::STEP_COUNT) * STEP_SIZE as u64,
            count(header::COMMAND_LENGTH),
            count(header::NAMES_LENGTH),
        ];
        let expected = HEADER_SIZE as u64 + lengths.iter().sum::<u64>();
        if expected != found || u64_at(bytes, header::LENGTH) != found {
            return Err(PlanError::WrongLength { expected: u64_at(bytes, header::LENGTH).max(expected), found });
        }
        let expected = u32_at(bytes, header::CHECKSUM);
        let found = crc32fast::hash(&bytes[CHECKED_FROM..]);
        if expected != found {
            return Err(PlanError::WrongChecksum { expected, found });
        }
        // The sum equals the length, so each part fits into it.
        let (head, rest) = bytes.split_at(HEADER_SIZE);
        let (targets, rest) = rest.split_at(lengths[0] as usize);
        let (steps, rest) = rest.split_at(lengths[1] as usize);
        let (command, names) = rest.split_at(lengths[2] as usize);
        let view = Self { header: head, targets, steps, command, names };
        view.check_records()?;
        Ok(view)
    }

    fn check_records(&self) -> Result<(), PlanError> {
        let bad = |offset, what| Err(PlanError::BadRecord { offset, what });
        for (number, record) in self.targets.chunks_exact(TARGET_SIZE).enumerate() {
            let offset = HEADER_SIZE + number * TARGET_SIZE;
            let end = u64::from(u32_at(record, target::NAME)) + u64::from(u32_at(record, target::NAME_LENGTH));
            if end > self.names.len() as u64 {
                return bad(offset, "its name is outside the name table");
            }
            let kind = u32_at(record, target::KIND);
            if kind > kind::DIRECTORY {
                return bad(offset, "a target of unknown kind");
            }
            if !self.name_of(record).starts_with(b"/") || self.name_of(record).contains(&0) {
                return bad(offset, "its name is not an absolute path");
            }
        }
        let mut window = 0;
        for (number, record) in self.steps.chunks_exact(STEP_SIZE).enumerate() {
            let offset = HEADER_SIZE + self.targets.len() + number * STEP_SIZE;
            let Some(kind) = self.kind_number(u32_at(record, step::TARGET)) else {
                return bad(offset, "a step without a target");
            };
            if u32_at(record, step::WINDOW) < window {
                return bad(offset, "windows do not ascend");
            }
            window = u32_at(record, step::WINDOW);
            let pages = u64::from(u32_at(record, step::PAGES));
            let is_name = matches!(kind, kind::NAME | kind::DIRECTORY);
            if is_name != (pages == 0) {
                return bad(offset, "a name with pages, or a file without");
            }
            // Byte offsets must fit `off_t`.
            let end = u64_at(record, step::START_PAGE).checked_add(pages);
            if end.is_none_or(|end| end > i64::MAX as u64 / crate::PAGE_SIZE) {
                return bad(offset, "pages past the largest file offset");
            }
        }
        let words = self.command.iter().filter(|&&byte| byte == 0).count();
        if words as u64 != u64::from(u32_at(self.header, header::COMMAND_WORDS)) {
            return bad(HEADER_SIZE + self.targets.len() + self.steps.len(), "inconsistent command");
        }
        if u32_at(self.header, header::CHUNK_PAGES) == 0 || u32_at(self.header, header::THREADS) == 0 {
            return bad(header::THREADS, "no threads, or reads of no pages");
        }
        Ok(())
    }

    /// Replay parameters and predictions.
    pub fn summary(&self) -> PlanSummary {
        let duration = |at| Duration::from_nanos(u64_at(self.header, at));
        PlanSummary {
            recorded_at: u64_at(self.header, header::RECORDED_AT) as i64,
            recorded_start: duration(header::RECORDED_START),
            hot_start: duration(header::HOT_START),
            windows_before_start: u32_at(self.header, header::WINDOWS_BEFORE_START),
            threads: u32_at(self.header, header::THREADS),
            chunk_pages: u32_at(self.header, header::CHUNK_PAGES),
            device: PlannedDevice {
                latency: duration(header::DEVICE_LATENCY),
                bandwidth: u64_at(self.header, header::DEVICE_BANDWIDTH),
                parallel: u32_at(self.header, header::DEVICE_PARALLEL),
                seeks: u32_at(self.header, header::DEVICE_SEEKS) != 0,
            },
            predicted_replay: duration(header::PREDICTED_REPLAY),
            predicted_start: duration(header::PREDICTED_START),
        }
    }

    /// Number of targets.
    pub fn target_count(&self) -> usize {
        self.targets.len() / TARGET_SIZE
    }

    /// Path and kind of a target; `None` past the last.
    pub fn target(&self, number: u32) -> Option<(&'bytes Path, TargetKind)> {
        let start = (number as usize).checked_mul(TARGET_SIZE)?;
        let record = self.targets.get(start..start + TARGET_SIZE)?;
        let identity =
            FileIdentity { size: u64_at(record, target::SIZE), modified: u64_at(record, target::MODIFIED) as i64 };
        let kind = match u32_at(record, target::KIND) {
            kind::FILE => TargetKind::File(identity),
            kind::REWRITTEN_FILE => TargetKind::RewrittenFile(identity),
            kind::BLOCK_DEVICE => TargetKind::BlockDevice,
            kind::NAME => TargetKind::Name,
            _ => TargetKind::Directory,
        };
        Some((Path::new(OsStr::from_bytes(self.name_of(record))), kind))
    }

    /// All steps in order.
    pub fn steps(&self) -> impl ExactSizeIterator<Item = Step> + Clone + 'bytes {
        self.steps.chunks_exact(STEP_SIZE).map(|record| Step {
            target: u32_at(record, step::TARGET),
            window: u32_at(record, step::WINDOW),
            pages: PageRange::new(u64_at(record, step::START_PAGE), u64::from(u32_at(record, step::PAGES))),
            first_use: Duration::from_micros(u64::from(u32_at(record, step::FIRST_USE))),
            physical: Some(u64_at(record, step::PHYSICAL)).filter(|&physical| physical != u64::MAX),
        })
    }

    /// The recorded program and its arguments.
    pub fn command(&self) -> Vec<OsString> {
        let mut words: Vec<_> =
            self.command.split(|&byte| byte == 0).map(|word| OsString::from_vec(word.to_vec())).collect();
        // Each word ends with a NUL, so the piece after the last one is empty and not a word.
        words.pop();
        words
    }

    /// The whole plan, copied.
    pub fn to_plan(&self) -> PrefetchPlan {
        let targets = (0..self.target_count() as u32)
            .filter_map(|number| self.target(number))
            .map(|(path, kind)| Target { path: PathBuf::from(path), kind })
            .collect();
        PrefetchPlan { summary: self.summary(), command: self.command(), targets, steps: self.steps().collect() }
    }

    fn kind_number(&self, number: u32) -> Option<u32> {
        let start = (number as usize).checked_mul(TARGET_SIZE)?;
        Some(u32_at(self.targets.get(start..start + TARGET_SIZE)?, target::KIND))
    }

    fn name_of(&self, record: &[u8]) -> &'bytes [u8] {
        let start = u32_at(record, target::NAME) as usize;
        let end = start + u32_at(record, target::NAME_LENGTH) as usize;
        self.names.get(start..end).unwrap_or_default()
    }
}

/// Callers pass offsets inside records of fixed size, so the slice is always there.
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|slice| slice.try_into().ok()).map_or(0, u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|slice| slice.try_into().ok()).map_or(0, u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plan_of(targets: Vec<Target>, steps: Vec<Step>) -> PrefetchPlan {
        let device =
            PlannedDevice { latency: Duration::from_micros(100), bandwidth: 500_000_000, parallel: 32, seeks: false };
        let summary = PlanSummary {
            recorded_at: 1_790_000_000,
            recorded_start: Duration::from_millis(3100),
            hot_start: Duration::from_millis(800),
            windows_before_start: 0,
            threads: 8,
            chunk_pages: 128,
            device,
            predicted_replay: Duration::from_millis(600),
            predicted_start: Duration::from_millis(1400),
        };
        PrefetchPlan { summary, command: vec!["soffice".into(), "--headless".into()], targets, steps }
    }

    fn small_plan() -> PrefetchPlan {
        let identity = FileIdentity { size: 10_000, modified: -5 };
        let targets = vec![
            Target { path: "/usr/lib/libc.so.6".into(), kind: TargetKind::File(identity) },
            Target { path: "/etc/missing".into(), kind: TargetKind::Name },
        ];
        let step = |target, window, pages, physical| Step {
            target,
            window,
            pages,
            first_use: Duration::from_micros(7),
            physical,
        };
        let steps = vec![step(1, 0, None, None), step(0, 2, PageRange::new(0, 3), Some(8192))];
        plan_of(targets, steps)
    }

    #[test]
    fn what_is_written_is_read() {
        let plan = small_plan();
        let bytes = plan.to_bytes().unwrap();
        assert_eq!(PlanView::read(&bytes).unwrap().to_plan(), plan);
    }

    #[test]
    fn each_cut_and_each_flipped_byte_is_noticed() {
        let bytes = small_plan().to_bytes().unwrap();
        for length in 0..bytes.len() {
            assert!(PlanView::read(&bytes[..length]).is_err(), "cut to {length}");
        }
        for at in 0..bytes.len() {
            // Bytes 12 to 15 and 28 to 31 are reserved and not looked at.
            if (12..16).contains(&at) || (28..32).contains(&at) {
                continue;
            }
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x40;
            assert!(PlanView::read(&damaged).is_err(), "byte {at} flipped");
        }
    }

    #[test]
    fn a_newer_version_says_so() {
        let mut bytes = small_plan().to_bytes().unwrap();
        bytes[header::VERSION] = 9;
        assert_eq!(PlanView::read(&bytes).unwrap_err(), PlanError::NewerVersion { found: 9 });
    }

    proptest! {
        #[test]
        fn any_bytes_behind_a_right_checksum_are_survived(mut tail in prop::collection::vec(any::<u8>(), 112..400),
            counts in prop::collection::vec(0u32..4, 4)) {
            let mut bytes = MAGIC.to_vec();
            bytes.extend_from_slice(&VERSION.to_le_bytes());
            bytes.resize(CHECKED_FROM, 0);
            bytes.append(&mut tail);
            let places = [header::TARGET_COUNT, header::STEP_COUNT, header::COMMAND_LENGTH, header::NAMES_LENGTH];
            for (at, count) in places.into_iter().zip(counts) {
                bytes[at..at + 4].copy_from_slice(&count.to_le_bytes());
            }
            let length = bytes.len() as u64;
            bytes[header::LENGTH..header::LENGTH + 8].copy_from_slice(&length.to_le_bytes());
            let checksum = crc32fast::hash(&bytes[CHECKED_FROM..]);
            bytes[header::CHECKSUM..header::CHECKSUM + 4].copy_from_slice(&checksum.to_le_bytes());
            if let Ok(view) = PlanView::read(&bytes) {
                let plan = view.to_plan();
                prop_assert_eq!(plan.steps.len(), view.steps().len());
            }
        }
    }
}
