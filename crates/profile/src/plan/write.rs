//! Encoding a plan.

use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use super::layout::{CHECKED_FROM, HEADER_SIZE, MAGIC, STEP_SIZE, TARGET_SIZE, VERSION, header, kind, step, target};
use super::{MOST_BYTES, PlanError, PrefetchPlan, Target, TargetKind};

impl PrefetchPlan {
    /// The bytes of the plan's file.
    ///
    /// # Errors
    /// [`PlanError::TooLarge`] when a table or a read exceeds the format (4 Gi entries, names of 4 GiB);
    /// [`PlanError::TooLong`] beyond [`MOST_BYTES`].
    pub fn to_bytes(&self) -> Result<Vec<u8>, PlanError> {
        let mut names = Vec::new();
        let mut targets = Vec::with_capacity(self.targets.len() * TARGET_SIZE);
        for entry in &self.targets {
            targets.extend_from_slice(&target_record(entry, &mut names)?);
        }
        let mut steps = Vec::with_capacity(self.steps.len() * STEP_SIZE);
        for entry in &self.steps {
            let mut record = [0; STEP_SIZE];
            put_u32(&mut record, step::TARGET, entry.target);
            put_u32(&mut record, step::WINDOW, entry.window);
            if let Some(pages) = entry.pages {
                put_u64(&mut record, step::START_PAGE, pages.start.0);
                put_u32(&mut record, step::PAGES, small(pages.count)?);
            }
            let first_use = u32::try_from(entry.first_use.as_micros()).unwrap_or(u32::MAX);
            put_u32(&mut record, step::FIRST_USE, first_use);
            put_u64(&mut record, step::PHYSICAL, entry.physical.unwrap_or(u64::MAX));
            steps.extend_from_slice(&record);
        }
        let mut command = Vec::new();
        for word in &self.command {
            command.extend_from_slice(word.as_bytes());
            command.push(0);
        }

        let mut bytes = vec![0; HEADER_SIZE];
        bytes[..MAGIC.len()].copy_from_slice(&MAGIC);
        self.put_summary(&mut bytes);
        put_u32(&mut bytes, header::COMMAND_WORDS, small(self.command.len() as u64)?);
        put_u32(&mut bytes, header::TARGET_COUNT, small(self.targets.len() as u64)?);
        put_u32(&mut bytes, header::STEP_COUNT, small(self.steps.len() as u64)?);
        put_u32(&mut bytes, header::COMMAND_LENGTH, small(command.len() as u64)?);
        put_u32(&mut bytes, header::NAMES_LENGTH, small(names.len() as u64)?);
        for table in [&targets, &steps, &command, &names] {
            bytes.extend_from_slice(table);
        }
        let length = bytes.len() as u64;
        if length > MOST_BYTES {
            return Err(PlanError::TooLong { length });
        }
        put_u64(&mut bytes, header::LENGTH, length);
        let checksum = crc32fast::hash(&bytes[CHECKED_FROM..]);
        put_u32(&mut bytes, header::CHECKSUM, checksum);
        Ok(bytes)
    }

    fn put_summary(&self, bytes: &mut [u8]) {
        let summary = &self.summary;
        put_u32(bytes, header::VERSION, VERSION);
        put_u64(bytes, header::RECORDED_AT, summary.recorded_at as u64);
        put_u64(bytes, header::RECORDED_START, nanoseconds(summary.recorded_start));
        put_u64(bytes, header::HOT_START, nanoseconds(summary.hot_start));
        put_u32(bytes, header::WINDOWS_BEFORE_START, summary.windows_before_start);
        put_u32(bytes, header::THREADS, summary.threads);
        put_u32(bytes, header::CHUNK_PAGES, summary.chunk_pages);
        put_u32(bytes, header::DEVICE_SEEKS, u32::from(summary.device.seeks));
        put_u64(bytes, header::DEVICE_LATENCY, nanoseconds(summary.device.latency));
        put_u64(bytes, header::DEVICE_BANDWIDTH, summary.device.bandwidth);
        put_u32(bytes, header::DEVICE_PARALLEL, summary.device.parallel);
        put_u64(bytes, header::PREDICTED_REPLAY, nanoseconds(summary.predicted_replay));
        put_u64(bytes, header::PREDICTED_START, nanoseconds(summary.predicted_start));
    }
}

fn target_record(entry: &Target, names: &mut Vec<u8>) -> Result<[u8; TARGET_SIZE], PlanError> {
    let path = entry.path.as_os_str().as_bytes();
    let mut record = [0; TARGET_SIZE];
    put_u32(&mut record, target::NAME, small(names.len() as u64)?);
    put_u32(&mut record, target::NAME_LENGTH, small(path.len() as u64)?);
    names.extend_from_slice(path);
    let (number, identity) = match entry.kind {
        TargetKind::File(identity) => (kind::FILE, Some(identity)),
        TargetKind::RewrittenFile(identity) => (kind::REWRITTEN_FILE, Some(identity)),
        TargetKind::BlockDevice => (kind::BLOCK_DEVICE, None),
        TargetKind::Name => (kind::NAME, None),
        TargetKind::Directory => (kind::DIRECTORY, None),
    };
    put_u32(&mut record, target::KIND, number);
    if let Some(identity) = identity {
        put_u64(&mut record, target::SIZE, identity.size);
        put_u64(&mut record, target::MODIFIED, identity.modified as u64);
    }
    Ok(record)
}

fn small(number: u64) -> Result<u32, PlanError> {
    u32::try_from(number).map_err(|_| PlanError::TooLarge { number })
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn put_u32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

fn put_u64(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}
