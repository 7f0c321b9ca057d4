//! The effect of packing on loading: the time when the file is in memory, and the reads when it is not.
//!
//! Three copies of each file are loaded in turn: the original, a twin of it, and the packed one. The twin shows the
//! difference between equal files on this machine, by chance and by the placement of their pages.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use coldstart_host::block_device::BlockDevice;
use coldstart_host::mounts::Mounts;
use fs_err as fs;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::figure::{Asked, Figure, Unit};
use super::pack_files::{SAMPLES, Sample, copy_flushed, empty_directory, pack};
use super::record::Record;
use super::runner::shown;
use super::statistics::ratio_estimate;
use super::surroundings::read_from_disk;
use super::workshop::{Workshop, text};

/// The copies, in the order in which each part of the record lists them.
const COPIES: [&str; 3] = ["original", "twin", "packed"];
const ORIGINAL: usize = 0;
const TWIN: usize = 1;
const PACKED: usize = 2;

/// Rounds before the counted ones.
const WARM_UPS: u32 = 2;
/// Loads of each copy from disk. What is read hardly varies.
const COLD_ROUNDS: u32 = 5;
/// Part of what all files lost together that is to be read less from disk. Of one file alone nothing is asked: the kernel
/// reads whole windows, on some disks of 8 MB, and one more or less may hide all that a library lost.
const OF_WHAT_WAS_LOST: f64 = 0.8;

/// What was measured of one file.
#[derive(Debug, Serialize, Deserialize)]
struct Loads {
    name: String,
    /// Sizes of the copies in bytes.
    sizes: [u64; COPIES.len()],
    /// Seconds of each hot load, by round.
    hot: Vec<[f64; COPIES.len()]>,
    /// Bytes read from disk by each load after the copy was evicted, by round.
    cold_bytes: Vec<[u64; COPIES.len()]>,
}

impl Loads {
    /// Bytes by which packing made it smaller.
    fn lost(&self) -> f64 {
        self.sizes[ORIGINAL] as f64 - self.sizes[PACKED] as f64
    }
}

pub(super) fn measure(workshop: &Workshop, record: &mut Record) -> Result<()> {
    let directory = empty_directory(workshop, "pack-load")?;
    let loader = directory.join("load_time");
    let source = crate::cargo::workspace().join("bench/programs/load_time.c");
    workshop.runner.run(&["cc", "-O2", "-o", &text(&loader), &text(&source)].map(str::to_owned))?;
    let loads = SAMPLES.iter().map(|sample| loads_of(workshop, sample, &directory, &loader, record.runs));
    let loads: Vec<Loads> = loads.collect::<Result<_>>()?;
    record.add("loads", serde_json::to_value(loads)?);
    let about = vec![
        "libraries: dlopen(3), RTLD_NOW; chromium: a start with --version".to_owned(),
        "each copy evicted by `coldstart pagecache evict` before its cold load; what it needs is in memory".to_owned(),
        format!("the disk's readahead is {}", read_ahead(&directory)?),
    ];
    record.add("about", about.into());
    fs::remove_dir_all(&directory)?;
    Ok(())
}

/// The largest window that the kernel reads at once from the disk of a directory (`queue/read_ahead_kb` of sysfs).
fn read_ahead(directory: &Path) -> Result<String> {
    let device = BlockDevice::beneath(directory, &Mounts::here()?);
    let disk = device.and_then(|device| device.disk_directory());
    let found = disk.and_then(|disk| fs::read_to_string(disk.join("queue/read_ahead_kb")).ok());
    Ok(found.map_or_else(|| "not known".to_owned(), |kib| format!("{} KiB", kib.trim())))
}

fn loads_of(workshop: &Workshop, sample: &Sample, directory: &Path, loader: &Path, runs: u32) -> Result<Loads> {
    let copies = copies(workshop, sample, directory)?;
    let commands = copies.each_ref().map(|copy| command(sample, loader, copy));
    let mut hot = Vec::new();
    for round in 0..WARM_UPS.saturating_add(runs) {
        let times = in_turn(round, |copy| Ok(load(workshop, &commands[copy])?.seconds))?;
        if round >= WARM_UPS {
            hot.push(times);
        }
    }
    let mut cold_bytes = Vec::new();
    for round in 0..COLD_ROUNDS {
        cold_bytes.push(in_turn(round, |copy| {
            workshop.runner.run(&workshop.coldstart(["pagecache", "evict", "--sync", &text(&copies[copy])]))?;
            let before = read_from_disk()?;
            load(workshop, &commands[copy])?;
            Ok(read_from_disk()?.saturating_sub(before))
        })?);
    }
    let mut sizes = [0; COPIES.len()];
    for (size, copy) in sizes.iter_mut().zip(&copies) {
        *size = fs::metadata(copy)?.len();
    }
    copies.iter().try_for_each(fs::remove_file)?;
    Ok(Loads { name: sample.name.to_owned(), sizes, hot, cold_bytes })
}

/// The copies, each under the file's own name in a directory of its own.
fn copies(workshop: &Workshop, sample: &Sample, directory: &Path) -> Result<[PathBuf; COPIES.len()]> {
    let file = Path::new(sample.path);
    let name = file.file_name().context("a sample without a name")?;
    let copies = COPIES.map(|kind| directory.join(kind).join(name));
    for copy in &copies {
        fs::create_dir_all(copy.parent().context("a copy without a directory")?)?;
    }
    copy_flushed(file, &copies[ORIGINAL])?;
    copy_flushed(file, &copies[TWIN])?;
    let packing = pack(workshop, &[], file, &copies[PACKED])?;
    ensure!(packing.size.is_some(), "{} was not packed: {packing:?}", sample.name);
    Ok(copies)
}

/// Whether it is opened by dlopen(3), and not started.
pub(super) fn is_library(sample: &Sample) -> bool {
    sample.path.ends_with(".so") || sample.path.contains(".so.")
}

/// What loads a copy of a sample: `loader` opens libraries; a program is started.
pub(super) fn command(sample: &Sample, loader: &Path, copy: &Path) -> Vec<String> {
    if !is_library(sample) {
        return vec![text(copy), "--version".to_owned()];
    }
    let mut command = vec!["env".to_owned()];
    command.extend(sample.needs.map(|directory| format!("LD_LIBRARY_PATH={directory}")));
    command.extend([text(loader), text(copy)]);
    command
}

/// One value for each of several copies, measured in an order that changes by round.
pub(super) fn in_turn<T: Copy + Default, const COUNT: usize>(
    round: u32,
    mut measure: impl FnMut(usize) -> Result<T>,
) -> Result<[T; COUNT]> {
    let mut values = [T::default(); COUNT];
    let first = round as usize % COUNT;
    // Forwards and backwards by turns, or each copy would always follow the same other.
    let turn = |step: usize| if (round as usize / COUNT).is_multiple_of(2) { step } else { COUNT - 1 - step };
    for step in 0..COUNT {
        let copy = (first + turn(step)) % COUNT;
        values[copy] = measure(copy)?;
    }
    Ok(values)
}

/// One load.
pub(super) struct Load {
    /// Of dlopen(3) alone, or of the whole process where it is a program's start.
    pub(super) seconds: f64,
    /// Bytes of the library's mappings that were written to; `None` of programs.
    pub(super) dirty_bytes: Option<u64>,
}

/// Loads a copy.
///
/// # Errors
/// When that fails.
pub(super) fn load(workshop: &Workshop, command: &[String]) -> Result<Load> {
    let said = workshop.runner.timed(command)?;
    ensure!(said.status.success(), "`{}` ended with {}: {}", shown(command), said.status, said.stderr.trim());
    let told: Value = serde_json::from_str(&said.stdout).unwrap_or_default();
    let nanoseconds = told.get("nanoseconds").and_then(Value::as_f64);
    Ok(Load {
        seconds: nanoseconds.map_or(said.seconds, |nanoseconds| nanoseconds / 1e9),
        dirty_bytes: told.get("dirty_bytes").and_then(Value::as_u64),
    })
}

pub(super) fn figures(record: &Record) -> Result<Vec<Figure>> {
    let loads = Vec::<Loads>::deserialize(record.part("loads")?).context("`loads` holds no loads")?;
    let mut figures: Vec<Figure> = loads.iter().flat_map(figures_of).collect();
    figures.push(figure_of_all(&loads));
    Ok(figures)
}

/// What all packed files together have read less when cold, by round.
fn figure_of_all(loads: &[Loads]) -> Figure {
    let lost: f64 = loads.iter().map(Loads::lost).sum();
    let rounds = loads.iter().map(|one| one.cold_bytes.len()).min().unwrap_or(0);
    let of_round = |round: usize| loads.iter().map(|one| read_less(&one.cold_bytes[round])).sum::<f64>();
    let read_less: Vec<f64> = (0..rounds).map(of_round).collect();
    Figure::of_times(
        format!("all files: read less by cold loads of the packed (they lost {:.2} MB)", lost / 1e6),
        Unit::ExactMegabytes,
        Asked::AtLeast((lost * OF_WHAT_WAS_LOST / 1e5).floor() * 1e5),
        &read_less,
    )
}

fn read_less(round: &[u64; COPIES.len()]) -> f64 {
    round[ORIGINAL] as f64 - round[PACKED] as f64
}

fn figures_of(loads: &Loads) -> Vec<Figure> {
    let name = &loads.name;
    let hot = |copy: usize| -> Vec<f64> { loads.hot.iter().map(|round| round[copy]).collect() };
    let pairs =
        |copy: usize| -> Vec<(f64, f64)> { loads.hot.iter().map(|round| (round[copy], round[ORIGINAL])).collect() };
    let (twin, packed) = (ratio_estimate(&pairs(TWIN)), ratio_estimate(&pairs(PACKED)));
    let noise = twin.map_or(0.0, |twin| (twin.high - 1.0).abs().max((1.0 - twin.low).abs()));
    let ratio = |what: &str, asked, estimate| {
        Figure::of_estimate(format!("{name}: {what}"), Unit::Times, asked, estimate, loads.hot.len())
    };
    let times = |copy: usize| {
        let what = format!("{name}: hot load of the {}", COPIES[copy]);
        Figure::of_times(what, Unit::Milliseconds, Asked::Nothing, &hot(copy))
    };
    let read = |what: &str, of: &dyn Fn(&[u64; COPIES.len()]) -> f64| {
        let bytes: Vec<f64> = loads.cold_bytes.iter().map(of).collect();
        Figure::of_times(format!("{name}: {what}"), Unit::ExactMegabytes, Asked::Nothing, &bytes)
    };
    vec![
        times(ORIGINAL),
        times(PACKED),
        ratio("hot load, twin / original", Asked::Nothing, twin),
        ratio("hot load, packed / original", Asked::AtMost(rounded_up(1.0 + noise)), packed),
        read("read by a cold load of the original", &|round| round[ORIGINAL] as f64),
        read(&format!("read less by a cold load of the packed (it lost {:.2} MB)", loads.lost() / 1e6), &read_less),
    ]
}

/// To the thousandth, as it is shown.
fn rounded_up(limit: f64) -> f64 {
    (limit * 1e3).ceil() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_copy_has_every_place_in_the_order() {
        let mut orders = std::collections::BTreeSet::new();
        for round in 0..6 {
            let mut order = Vec::new();
            let values = in_turn(round, |copy| {
                order.push(copy);
                Ok(copy)
            });
            assert_eq!(values.unwrap(), [0, 1, 2]);
            orders.insert(order);
        }
        assert_eq!(orders.len(), 6);
    }

    #[test]
    fn the_limit_is_what_twins_differ_by() {
        let loads = |packed: f64| Loads {
            name: "a".into(),
            sizes: [10_000_000, 10_000_000, 8_000_000],
            hot: vec![[1.0, 1.02, packed], [1.0, 0.98, packed], [1.0, 1.0, packed]],
            cold_bytes: vec![[9_000_000, 9_000_000, 7_100_000]; 3],
        };
        let verdicts = |packed| -> Vec<bool> { figures_of(&loads(packed)).iter().filter_map(Figure::is_met).collect() };
        assert_eq!(verdicts(1.03), [true]);
        assert_eq!(verdicts(1.2), [false]);
        let all = figure_of_all(&[loads(1.0), loads(1.0)]);
        assert_eq!((all.value, all.asked, all.count), (Some(3.8e6), Asked::AtLeast(3.2e6), 3));
    }
}
