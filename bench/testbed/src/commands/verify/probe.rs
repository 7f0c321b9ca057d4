//! Reads of a block device, timed.
//!
//! Random reads bypass the page cache (O_DIRECT); the stream uses it, because the kernel's read-ahead is part of
//! the measurement.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use fs_err as fs;
use fs_err::os::unix::fs::OpenOptionsExt;
use rustix::fs::{Advice, OFlags, fadvise};

use crate::bed::{BedKind, State};
use crate::model::SplitMix64;
use crate::sparse::data_extents;

const BLOCK: u64 = 4096;
/// How long each random probe runs: long enough for some hundred reads of the slowest bed.
const DURATION: Duration = Duration::from_secs(4);
/// How much the stream reads.
const STREAM_BYTES: u64 = 256 << 20;
const STREAM_READ: usize = 1 << 20;

/// A device to read from.
pub(super) struct Probe {
    device: PathBuf,
    bytes: u64,
    /// Where random reads may go.
    extents: Vec<Range<u64>>,
}

impl Probe {
    pub(super) fn new(device: &Path, state: &State, bytes: u64) -> Result<Self> {
        let extents = match (state.kind, state.working_copy()) {
            // A hole in the working copy costs a real disk nothing; a model charges for the place alone.
            (BedKind::Disk, Some(copy)) => data_extents(fs::File::open(copy)?.file())?,
            _ => std::iter::once(0..bytes).collect(),
        };
        Ok(Self { device: device.to_owned(), bytes, extents })
    }

    /// Random reads a second with `depth` threads.
    pub(super) fn random(&self, depth: usize) -> Result<f64> {
        let direct = i32::try_from(OFlags::DIRECT.bits()).context("O_DIRECT has an unexpected value")?;
        let file = fs::OpenOptions::new().read(true).custom_flags(direct).open(&self.device)?;
        let file = file.file();
        let done = AtomicU64::new(0);
        let begun = Instant::now();
        std::thread::scope(|scope| -> Result<()> {
            let readers: Vec<_> = (0..depth as u64)
                .map(|seed| {
                    let done = &done;
                    scope.spawn(move || self.read_for(file, SplitMix64::new(seed), begun, done))
                })
                .collect();
            for reader in readers {
                reader.join().map_err(|_| anyhow::anyhow!("a reading thread panicked"))??;
            }
            Ok(())
        })?;
        Ok(done.load(Ordering::Relaxed) as f64 / begun.elapsed().as_secs_f64())
    }

    fn read_for(&self, file: &File, mut random: SplitMix64, begun: Instant, done: &AtomicU64) -> Result<()> {
        // O_DIRECT wants memory aligned to the device's block; 4096 is enough for any.
        let mut buffer = vec![0u8; 2 * BLOCK as usize];
        let start = buffer.as_ptr().align_offset(BLOCK as usize);
        let buffer = buffer.get_mut(start..start + BLOCK as usize).context("no aligned part in the buffer")?;
        while begun.elapsed() < DURATION {
            file.read_exact_at(buffer, self.place(&mut random))?;
            done.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// A random block that lies wholly within the extents.
    fn place(&self, random: &mut SplitMix64) -> u64 {
        let blocks = |extent: &Range<u64>| (extent.end - extent.start) / BLOCK;
        let mut wanted = random.below(self.extents.iter().map(blocks).sum());
        for extent in &self.extents {
            if wanted < blocks(extent) {
                return extent.start + wanted * BLOCK;
            }
            wanted -= blocks(extent);
        }
        0
    }

    /// 10^6 bytes a second of a buffered stream that starts with nothing of it cached.
    pub(super) fn stream(&self) -> Result<f64> {
        let file = fs::File::open(&self.device)?;
        // In the largest extent, so that a real disk has something to read, and away from its ends: at the front of the
        // device the mounted file system keeps some blocks cached.
        let largest = self.extents.iter().max_by_key(|extent| extent.end - extent.start).cloned().unwrap_or(0..0);
        let spare = (largest.end - largest.start).saturating_sub(STREAM_BYTES);
        let start = largest.start + spare / 2 / BLOCK * BLOCK;
        let length = STREAM_BYTES.min(self.bytes.saturating_sub(start));
        fadvise(file.file(), start, std::num::NonZeroU64::new(length), Advice::DontNeed)?;
        let mut buffer = vec![0; STREAM_READ];
        let begun = Instant::now();
        let mut position = start;
        while position < start + length {
            let piece = buffer.len().min(usize::try_from(start + length - position).unwrap_or(usize::MAX));
            file.file().read_exact_at(&mut buffer[..piece], position)?;
            position += piece as u64;
        }
        Ok(length as f64 / 1e6 / begun.elapsed().as_secs_f64())
    }
}
