//! The processors' frequency, and its control.

use serde::{Deserialize, Serialize};

/// The kernel's facts about the processors' frequency (`Documentation/admin-guide/pm/cpufreq.rst`). All frequencies
/// are in kHz.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Frequency {
    /// The scaling driver: `intel_pstate`, `acpi-cpufreq`. More than one are separated by commas.
    pub driver: String,
    /// The governors of all policies when measuring began, each once: more than one means that processors are governed
    /// differently.
    pub governors: Vec<String>,
    /// The energy-performance preferences of all policies, each once; empty where there are none.
    pub energy_preferences: Vec<String>,
    /// Whether processors may run faster than their base frequency; `None` where there is no switch for it.
    pub turbo: Option<Turbo>,
    /// Least and greatest frequency that the policies allow.
    pub allowed: Option<FrequencyRange>,
    /// Slowest and fastest policy when measuring began.
    pub at_begin: Option<FrequencyRange>,
    /// Slowest and fastest policy when measuring ended.
    pub at_end: Option<FrequencyRange>,
    /// We fixed the processors at these frequencies while measuring: the other fields are the fixed settings.
    pub held: Option<FrequencyRange>,
    /// Our settings had changed by the end: a sentence.
    pub lost_hold: Option<String>,
}

/// Frequencies in kHz; the same twice where all policies agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrequencyRange {
    /// The least.
    pub least: u64,
    /// The greatest.
    pub greatest: u64,
}

/// Whether processors may run faster than their base frequency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Turbo {
    /// All may.
    On,
    /// None may.
    Off,
    /// Some may.
    Mixed,
}

impl Frequency {
    /// Whether the frequency may change while a program starts: its range is open, or turbo is on.
    pub fn varies(&self) -> bool {
        let has_range = self.allowed.is_some_and(|allowed| allowed.least < allowed.greatest);
        let only_fast = !self.governors.is_empty() && self.governors.iter().all(|governor| governor == "performance");
        has_range && !only_fast || matches!(self.turbo, Some(Turbo::On | Turbo::Mixed))
    }
}

impl FrequencyRange {
    /// From the least to the greatest of some frequencies; `None` if there are none.
    pub fn over(frequencies: impl IntoIterator<Item = u64>) -> Option<Self> {
        frequencies.into_iter().fold(None, |range: Option<Self>, frequency| {
            Some(range.map_or(Self { least: frequency, greatest: frequency }, |range| Self {
                least: range.least.min(frequency),
                greatest: range.greatest.max(frequency),
            }))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frequency(governors: &[&str], least: u64, turbo: Option<Turbo>) -> Frequency {
        Frequency {
            governors: governors.iter().map(|&governor| governor.to_owned()).collect(),
            allowed: FrequencyRange::over([3_000_000, least]),
            turbo,
            ..Frequency::default()
        }
    }

    #[test]
    fn an_open_range_varies_unless_the_governor_is_performance() {
        assert!(frequency(&["powersave"], 800_000, None).varies());
        assert!(!frequency(&["performance"], 800_000, None).varies());
        assert!(frequency(&["performance", "powersave"], 800_000, Some(Turbo::Off)).varies());
        assert!(!frequency(&["powersave"], 3_000_000, Some(Turbo::Off)).varies());
        assert!(frequency(&["performance"], 3_000_000, Some(Turbo::On)).varies());
    }
}
