//! What else on the machine may disturb the measurement, from beginning to end.

use std::fs;
use std::path::{Path, PathBuf};

use coldstart_profile::measurement::Machine;

use crate::frequency::{FrequencyError, FrequencyWatch, SYSFS, is_virtual};
use crate::turn::Turn;

/// The kernel's directories for power supplies and DAMON.
const POWER_SUPPLIES: &str = "/sys/class/power_supply";
const DAMON: &str = "/sys/kernel/mm/damon/admin/kdamonds";
/// DAMON's reclaim module, without an administrator's scheme.
const DAMON_RECLAIM: &str = "/sys/module/damon_reclaim/parameters/enabled";

/// The state at the beginning. While it lives, our measuring slot is taken and the frequency is fixed.
#[derive(Debug)]
pub(crate) struct Surroundings {
    turn: Turn,
    frequency: FrequencyWatch,
    throttle_events: Option<u64>,
}

impl Surroundings {
    /// Records the state; before any launch, because fixing the frequency starts a process.
    ///
    /// # Errors
    /// When the frequency should be fixed but cannot be.
    pub(crate) fn begin(hold_frequency: bool) -> Result<Self, FrequencyError> {
        let root = Path::new(SYSFS);
        let frequency = FrequencyWatch::begin(root, hold_frequency)?;
        Ok(Self { turn: Turn::take(), frequency, throttle_events: throttle_events(root) })
    }

    /// Records the final state, and enters the findings.
    pub(crate) fn end(self, machine: &mut Machine) {
        let root = Path::new(SYSFS);
        machine.is_virtual = is_virtual();
        machine.throttle_events =
            throttle_events(root).zip(self.throttle_events).map(|(end, begin)| end.saturating_sub(begin));
        machine.frequency = self.frequency.end(root);
        machine.on_battery = on_battery(Path::new(POWER_SUPPLIES));
        machine.proactive_reclaim = proactive_reclaim(Path::new(DAMON), Path::new(DAMON_RECLAIM));
        machine.another_measured = self.turn.saw_another();
    }
}

/// Summed over all processors; a core's events are counted for each of its threads (`therm_throt.c`).
fn throttle_events(root: &Path) -> Option<u64> {
    let counts = entries(root)
        .into_iter()
        .flat_map(|processor| {
            ["core_throttle_count", "package_throttle_count"].map(|name| processor.join("thermal_throttle").join(name))
        })
        .filter_map(|path| line(&path)?.parse::<u64>().ok());
    counts.fold(None, |sum, count| Some(sum.unwrap_or(0u64).saturating_add(count)))
}

/// Whether a battery of the machine, not of its mouse, is discharging.
fn on_battery(supplies: &Path) -> Option<bool> {
    let is = |supply: &Path, name: &str, word: &str| line(&supply.join(name)).as_deref() == Some(word);
    let batteries =
        entries(supplies).into_iter().filter(|supply| is(supply, "type", "Battery") && !is(supply, "scope", "Device"));
    batteries.fold(None, |any, battery| Some(any.unwrap_or(false) || is(&battery, "status", "Discharging")))
}

/// Whether unused pages are reclaimed although there is free memory
/// (`Documentation/admin-guide/mm/damon/usage.rst`).
fn proactive_reclaim(kdamonds: &Path, module: &Path) -> Option<bool> {
    let module = line(module).map(|enabled| enabled == "Y");
    let in_contexts = |directory: &Path| {
        let schemes =
            entries(&directory.join("contexts")).into_iter().flat_map(|context| entries(&context.join("schemes")));
        schemes.filter_map(|scheme| line(&scheme.join("action"))).any(|action| action == "pageout")
    };
    let states =
        entries(kdamonds).into_iter().filter_map(|directory| Some((line(&directory.join("state"))?, directory)));
    let administrators = states
        .fold(None, |any, (state, directory)| Some(any.unwrap_or(false) || state == "on" && in_contexts(&directory)));
    module.into_iter().chain(administrators).reduce(|one, other| one || other)
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

fn line(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (name, value) in files {
            let path = directory.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{value}\n")).unwrap();
        }
        directory
    }

    #[test]
    fn throttling_is_added_up() {
        let processors = tree(&[
            ("cpu0/thermal_throttle/core_throttle_count", "3"),
            ("cpu0/thermal_throttle/package_throttle_count", "4"),
            ("cpu1/thermal_throttle/core_throttle_count", "5"),
            ("online", "0-1"),
        ]);
        assert_eq!(throttle_events(processors.path()), Some(12));
        assert_eq!(throttle_events(tree(&[("online", "0")]).path()), None);
    }

    #[test]
    fn only_the_machines_own_battery_counts() {
        let mouse = [("hid/type", "Battery"), ("hid/scope", "Device"), ("hid/status", "Discharging")];
        assert_eq!(on_battery(tree(&mouse).path()), None);
        let laptop = |status| {
            let own = [("AC/type", "Mains"), ("BAT0/type", "Battery"), ("BAT0/status", status)];
            on_battery(tree(&[&mouse[..], &own[..]].concat()).path())
        };
        assert_eq!((laptop("Discharging"), laptop("Charging")), (Some(true), Some(false)));
    }

    #[test]
    fn reclaim_needs_a_scheme_that_pages_out_and_runs() {
        let damon = |state, action| {
            let tree = tree(&[("0/state", state), ("0/contexts/0/schemes/0/action", action), ("nr_kdamonds", "1")]);
            proactive_reclaim(tree.path(), Path::new("/nonexistent"))
        };
        assert_eq!(damon("on", "pageout"), Some(true));
        assert_eq!(damon("off", "pageout"), Some(false));
        assert_eq!(damon("on", "stat"), Some(false));
        let module = tree(&[("enabled", "Y")]);
        assert_eq!(proactive_reclaim(Path::new("/nonexistent"), &module.path().join("enabled")), Some(true));
        assert_eq!(proactive_reclaim(Path::new("/nonexistent"), Path::new("/nonexistent")), None);
    }

    #[test]
    fn two_measurements_know_of_one_another() {
        let (first, second) = (Surroundings::begin(false).unwrap(), Surroundings::begin(false).unwrap());
        for surroundings in [second, first] {
            let mut machine = Machine::default();
            surroundings.end(&mut machine);
            assert!(machine.another_measured);
            assert_eq!(machine.frequency.is_some(), Path::new(SYSFS).join("cpufreq/policy0/scaling_driver").exists());
        }
    }
}
