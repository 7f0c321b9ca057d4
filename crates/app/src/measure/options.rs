//! Options of a measurement: commands, states, history and baseline.

use std::path::PathBuf;
use std::str::FromStr;

use coldstart_launch::{CommandLine, Input, LaunchOptions};
use coldstart_output::Inputs;
use coldstart_profile::printable;

use super::store::path_of;
use crate::launching::inputs_of;

/// The options of a measurement.
#[derive(Clone, Debug)]
pub struct MeasureOptions {
    /// The commands; the first is the baseline of the comparisons side by side.
    pub commands: Vec<CommandLine>,
    /// How each is started and waited for.
    pub launch: LaunchOptions,
    /// States of the caches; empty for the coldest permitted one, and hot.
    pub states: Vec<StateChoice>,
    /// Counted runs of each command in each state.
    pub runs: u32,
    /// Fix the processors at their base frequency while measuring.
    pub fixed_frequency: bool,
    /// The history.
    pub keeping: Keeping,
    /// A label, such as a commit or a version.
    pub label: Option<String>,
    /// The baseline and the gate.
    pub gate: GateOptions,
    /// Compare with earlier measurements of the same program, if there is no gate.
    pub look_back: bool,
}

impl MeasureOptions {
    /// The input files, which no output may replace.
    pub fn inputs(&self) -> Inputs {
        let input = match &self.launch.input {
            Input::File(path) => Some(path.as_path()),
            _ => None,
        };
        let mut inputs = inputs_of(&self.commands, input);
        self.keeping.add_to(&mut inputs);
        if let Some(Baseline::File(file)) = &self.gate.against {
            inputs.add(format!("the baseline `{}`", printable(file)), file);
        }
        for state in &self.states {
            if let StateChoice::Boot(file) = state {
                inputs.add(format!("the saved page cache `{}`", printable(file)), file);
            }
        }
        inputs
    }
}

/// The history of measurements.
#[derive(Clone, Debug, Default)]
pub struct Keeping {
    /// The history's file; `None` for the usual one (`coldstart_history::default_path`).
    pub file: Option<PathBuf>,
    /// Do not keep the measurement.
    pub nothing: bool,
}

impl Keeping {
    /// Adds the history's file to what outputs must not replace: it is read, and added to.
    pub fn add_to(&self, inputs: &mut Inputs) {
        if let Some(path) = path_of(self) {
            inputs.add(format!("the history `{}`", printable(&path)), &path);
        }
    }
}

/// The baseline and the regression gate.
#[derive(Clone, Debug, Default)]
pub struct GateOptions {
    /// Earlier measurements.
    pub against: Option<Baseline>,
    /// Permitted slowdown in percent; `None` without `--fail-if-slower`.
    pub fail_if_slower: Option<f64>,
    /// The permitted false positive rate of the whole gate, in percent.
    pub error_rate: f64,
    /// Compare with measurements of other machines and kernels, too.
    pub accept_other_machine: bool,
}

/// A reference to earlier measurements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Baseline {
    /// All measurements with this label.
    Label(String),
    /// The last N of the same command.
    Last(u32),
    /// The measurement of this number.
    Number(i64),
    /// A file of `measure --json`.
    File(PathBuf),
}

impl FromStr for Baseline {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "last" {
            return Ok(Self::Last(1));
        }
        if let Some(count) = text.strip_prefix("last:") {
            let count = count.parse().ok().filter(|count| (1..=10_000).contains(count));
            return count
                .map(Self::Last)
                .ok_or_else(|| "`last:` must be followed by a number from 1 to 10000".to_owned());
        }
        if let Some(number) = text.strip_prefix('#') {
            return number
                .parse()
                .map(Self::Number)
                .map_err(|_| "`#` must be followed by a number of the history".to_owned());
        }
        // A label may look like anything; a file is one that says so.
        let is_file = text.contains('/') || text.ends_with(".json");
        if is_file { Ok(Self::File(text.into())) } else { label(text).map(Self::Label) }
    }
}

/// Checks a label: refuses text with another meaning as a [`Baseline`].
///
/// # Errors
/// Why it is not a valid label.
pub fn label(text: &str) -> Result<String, String> {
    if text.is_empty() || text.chars().any(char::is_control) {
        return Err("a label is non-empty text in one line".to_owned());
    }
    if text == "last" || text.starts_with("last:") || text.starts_with('#') {
        return Err("`last`, `last:N` and `#NUMBER` are reserved".to_owned());
    }
    Ok(text.to_owned())
}

/// A state of the caches to start from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateChoice {
    /// All clean caches dropped.
    Cold,
    /// Likewise, and the saved state of this file brought back.
    Boot(PathBuf),
    /// The program's own files evicted.
    Selective,
    /// Right after another start.
    Hot,
}

impl FromStr for StateChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.strip_prefix("boot=")) {
            ("cold", _) => Ok(Self::Cold),
            ("selective", _) => Ok(Self::Selective),
            ("hot", _) => Ok(Self::Hot),
            (_, Some(file)) if !file.is_empty() => Ok(Self::Boot(file.into())),
            ("boot" | "boot=", _) => {
                Err("`boot` requires a file written by `coldstart pagecache save`: boot=FILE".to_owned())
            }
            _ => Err("expected cold, boot=FILE, selective or hot".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn baselines_are_told_apart() {
        let parsed = |text: &str| text.parse::<Baseline>();
        assert_eq!(parsed("last"), Ok(Baseline::Last(1)));
        assert_eq!(parsed("last:10"), Ok(Baseline::Last(10)));
        assert_eq!(parsed("#12"), Ok(Baseline::Number(12)));
        assert_eq!(parsed("v1.2"), Ok(Baseline::Label("v1.2".into())));
        assert_eq!(parsed("a.json"), Ok(Baseline::File("a.json".into())));
        assert_eq!(parsed("./a"), Ok(Baseline::File("./a".into())));
        for wrong in ["", "last:", "last:0", "last:-1", "#", "#a", "a\nb"] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
        assert!(label("last:3").is_err() && label("#1").is_err() && label("latest").is_ok());
    }

    #[test]
    fn a_state_as_after_boot_has_a_file() {
        let parsed = |text: &str| text.parse::<StateChoice>();
        assert_eq!(parsed("boot=a b"), Ok(StateChoice::Boot("a b".into())));
        assert_eq!(parsed("hot"), Ok(StateChoice::Hot));
        assert!(parsed("boot").unwrap_err().contains("boot=FILE") && parsed("boot=").is_err());
        assert!(parsed("Cold").is_err() && parsed("").is_err());
    }
}
