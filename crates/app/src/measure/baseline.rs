//! `--against`: the earlier measurements to compare a new one with.
//!
//! They are found before measuring, so that unknown baselines fail early. Whether they are of the same machine is checked
//! after the measurement.

use anyhow::anyhow;
use coldstart_history::{History, Search, Stored};
use coldstart_measure::StartState;
use coldstart_measure::statistics::LEAST_RUNS;
use coldstart_profile::measurement::{KeptMeasurement, Machine};
use coldstart_profile::printable;
use coldstart_view::dates::minute;
use coldstart_view::numbers::counted;

use super::condition::{Condition, times};
use super::options::Baseline;
use super::store::read_json;
use crate::error::{AppError, HintExt};

/// An earlier measurement of the command.
pub(super) struct Session {
    /// Its number in the history; `None` if it comes from a file.
    pub(super) number: Option<i64>,
    pub(super) kept: KeptMeasurement,
    /// The index of the command in it.
    pub(super) command: usize,
}

impl Session {
    /// The counted times in a state, in seconds.
    pub(super) fn times(&self, state: StartState) -> Vec<f64> {
        times(&self.kept.measurement.samples, self.command, state)
    }

    /// The conditions of these measurements.
    pub(super) fn condition(&self, state: StartState) -> Condition {
        Condition::of(&self.kept.measurement, self.command, state)
    }

    fn has(&self, state: StartState) -> bool {
        self.times(state).len() >= LEAST_RUNS
    }
}

const ALL_STATES: [StartState; 4] = [StartState::Cold, StartState::Boot, StartState::Selective, StartState::Hot];

/// Earlier measurements under one name.
pub(super) struct Found {
    /// The baseline as typed.
    pub(super) name: String,
    /// Oldest first.
    pub(super) sessions: Vec<Session>,
    /// Maximum number of sessions to use, the newest ones.
    most: usize,
    /// Notes about their selection.
    pub(super) notes: Vec<String>,
}

/// Finds the sessions.
///
/// # Errors
/// If there are none, or none measured this command with the same readiness.
pub(super) fn find(
    baseline: &Baseline,
    history: Option<&History>,
    command_line: &str,
    readiness: &str,
) -> Result<Found, AppError> {
    let (name, stored, most) = stored(baseline, history, command_line)?;
    let mut notes = Vec::new();
    let all = stored.len();
    let mut sessions = Vec::new();
    let mut other_readiness = None;
    for (number, kept) in stored {
        let commands = &kept.measurement.commands;
        let command = match commands.iter().position(|command| command.command_line == command_line) {
            Some(command) => command,
            // An explicit single measurement is unambiguous.
            None if commands.len() == 1 && !matches!(baseline, Baseline::Last(_)) => 0,
            None => continue,
        };
        let Some(measured) = commands.get(command) else { continue };
        if measured.readiness != readiness {
            other_readiness = Some(measured.readiness.clone());
            continue;
        }
        let note = format!("{name} measured another command line: {}", measured.command_line);
        if measured.command_line != command_line && !notes.contains(&note) {
            notes.push(note);
        }
        sessions.push(Session { number, kept, command });
    }
    if sessions.is_empty() {
        let reason = match other_readiness {
            Some(other) => format!("its readiness was `{other}` and is now `{readiness}`"),
            None => format!("none of its {} measures this command", counted(all as u64, "measurement")),
        };
        return Err(anyhow!("cannot compare with `{name}`: {reason}"))
            .hint(|| "`coldstart measure --history` lists the measurements");
    }
    if !sessions.iter().any(|session| ALL_STATES.iter().any(|state| session.has(*state))) {
        return Err(anyhow!("cannot compare with `{name}`: it has fewer than {LEAST_RUNS} counted runs in any state"))
            .hint(|| "its runs failed or are too few: measure the baseline again");
    }
    Ok(Found { name, sessions, most, notes })
}

type Numbered = Vec<(Option<i64>, KeptMeasurement)>;

fn stored(
    baseline: &Baseline,
    history: Option<&History>,
    command_line: &str,
) -> Result<(String, Numbered, usize), AppError> {
    let search = |search: &Search| history.map_or(Ok(Vec::new()), |history| history.search(search));
    let numbered = |stored: Vec<Stored>| -> Numbered {
        stored.into_iter().map(|stored| (Some(stored.number), stored.kept)).collect()
    };
    let labelled = |label: &str| search(&Search { label: Some(label.to_owned()), ..Search::default() }).map(numbered);
    let (name, found, most) = match baseline {
        Baseline::File(file) => {
            let name = printable(file);
            // A label may look like a path, as branch names do.
            let labelled = if file.exists() { Vec::new() } else { labelled(&name)? };
            let found = if labelled.is_empty() { vec![(None, read_json(file)?)] } else { labelled };
            (name, found, usize::MAX)
        }
        Baseline::Label(label) => (label.clone(), labelled(label)?, usize::MAX),
        Baseline::Number(number) => {
            let stored = history.map_or(Ok(None), |history| history.get(*number))?;
            (format!("#{number}"), numbered(stored.into_iter().collect()), usize::MAX)
        }
        Baseline::Last(count) => {
            let of_command = Search { command_line: Some(command_line.to_owned()), ..Search::default() };
            let name = if *count == 1 { "last".to_owned() } else { format!("last:{count}") };
            (name, numbered(search(&of_command)?), usize::try_from(*count).unwrap_or(usize::MAX))
        }
    };
    if found.is_empty() {
        let what = match baseline {
            Baseline::Last(_) => format!("`{command_line}` has not been measured before"),
            _ => format!("no measurement `{name}` in the history"),
        };
        return Err(anyhow!("cannot compare with `{name}`: {what}"))
            .hint(|| "`coldstart measure --history` lists the measurements; set a name with --label");
    }
    Ok((name, found, most))
}

impl Found {
    /// Removes sessions that cannot be compared: of other machines (unless accepted), or without a common state.
    ///
    /// A difference to another machine or kernel is not caused by the program, so these are left out by default. It is an
    /// error if none remain.
    ///
    /// # Errors
    /// If none remain.
    pub(super) fn narrow(
        &mut self,
        machine: &Machine,
        states: &[StartState],
        accept_other_machine: bool,
    ) -> Result<(), AppError> {
        let mut others = Vec::new();
        self.sessions.retain(|session| {
            let differences = machine.differences(&session.kept.measurement.machine);
            let is_other = !differences.is_empty();
            others.extend(is_other.then(|| differences.join(", ")));
            accept_other_machine || !is_other
        });
        let count = counted(others.len() as u64, "measurement");
        if let Some(difference) = others.last() {
            if self.sessions.is_empty() {
                return Err(anyhow!(
                    "cannot compare with `{}`: it was measured on another machine: {difference}",
                    self.name
                ))
                .hint(|| {
                    "measure the baseline again on this machine, or side by side (--compare); \
                         use --accept-other-machine to compare nevertheless"
                });
            }
            let what = if accept_other_machine { "included although" } else { "left out because" };
            self.notes.push(format!("{count} {what} measured on another machine: {difference}"));
        }
        self.sessions.retain(|session| states.iter().any(|state| session.has(*state)));
        if self.sessions.is_empty() {
            return Err(anyhow!(
                "cannot compare with `{}`: it has fewer than {LEAST_RUNS} counted runs in {}",
                self.name,
                states.iter().map(|state| state.name()).collect::<Vec<_>>().join(" and in ")
            ))
            .hint(|| "use --state and --runs as for the baseline");
        }
        Ok(())
    }

    /// Removes sessions measured under other conditions than `kept`, and then all but the newest requested ones.
    ///
    /// # Errors
    /// If none remain.
    pub(super) fn settle(&mut self, kept: &KeptMeasurement, states: &[StartState]) -> Result<(), AppError> {
        let now = |state| Condition::of(&kept.measurement, 0, state);
        let mut other = None;
        let before = self.sessions.len();
        self.sessions.retain(|session| {
            let there = || states.iter().copied().filter(|state| session.has(*state));
            let is_same = there().any(|state| session.condition(state) == now(state));
            if !is_same {
                let differs = |state: StartState| {
                    format!("{state} was {} and is now {}", session.condition(state).told(), now(state).told())
                };
                other = there().next().map(differs);
            }
            is_same
        });
        if let Some(other) = other {
            if self.sessions.is_empty() {
                return Err(anyhow!("cannot compare with `{}`: {other}", self.name))
                    .hint(|| "measure the baseline again in the same way");
            }
            let left_out = counted((before - self.sessions.len()) as u64, "measurement");
            self.notes.push(format!("{left_out} left out: {other}"));
        }
        let surplus = self.sessions.len().saturating_sub(self.most);
        self.sessions.drain(..surplus);
        if self.most != usize::MAX && self.sessions.len() < self.most {
            let there = self.sessions.len();
            self.notes.push(format!("{} means {}, but only {there} exist", self.name, self.most));
        }
        Ok(())
    }

    /// Describes the sessions.
    pub(super) fn described(&self) -> String {
        let (Some(first), Some(last)) = (self.sessions.first(), self.sessions.last()) else { return self.name.clone() };
        let when = |session: &Session| minute(session.kept.measured_at);
        match self.sessions.len() {
            1 => format!("{} (measured {} UTC)", self.name, when(first)),
            count => format!("{} ({count} measurements, {} to {} UTC)", self.name, when(first), when(last)),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;

    /// Four starts as after boot, from a state that was saved at `saved_at`, at a held frequency if any (in MHz).
    pub(in crate::measure) fn booted(saved_at: i64, held: Option<u64>) -> KeptMeasurement {
        let sample = |number: u32| {
            json!({
                "number": number, "command": 0, "state": "boot", "round": number, "attempt": 1, "seconds": 1.0,
                "end": {"how": "exited", "value": 0}, "residency": null, "bytes_read": 0, "major_faults": 0,
                "minor_faults": 0, "user_seconds": 0.0, "system_seconds": 0.0, "devices": [], "used": {"use": "counted"}
            })
        };
        let frequency = held.map(|held| json!({"held": {"least": held * 1000, "greatest": held * 1000}}));
        let saved = json!({
            "file": format!("{saved_at}.pagecache"), "saved_at": saved_at, "asked": 5, "least_back": 5, "most_extra": 0,
            "lost_files": 0, "lost_pages": 0, "lost_example": null
        });
        serde_json::from_value(json!({
            "machine": {"kernel": "6.1", "processor": "P", "processor_count": 2, "governor": null, "memory": 1,
                        "devices": [], "frequency": frequency},
            "commands": [{"label": "A", "command_line": "server", "readiness": "exit", "file_count": 0}],
            "samples": (1..=4).map(sample).collect::<Vec<_>>(),
            "summaries": [{
                "command": 0, "state": "boot", "counted": 4, "failed": 0, "contradicting": 0, "mean": 1.0,
                "mean_interval": null, "median": 1.0, "min": 1.0, "max": 1.0, "standard_deviation": 0.0,
                "outliers": [], "bytes_read": null, "requests": null, "major_faults": null,
                "state_facts": {"method": "m", "checked_before": true, "file_pages": null, "resident_pages": null,
                                "stayed": [], "saved_state": saved}
            }],
            "comparisons": [], "input_output": [], "launch_floor": null, "warnings": []
        }))
        .unwrap()
    }

    fn found(most: usize, all: &[KeptMeasurement]) -> Found {
        let session = |kept: &KeptMeasurement| Session { number: None, kept: kept.clone(), command: 0 };
        Found { name: "b".into(), sessions: all.iter().map(session).collect(), most, notes: Vec::new() }
    }

    #[test]
    fn a_baseline_whose_runs_all_failed_is_told_before_measuring() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("base.json");
        let write = |kept: &KeptMeasurement| {
            let mut json = serde_json::to_value(kept).unwrap();
            json["schema"] = super::super::SCHEMA.into();
            std::fs::write(&file, json.to_string()).unwrap();
            find(&Baseline::File(file.clone()), None, "server", "exit").map(|found| found.sessions.len())
        };
        let mut kept = booted(60, None);
        assert_eq!(write(&kept).unwrap(), 1);
        for sample in kept.measurement.samples.iter_mut().skip(2) {
            sample.used = coldstart_profile::measurement::Use::Failed { reason: "no".into() };
        }
        let error = write(&kept).unwrap_err();
        assert!(format!("{error:?}").contains("fewer than 3 counted runs in any state"), "{error:?}");
    }

    #[test]
    fn starts_from_another_saved_state_or_at_a_held_frequency_are_left_out() {
        let states = [StartState::Boot];
        let now = booted(60, None);
        let all = [now.clone(), now.clone(), now.clone(), booted(120, None), booted(60, Some(2100))];
        let mut several = found(2, &all);
        several.settle(&now, &states).unwrap();
        assert_eq!(several.sessions.len(), 2, "the newest two of those that are alike");
        assert_eq!(
            several.notes,
            ["2 measurements left out: boot was from `60.pagecache` of 1970-01-01 00:01 UTC, held at 2100 MHz and is \
              now from `60.pagecache` of 1970-01-01 00:01 UTC"]
        );
        let error = found(1, &all[3..4]).settle(&now, &states).unwrap_err();
        assert!(format!("{error:?}").contains("boot was from `120.pagecache`"), "{error:?}");
        let mut moved = now.clone();
        if let Some(saved) = &mut moved.measurement.summaries[0].state_facts.saved_state {
            saved.file = "elsewhere".into();
        }
        found(1, &[moved]).settle(&now, &states).unwrap();
    }
}
