//! Measuring a device through files on it.
//!
//! Reads bypass the page cache (`O_DIRECT`), so they need no root, change no state, and see the disk rather than memory.
//! sysfs is unreliable: virtual disks report "rotational" at random, so the kind of device
//! follows from its behaviour: where concurrent requests are hardly faster than sequential ones, there is one head.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use coldstart_profile::SplitMix64;
use coldstart_profile::plan::PlannedDevice;
use thiserror::Error;

/// Why a device could not be measured.
#[derive(Debug, Error)]
pub enum ProbeError {
    /// No file is large enough for random reads.
    #[error("none of the {files} files is large enough to measure their device (at least {needed} bytes)")]
    TooSmall {
        /// Number of candidate files.
        files: usize,
        /// Bytes needed.
        needed: u64,
    },
    /// The file system does not support direct I/O (tmpfs), or a read failed.
    #[error("cannot read {path} with direct I/O")]
    NoDirectRead {
        /// The file.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
}

const BLOCK: u64 = 4096;
/// Bytes of what `st_blocks` counts, whatever the file system's blocks are (stat(2)).
const BLOCK_UNIT: u64 = 512;
/// Each of three times.
const RANDOM_READS: usize = 32;
const DEPTH: usize = 32;
const PARALLEL_READS: usize = 96;
const SEQUENTIAL_READ: usize = 1 << 20;
const SEQUENTIAL_BYTES: u64 = 24 << 20;
/// Each part ends by this time, with as many reads as were made.
const PART_LIMIT: Duration = Duration::from_secs(1);

/// Measures latency, parallelism and bandwidth through the largest of `files`; takes up to about 4 s on a slow disk.
///
/// # Errors
/// See [`ProbeError`].
pub fn probe_device(files: &[PathBuf]) -> Result<PlannedDevice, ProbeError> {
    let needed = 1 << 20;
    let largest = largest_dense(files, needed);
    let Some((first_size, first_path)) = largest.first() else {
        return Err(ProbeError::TooSmall { files: files.len(), needed });
    };
    let open = |path: &Path| {
        File::options()
            .read(true)
            .custom_flags(rustix::fs::OFlags::DIRECT.bits() as i32)
            .open(path)
            .map_err(|source| ProbeError::NoDirectRead { path: path.to_path_buf(), source })
    };
    let mut opened = Vec::new();
    for (size, path) in &largest {
        opened.push((open(path)?, *size));
    }
    let mut places = Places::new(&opened);
    let failed = |source| ProbeError::NoDirectRead { path: first_path.clone(), source };

    // Other programs' reads make a device slower, never faster, and come in bursts: of three instants the best is nearest to an
    // idle device.
    let single = |places: &mut Places| Ok(median(random_reads(&places.take(RANDOM_READS), &opened, 1)?.1));
    let first = single(&mut places).map_err(failed)?;
    let (together, many) = random_reads(&places.take(PARALLEL_READS), &opened, DEPTH).map_err(failed)?;
    let second = single(&mut places).map_err(failed)?;
    let bandwidth = sequential(&opened[0].0, *first_size).map_err(failed)?;
    let latency = first.min(second).min(single(&mut places).map_err(failed)?);
    let rate_gain = many.len() as f64 * latency.as_secs_f64() / together.as_secs_f64();
    Ok(PlannedDevice {
        latency,
        bandwidth,
        parallel: (rate_gain.round() as u32).clamp(1, DEPTH as u32),
        seeks: has_one_head(latency, rate_gain),
    })
}

/// Accesses of milliseconds that hardly overlap. A drive's own sorting gains less than threefold at depth 32 (93 to 158
/// reads a second seen), the slowest networks overlap all their requests.
fn has_one_head(latency: Duration, rate_gain: f64) -> bool {
    latency >= Duration::from_millis(2) && rate_gain < 4.0
}

/// Distinct offsets spread over the files, the same ones at each call.
struct Places {
    blocks: u64,
    random: SplitMix64,
}

impl Places {
    fn new(files: &[(File, u64)]) -> Self {
        Self { blocks: files.iter().map(|(_, size)| size / BLOCK).sum(), random: SplitMix64::new(1) }
    }

    fn take(&mut self, count: usize) -> Vec<u64> {
        let mut next = || self.random.next_number() % self.blocks.max(1);
        (0..count).map(|_| next()).collect()
    }
}

/// At most eight files of `needed` bytes or more, the largest first. Reading a hole asks nothing of the device, so files with holes
/// are taken only where there are no others; a file system that tells no sizes of what it stores seems to have nothing else.
fn largest_dense(files: &[PathBuf], needed: u64) -> Vec<(u64, PathBuf)> {
    let sized = |path: &PathBuf| {
        let meta = std::fs::metadata(path).ok().filter(|meta| meta.is_file() && meta.len() >= needed)?;
        let has_holes = meta.blocks().saturating_mul(BLOCK_UNIT) < meta.len();
        Some((has_holes, meta.len(), path.clone()))
    };
    let mut found: Vec<(bool, u64, PathBuf)> = files.iter().filter_map(sized).collect();
    let all_have_holes = found.iter().all(|(has_holes, ..)| *has_holes);
    found.retain(|(has_holes, ..)| *has_holes == all_have_holes);
    found.sort_by(|a, b| b.cmp(a));
    found.truncate(8);
    found.into_iter().map(|(_, size, path)| (size, path)).collect()
}

/// Reads blocks at `places` with `depth` threads, for at most [`PART_LIMIT`]: how long it took, and how long each read took.
fn random_reads(places: &[u64], files: &[(File, u64)], depth: usize) -> io::Result<(Duration, Vec<Duration>)> {
    let next = AtomicUsize::new(0);
    let start = Instant::now();
    let worker = || -> io::Result<Vec<Duration>> {
        let mut buffer = aligned(BLOCK as usize);
        let mut times = Vec::new();
        while let Some(&place) = places.get(next.fetch_add(1, Ordering::Relaxed)) {
            if start.elapsed() > PART_LIMIT {
                break;
            }
            let (file, offset) = locate(place, files);
            let begin = Instant::now();
            file.read_at(buffer.bytes(), offset)?;
            times.push(begin.elapsed());
        }
        Ok(times)
    };
    let times = thread::scope(|scope| {
        let begun = (1..depth).map(|_| thread::Builder::new().spawn_scoped(scope, worker));
        let threads = begun.collect::<io::Result<Vec<_>>>()?;
        let mut times = worker();
        for thread in threads {
            let joined = thread.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()));
            times = times.and_then(|times| Ok([times, joined?].concat()));
        }
        times
    })?;
    Ok((start.elapsed().max(Duration::from_nanos(1)), times))
}

/// What half of the reads took at most. A mean would be that of the few reads which waited for other programs: beside four that
/// read all the time, the mean of a disk of 40 µs came to 0.2 to 1.9 ms, its median to 41 µs.
fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn locate(mut block: u64, files: &[(File, u64)]) -> (&File, u64) {
    for (file, size) in files {
        if block < size / BLOCK {
            return (file, block * BLOCK);
        }
        block -= size / BLOCK;
    }
    (&files[0].0, 0)
}

/// Bytes a second of large reads with two under way.
fn sequential(file: &File, size: u64) -> io::Result<u64> {
    let end = size.min(SEQUENTIAL_BYTES) / BLOCK * BLOCK;
    let next = std::sync::atomic::AtomicU64::new(0);
    let read = std::sync::atomic::AtomicU64::new(0);
    let start = Instant::now();
    let worker = || -> io::Result<()> {
        let mut buffer = aligned(SEQUENTIAL_READ);
        loop {
            let at = next.fetch_add(SEQUENTIAL_READ as u64, Ordering::Relaxed);
            if at >= end || start.elapsed() > PART_LIMIT {
                return Ok(());
            }
            let wanted = (end - at).min(SEQUENTIAL_READ as u64) as usize;
            let got = file.read_at(&mut buffer.bytes()[..wanted], at)?;
            read.fetch_add(got as u64, Ordering::Relaxed);
        }
    };
    thread::scope(|scope| {
        let other = thread::Builder::new().spawn_scoped(scope, worker)?;
        worker().and(other.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into())))
    })?;
    Ok((read.into_inner() as f64 / start.elapsed().as_secs_f64().max(1e-9)) as u64)
}

/// A buffer whose start is aligned to a block, as `O_DIRECT` demands.
struct Aligned {
    storage: Vec<u8>,
    start: usize,
    length: usize,
}

fn aligned(length: usize) -> Aligned {
    let storage = vec![0; length + BLOCK as usize];
    let start = storage.as_ptr().align_offset(BLOCK as usize);
    Aligned { storage, start, length }
}

impl Aligned {
    fn bytes(&mut self) -> &mut [u8] {
        &mut self.storage[self.start..self.start + self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_head_is_told_by_behaviour() {
        assert!(has_one_head(Duration::from_micros(10_600), 1.7), "a disk of 7,200 turns a minute");
        assert!(!has_one_head(Duration::from_micros(1_100), 26.0), "a network disk");
        assert!(!has_one_head(Duration::from_millis(30), 30.0), "a far network disk");
        assert!(!has_one_head(Duration::from_micros(60), 1.5), "a memory-like disk that is busy with one request");
    }

    #[test]
    fn reads_that_waited_for_others_are_no_latency_of_the_device() {
        let micros = |times: &[u64]| times.iter().copied().map(Duration::from_micros).collect();
        assert_eq!(median(micros(&[41, 9_807, 38, 40, 6_141])), Duration::from_micros(41));
        assert_eq!(median(Vec::new()), Duration::ZERO);
    }

    #[test]
    fn files_with_holes_are_read_only_where_there_are_no_others() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        for (name, written, size) in [("dense", 2 << 20, 2 << 20), ("holes", 4096, 8 << 20), ("small", 4096, 4096)] {
            std::fs::write(path(name), vec![1; written]).unwrap();
            File::options().write(true).open(path(name)).unwrap().set_len(size).unwrap();
        }
        assert_eq!(largest_dense(&["holes", "small", "dense"].map(path), 1 << 20), [(2 << 20, path("dense"))]);
        assert_eq!(largest_dense(&["holes", "small"].map(path), 1 << 20), [(8 << 20, path("holes"))]);
    }

    #[test]
    fn places_lie_inside_the_files() {
        let file = tempfile::tempfile().unwrap();
        let files = [(file.try_clone().unwrap(), 3 * BLOCK + 5), (file, BLOCK)];
        for place in Places::new(&files).take(200) {
            let (_, offset) = locate(place, &files);
            assert!(offset <= 2 * BLOCK);
        }
    }
}
