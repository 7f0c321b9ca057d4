//! The kernel's files about the processors, below `/sys/devices/system/cpu` or a test's directory.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use coldstart_profile::measurement::{Frequency, FrequencyRange, Turbo};

/// Where the kernel's files are.
pub(crate) struct Tree {
    root: PathBuf,
}

/// Processors that share their frequency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Policy {
    /// Its directory, relative to the root.
    pub(crate) directory: String,
    /// The first processor that it governs.
    first_processor: String,
}

/// Intel's switch is inverted.
const NO_TURBO: &str = "intel_pstate/no_turbo";
/// That of all other drivers, for all policies at once.
const BOOST: &str = "cpufreq/boost";

impl Tree {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// A file's content, without its line end; `None` if it is empty or cannot be read.
    pub(crate) fn read(&self, name: &str) -> Option<String> {
        let text = fs::read_to_string(self.path(name)).ok()?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.read(name)?.parse().ok()
    }

    /// The policies with an online processor, by number.
    pub(crate) fn policies(&self) -> Vec<Policy> {
        let entries = fs::read_dir(self.path("cpufreq")).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut numbers: Vec<u32> = names.filter_map(|name| name.strip_prefix("policy")?.parse().ok()).collect();
        numbers.sort_unstable();
        let policy = |number| {
            let directory = format!("cpufreq/policy{number}");
            // Empty when all its processors are offline; their files then answer EBUSY.
            let processors = self.read(&format!("{directory}/affected_cpus"))?;
            Some(Policy { directory, first_processor: processors.split(' ').next()?.to_owned() })
        };
        numbers.into_iter().filter_map(policy).collect()
    }

    /// The switches that allow turbo, with the value that disables it.
    pub(crate) fn turbo_switches(&self, policies: &[Policy]) -> Vec<(String, &'static str)> {
        let whole = [(NO_TURBO.to_owned(), "1"), (BOOST.to_owned(), "0")];
        let parts = policies.iter().map(|policy| (policy.file("boost"), "0"));
        whole.into_iter().chain(parts).filter(|(name, _)| self.read(name).is_some()).collect()
    }

    /// A policy's highest sustained frequency, without turbo. Call this with turbo disabled, because some
    /// drivers then report it as the maximum.
    pub(crate) fn base_frequency(&self, policy: &Policy) -> Option<u64> {
        let number = |name: &str| self.number(&policy.file(name));
        let (least, greatest) = (number("cpuinfo_min_freq")?, number("cpuinfo_max_freq")?);
        let nominal = || {
            // In MHz, of the firmware's CPPC tables (`Documentation/admin-guide/acpi/cppc_sysfs.rst`).
            let megahertz = self.number(&format!("cpu{}/acpi_cppc/nominal_freq", policy.first_processor))?;
            megahertz.checked_mul(1000).filter(|&frequency| frequency > 0)
        };
        let listed = || self.read(&policy.file("scaling_available_frequencies")).and_then(|list| highest_steady(&list));
        let base = number("base_frequency").or_else(listed).or_else(nominal).unwrap_or(greatest);
        Some(base.clamp(least.min(greatest), greatest))
    }

    /// The current state, without changing anything; `None` where the kernel does not control frequencies.
    pub(crate) fn look(&self) -> Option<Frequency> {
        let policies = self.policies();
        if policies.is_empty() {
            return None;
        }
        let words = |name: &str| -> Vec<String> {
            let set: BTreeSet<String> = policies.iter().filter_map(|policy| self.read(&policy.file(name))).collect();
            set.into_iter().collect()
        };
        let numbers =
            |name: &str| -> Vec<u64> { policies.iter().filter_map(|policy| self.number(&policy.file(name))).collect() };
        let allowed = numbers("scaling_min_freq").into_iter().chain(numbers("scaling_max_freq"));
        Some(Frequency {
            driver: words("scaling_driver").join(", "),
            governors: words("scaling_governor"),
            energy_preferences: words("energy_performance_preference"),
            turbo: self.turbo(&policies),
            allowed: FrequencyRange::over(allowed),
            at_begin: self.current(),
            ..Frequency::default()
        })
    }

    /// Slowest and fastest policy now.
    pub(crate) fn current(&self) -> Option<FrequencyRange> {
        let current = |policy: Policy| self.number(&policy.file("scaling_cur_freq")).filter(|&frequency| frequency > 0);
        FrequencyRange::over(self.policies().into_iter().filter_map(current))
    }

    fn turbo(&self, policies: &[Policy]) -> Option<Turbo> {
        let is_off = |(name, off): &(String, &str)| self.read(name).as_deref() == Some(*off);
        // A global switch takes precedence over those of the policies.
        let (whole, parts): (Vec<_>, Vec<_>) =
            self.turbo_switches(policies).into_iter().partition(|(name, _)| name == NO_TURBO || name == BOOST);
        if whole.iter().any(is_off) {
            return Some(Turbo::Off);
        }
        match (parts.iter().filter(|switch| is_off(switch)).count(), parts.len()) {
            (0, 0) if whole.is_empty() => None,
            (0, _) => Some(Turbo::On),
            (off, all) if off == all => Some(Turbo::Off),
            _ => Some(Turbo::Mixed),
        }
    }
}

impl Policy {
    #[cfg(test)]
    pub(crate) fn new(directory: &str) -> Self {
        Self { directory: directory.to_owned(), first_processor: "0".to_owned() }
    }

    pub(crate) fn file(&self, name: &str) -> String {
        format!("{}/{name}", self.directory)
    }
}

/// The highest frequency of a list that is not turbo. `acpi-cpufreq` lists turbo on Intel processors as an entry 1 MHz
/// above the highest real one (from ACPI's `_PSS`); AMD's are in a separate list.
fn highest_steady(list: &str) -> Option<u64> {
    let mut frequencies: Vec<u64> = list.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect();
    frequencies.sort_unstable();
    let highest = frequencies.pop()?;
    Some(frequencies.pop().filter(|below| below.checked_add(1000) == Some(highest)).unwrap_or(highest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turbos_entry_is_not_the_highest() {
        assert_eq!(highest_steady("2601000 2600000 2500000 1200000"), Some(2_600_000));
        assert_eq!(highest_steady("2600000 2500000"), Some(2_600_000));
        assert_eq!(highest_steady("1200000"), Some(1_200_000));
        assert_eq!(highest_steady("x"), None);
    }
}
