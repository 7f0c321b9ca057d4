//! What `--against` names: the earlier measurements that a new one may be compared with.
//!
//! Found before measuring, so that a name that is nobody's is told at once. Whether they come from the same machine is
//! known after it.

use anyhow::anyhow;
use coldstart_history::{History, Search, Stored};
use coldstart_measure::StartState;
use coldstart_measure::statistics::LEAST_RUNS;
use coldstart_profile::measurement::{KeptMeasurement, Machine, Sample};

use super::date::minute;
use super::store::{read_json, told};
use crate::args::measure::Baseline;
use crate::error::{CliError, HintExt};
use crate::output::path::printable;
use crate::output::text::{counted, plain};

/// An earlier measurement of the command.
pub(super) struct Session {
    /// Its number in the history; `None` if it comes from a file.
    pub(super) number: Option<i64>,
    pub(super) kept: KeptMeasurement,
    /// Which of its commands.
    pub(super) command: usize,
}

impl Session {
    /// The counted times in a state, in seconds.
    pub(super) fn times(&self, state: StartState) -> Vec<f64> {
        times(&self.kept.measurement.samples, self.command, state)
    }

    fn has(&self, state: StartState) -> bool {
        self.times(state).len() >= LEAST_RUNS
    }
}

/// The counted times of a command in a state, in seconds.
pub(super) fn times(samples: &[Sample], command: usize, state: StartState) -> Vec<f64> {
    let of = samples.iter().filter(|sample| sample.command == command && sample.state == state);
    of.filter_map(Sample::counted_seconds).collect()
}

/// Earlier measurements under one name.
pub(super) struct Found {
    /// As it was typed.
    pub(super) name: String,
    /// Oldest first.
    pub(super) sessions: Vec<Session>,
    /// Of these only the newest so many count.
    most: usize,
    /// What the user should know of how they were chosen.
    pub(super) notes: Vec<String>,
}

/// Finds them.
///
/// # Errors
/// When there are none, or none of them measured this command to the same readiness.
pub(super) fn find(
    baseline: &Baseline,
    history: Option<&History>,
    command_line: &str,
    readiness: &str,
) -> Result<Found, CliError> {
    let (name, stored, most) = stored(baseline, history, command_line)?;
    let mut notes = Vec::new();
    let all = stored.len();
    let mut sessions = Vec::new();
    let mut other_readiness = None;
    for (number, kept) in stored {
        let commands = &kept.measurement.commands;
        let command = match commands.iter().position(|command| command.command_line == command_line) {
            Some(command) => command,
            // Named on purpose, and there is no doubt which command is meant.
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
            Some(other) => format!("its readiness was `{other}`, and now it is `{readiness}`"),
            None => format!("none of its {} is of this command", plain(&counted(all as u64, "measurement"))),
        };
        return Err(anyhow!("cannot compare with `{name}`: {reason}"))
            .hint(|| "`coldstart measure --history` lists what was measured");
    }
    Ok(Found { name, sessions, most, notes })
}

type Numbered = Vec<(Option<i64>, KeptMeasurement)>;

fn stored(
    baseline: &Baseline,
    history: Option<&History>,
    command_line: &str,
) -> Result<(String, Numbered, usize), CliError> {
    let search = |search: &Search| history.map_or(Ok(Vec::new()), |history| told(history.search(search)));
    let numbered = |stored: Vec<Stored>| -> Numbered {
        stored.into_iter().map(|stored| (Some(stored.number), stored.kept)).collect()
    };
    let labelled = |label: &str| search(&Search { label: Some(label.to_owned()), ..Search::default() }).map(numbered);
    let (name, found, most) = match baseline {
        Baseline::File(file) => {
            let name = printable(file);
            // A label may look like a path, as names of branches do.
            let labelled = if file.exists() { Vec::new() } else { labelled(&name)? };
            let found = if labelled.is_empty() { vec![(None, read_json(file)?)] } else { labelled };
            (name, found, usize::MAX)
        }
        Baseline::Label(label) => (label.clone(), labelled(label)?, usize::MAX),
        Baseline::Number(number) => {
            let stored = history.map_or(Ok(None), |history| told(history.get(*number)))?;
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
            _ => format!("there is no measurement `{name}` in the history"),
        };
        return Err(anyhow!("cannot compare with `{name}`: {what}"))
            .hint(|| "`coldstart measure --history` lists what was measured; --label names a measurement");
    }
    Ok((name, found, most))
}

impl Found {
    /// Leaves out what cannot be compared: other machines (unless accepted), and what has no state in common.
    ///
    /// Times of another machine or kernel say nothing of the program, so an alarm would be the machine's: they are left
    /// out by default, and when nothing remains that is an answer of its own.
    ///
    /// # Errors
    /// When nothing is left.
    pub(super) fn narrow(
        &mut self,
        machine: &Machine,
        states: &[StartState],
        accept_other_machine: bool,
    ) -> Result<(), CliError> {
        let mut others = Vec::new();
        self.sessions.retain(|session| {
            let differences = machine.differences(&session.kept.measurement.machine);
            let is_other = !differences.is_empty();
            others.extend(is_other.then(|| differences.join(", ")));
            accept_other_machine || !is_other
        });
        let count = plain(&counted(others.len() as u64, "measurement"));
        if let Some(difference) = others.last() {
            if self.sessions.is_empty() {
                return Err(anyhow!(
                    "cannot compare with `{}`: it was measured on another machine: {difference}",
                    self.name
                ))
                .hint(|| {
                    "measure the baseline again on this machine, or side by side (--compare); \
                         --accept-other-machine compares all the same"
                });
            }
            let what = if accept_other_machine { "taken in although" } else { "left out because" };
            self.notes.push(format!("{count} {what} measured on another machine: {difference}"));
        }
        self.sessions.retain(|session| states.iter().any(|state| session.has(*state)));
        if self.sessions.is_empty() {
            return Err(anyhow!(
                "cannot compare with `{}`: it has fewer than {LEAST_RUNS} counted runs in {}",
                self.name,
                states.iter().map(|state| state.name()).collect::<Vec<_>>().join(" and in ")
            ))
            .hint(|| "--state and --runs must fit those of the baseline");
        }
        let surplus = self.sessions.len().saturating_sub(self.most);
        self.sessions.drain(..surplus);
        if self.most != usize::MAX && self.sessions.len() < self.most {
            let there = self.sessions.len();
            self.notes.push(format!("{} asks for {}, and there are {there}", self.name, self.most));
        }
        Ok(())
    }

    /// In words: which they are.
    pub(super) fn described(&self) -> String {
        let (Some(first), Some(last)) = (self.sessions.first(), self.sessions.last()) else { return self.name.clone() };
        let when = |session: &Session| minute(session.kept.measured_at);
        match self.sessions.len() {
            1 => format!("{} (measured {} UTC)", self.name, when(first)),
            count => format!("{} ({count} measurements, {} to {} UTC)", self.name, when(first), when(last)),
        }
    }
}
