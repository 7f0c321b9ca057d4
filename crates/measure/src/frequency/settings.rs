//! The settings that determine the frequency: current and wanted values, and the order of writing.

use std::fs;
use std::io;

use coldstart_profile::measurement::FrequencyRange;

use super::error::FrequencyError;
use super::tree::{Policy, Tree};

/// A file of the tree and its current or wanted value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    pub(crate) name: String,
    pub(crate) value: String,
}

const GOVERNOR: &str = "scaling_governor";
const PREFERENCE: &str = "energy_performance_preference";
const LEAST: &str = "scaling_min_freq";
const GREATEST: &str = "scaling_max_freq";
/// A frequency may be rounded to those of the processor: multiples of 100 MHz on most.
const ROUNDING: u64 = 100_000;

/// All current settings, in the order of restoring. Some occur twice.
///
/// Turbo comes first, because switching it resets the policies' maximum frequency (`cpufreq_boost_set_sw`,
/// `intel_pstate_update_policies`); the governor before the preference, which is busy under `performance`.
pub(crate) fn saved(tree: &Tree, policies: &[Policy]) -> Result<Vec<Setting>, FrequencyError> {
    let setting = |name: String| tree.read(&name).map(|value| Setting { name, value });
    let mut saved: Vec<Setting> =
        tree.turbo_switches(policies).into_iter().filter_map(|(name, _)| setting(name)).collect();
    for policy in policies {
        let number = |name: &str| tree.number(&policy.file(name));
        let governor = setting(policy.file(GOVERNOR));
        // Under this governor a user has chosen a frequency, which a change of governor discards.
        let chosen = governor
            .as_ref()
            .filter(|governor| governor.value == "userspace")
            .and_then(|_| setting(policy.file("scaling_setspeed")));
        saved.extend(governor);
        saved.extend(setting(policy.file(PREFERENCE)));
        let range = number(LEAST).zip(number(GREATEST));
        let (least, greatest) =
            range.ok_or_else(|| FrequencyError::NotTold { policy: tree.path(&policy.directory) })?;
        saved.extend(range_settings(policy, least, greatest));
        saved.extend(chosen);
    }
    Ok(saved)
}

/// Writes that lead from any range to this one, although the kernel may refuse a minimum above the
/// maximum (before Linux 5.3): whichever must come first, one of these does. The first may be refused.
fn range_settings(policy: &Policy, least: u64, greatest: u64) -> [Setting; 3] {
    let setting = |name, value: u64| Setting { name: policy.file(name), value: value.to_string() };
    [setting(GREATEST, greatest), setting(LEAST, least), setting(GREATEST, greatest)]
}

/// Switches turbo off and gives each policy its base frequency only. Returns what the settings say then, and the range
/// over all policies.
pub(crate) fn fix(tree: &Tree, policies: &[Policy]) -> Result<(Vec<Setting>, Option<FrequencyRange>), FrequencyError> {
    let mut fixed = Vec::new();
    let mut frequencies = Vec::new();
    for (name, off) in tree.turbo_switches(policies) {
        fixed.push(Setting { name, value: off.to_owned() });
    }
    for setting in &fixed {
        write(tree, setting)?;
    }
    for policy in policies {
        let not_told = || FrequencyError::NotTold { policy: tree.path(&policy.directory) };
        let base = tree.base_frequency(policy).ok_or_else(not_told)?;
        let available = tree.read(&policy.file("scaling_available_governors"));
        // Where the range is one frequency, any governor keeps to it.
        if available.is_none_or(|list| list.split(' ').any(|governor| governor == "performance")) {
            let governor = Setting { name: policy.file(GOVERNOR), value: "performance".to_owned() };
            write(tree, &governor)?;
            fixed.push(governor);
        }
        let [first, least, greatest] = range_settings(policy, base, base);
        // See there.
        let _ = write(tree, &first);
        write(tree, &least)?;
        write(tree, &greatest)?;
        let rounded = rounded(tree, &least, base)?;
        frequencies.push(rounded);
        fixed.extend(range_settings(policy, rounded, rounded));
    }
    // Only now: a later setting may have undone an earlier one.
    check(tree, &fixed)?;
    Ok((fixed, FrequencyRange::over(frequencies)))
}

/// What a frequency reads back as, which must be near what was written.
fn rounded(tree: &Tree, setting: &Setting, wanted: u64) -> Result<u64, FrequencyError> {
    let found = tree.number(&setting.name).unwrap_or(0);
    if found.abs_diff(wanted) <= ROUNDING { Ok(found) } else { Err(not_taken(tree, setting)) }
}

/// Writes a setting, unless that is what it says.
pub(crate) fn write(tree: &Tree, setting: &Setting) -> Result<(), FrequencyError> {
    if tree.read(&setting.name).as_deref() == Some(&setting.value) {
        return Ok(());
    }
    let path = tree.path(&setting.name);
    let written = fs::OpenOptions::new().write(true).truncate(true).open(&path).and_then(|mut file| {
        // In one call: the kernel takes each for a whole value.
        io::Write::write_all(&mut file, setting.value.as_bytes())
    });
    written.map_err(|source| FrequencyError::Write { path, value: setting.value.clone(), source })
}

/// Whether all settings say what they should.
///
/// # Errors
/// [`FrequencyError::NotTaken`] with the first that does not.
pub(crate) fn check(tree: &Tree, settings: &[Setting]) -> Result<(), FrequencyError> {
    match settings.iter().find(|setting| tree.read(&setting.name).as_deref() != Some(&setting.value)) {
        Some(other) => Err(not_taken(tree, other)),
        None => Ok(()),
    }
}

fn not_taken(tree: &Tree, setting: &Setting) -> FrequencyError {
    FrequencyError::NotTaken {
        path: tree.path(&setting.name),
        wanted: setting.value.clone(),
        found: tree.read(&setting.name).unwrap_or_else(|| "unreadable".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rule of kernels before 5.3: a write that would cross the other limit is refused.
    fn play(mut range: (u64, u64), writes: &[Setting]) -> (u64, u64) {
        for write in writes {
            let value = write.value.parse().unwrap();
            if write.name.ends_with(LEAST) && value <= range.1 {
                range.0 = value;
            } else if write.name.ends_with(GREATEST) && value >= range.0 {
                range.1 = value;
            }
        }
        range
    }

    #[test]
    fn any_range_is_reached_from_any_other() {
        let policy = Policy::new("cpufreq/policy0");
        let ranges: Vec<(u64, u64)> =
            (1..=4).flat_map(|least| (least..=4).map(move |greatest| (least, greatest))).collect();
        for &from in &ranges {
            for &to in &ranges {
                assert_eq!(play(from, &range_settings(&policy, to.0, to.1)), to, "from {from:?}");
            }
        }
    }
}
