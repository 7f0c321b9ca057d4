//! What must hold while plans are read in the background: mains power, and memory that nobody waits for.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use coldstart_host::{power, pressure};
use serde::Serialize;

/// Time between two looks. The kernel computes its averages every 2 seconds.
const INTERVAL: Duration = Duration::from_millis(200);

/// What must hold before and during each plan.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// The highest share of time in which a task may have waited for memory, in percent.
    pub memory_pressure: f64,
    /// Plans may take at most this share of the available memory, all together and counted from the first, in percent.
    pub share_of_memory: u64,
    /// Whether to replay also on battery.
    pub on_battery: bool,
    /// The directory of power supplies.
    pub supplies: PathBuf,
    /// The file that tells how short memory is. A kernel without PSI has none; then nothing is short.
    pub pressure: PathBuf,
}

impl Default for Conditions {
    fn default() -> Self {
        Self {
            memory_pressure: 1.0,
            share_of_memory: 50,
            on_battery: false,
            supplies: power::SUPPLIES.into(),
            pressure: pressure::MEMORY.into(),
        }
    }
}

impl Conditions {
    /// Whatever holds, but never more than fits into memory.
    pub fn anyway() -> Self {
        Self { memory_pressure: 100.0, on_battery: true, ..Self::default() }
    }
}

/// Why a plan was not replayed, or not to its end.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "reason")]
pub enum Skipped {
    /// The machine runs on battery.
    Battery,
    /// Tasks waited for memory.
    MemoryPressure {
        /// For this share of the last 10 seconds, in percent.
        percent: f64,
    },
    /// Its pages do not fit into the memory that may be used.
    NotEnoughMemory {
        /// Bytes that the plan reads.
        needed: u64,
        /// Bytes that may still be used.
        left: u64,
    },
    /// A signal ended it.
    Interrupted,
    /// It is being installed or removed, or that was interrupted.
    HalfMade,
    /// The installation has no plan.
    NoPlan,
    /// It starts from an image, which the start itself reads.
    Image,
    /// It cannot be read.
    Unusable {
        /// Why.
        message: String,
    },
}

/// Looks at the conditions from time to time. The first reason against going on stays.
pub(super) struct Watch<'a> {
    conditions: &'a Conditions,
    cancelled: &'a (dyn Fn() -> bool + Sync),
    seen: Mutex<Seen>,
}

struct Seen {
    /// When to look again; `None`: at once.
    next: Option<Instant>,
    against: Option<Skipped>,
}

impl<'a> Watch<'a> {
    pub(super) fn new(conditions: &'a Conditions, cancelled: &'a (dyn Fn() -> bool + Sync)) -> Self {
        Self { conditions, cancelled, seen: Mutex::new(Seen { next: None, against: None }) }
    }

    /// What is against reading on.
    pub(super) fn against(&self) -> Option<Skipped> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.against.is_none() {
            if (self.cancelled)() {
                seen.against = Some(Skipped::Interrupted);
            } else if seen.next.is_none_or(|next| next <= Instant::now()) {
                seen.next = Instant::now().checked_add(INTERVAL);
                seen.against = self.conditions.against();
            }
        }
        seen.against.clone()
    }
}

impl Conditions {
    fn against(&self) -> Option<Skipped> {
        if !self.on_battery && power::is_on_battery(&self.supplies) {
            return Some(Skipped::Battery);
        }
        let percent = pressure::now(&self.pressure).filter(|percent| *percent > self.memory_pressure)?;
        Some(Skipped::MemoryPressure { percent })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Conditions of a made-up machine with these supplies and this pressure.
    fn made_up(status: Option<&str>, pressure: Option<&str>) -> (tempfile::TempDir, Conditions) {
        let directory = tempfile::tempdir().unwrap();
        let supplies = directory.path().join("supplies");
        if let Some(status) = status {
            let battery = supplies.join("BAT0");
            std::fs::create_dir_all(&battery).unwrap();
            std::fs::write(battery.join("type"), "Battery\n").unwrap();
            std::fs::write(battery.join("status"), format!("{status}\n")).unwrap();
        }
        let file = directory.path().join("memory");
        if let Some(pressure) = pressure {
            std::fs::write(&file, format!("some avg10={pressure} avg60=0.00 avg300=0.00 total=1\n")).unwrap();
        }
        let conditions = Conditions { supplies, pressure: file, ..Conditions::default() };
        (directory, conditions)
    }

    fn never() -> bool {
        false
    }

    #[test]
    fn a_battery_and_short_memory_are_against_it_and_a_kernel_that_tells_nothing_is_not() {
        for (status, pressure, expected) in [
            (None, None, None),
            (Some("Charging"), Some("0.00"), None),
            (Some("Discharging"), None, Some(Skipped::Battery)),
            (None, Some("1.01"), Some(Skipped::MemoryPressure { percent: 1.01 })),
            (Some("Full"), Some("1.00"), None),
        ] {
            let (_directory, conditions) = made_up(status, pressure);
            assert_eq!(Watch::new(&conditions, &never).against(), expected, "{status:?} {pressure:?}");
        }
        let (_directory, conditions) = made_up(Some("Discharging"), None);
        let conditions = Conditions { on_battery: true, ..conditions };
        assert_eq!(Watch::new(&conditions, &never).against(), None);
        assert_eq!(Watch::new(&conditions, &|| true).against(), Some(Skipped::Interrupted));
    }

    #[test]
    fn the_first_reason_stays() {
        let (directory, conditions) = made_up(None, Some("9.00"));
        let watch = Watch::new(&conditions, &never);
        let first = watch.against();
        assert_eq!(first, Some(Skipped::MemoryPressure { percent: 9.0 }));
        std::fs::remove_file(directory.path().join("memory")).unwrap();
        std::thread::sleep(INTERVAL);
        assert_eq!(watch.against(), first);
    }
}
