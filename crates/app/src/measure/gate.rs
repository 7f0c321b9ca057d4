//! `--against` and `--fail-if-slower`: the regression gate.

use anyhow::anyhow;
use coldstart_measure::statistics::{
    Basis, GateTest, LEAST_RUNS, SessionDifference, Terms, against_sessions, session_difference, side_by_side,
};
use coldstart_measure::{Measurement, StartState};
use coldstart_profile::measurement::{Interval, KeptMeasurement, Sample, Verdict};
use serde::Serialize;

use super::baseline::Found;
use super::condition::{Condition, measured_states as states, times};
use super::options::GateOptions;
use crate::error::{AppError, HintExt};

/// The whole comparison, as in `--json`.
#[derive(Debug, Serialize)]
pub struct Gate {
    /// The baseline.
    pub baseline: String,
    /// Numbers of the baseline measurements in the history.
    pub baseline_numbers: Vec<i64>,
    /// Permitted slowdown in percent; `None` without `--fail-if-slower`.
    pub fail_if_slower: Option<f64>,
    /// The false positive rate of the whole gate, in percent.
    pub error_rate: Option<f64>,
    /// Each state.
    pub states: Vec<StateAnswer>,
    /// Whether a slowdown beyond the limit was shown in a state; `None` without `--fail-if-slower`.
    pub is_slower: Option<bool>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// The comparison in one state. Ratios are time now / time of the baseline.
#[derive(Debug, Serialize)]
pub struct StateAnswer {
    /// Index of the command.
    pub command: usize,
    /// The label of the command.
    pub label: String,
    /// The state of the page cache.
    pub state: StartState,
    /// The estimate.
    pub ratio: f64,
    /// The 95 % interval; with a gate, see `at_least`.
    pub interval: Option<Interval>,
    /// The verdict by the 99 % interval; `None` with a gate.
    pub verdict: Option<Verdict>,
    /// One-sided confidence bound of the ratio.
    pub at_least: Option<f64>,
    /// The limit for the bound.
    pub limit: Option<f64>,
    /// The smallest ratio detected with 80 % power.
    pub detectable: Option<f64>,
    /// This state's share of the error rate, in percent.
    pub error_rate: Option<f64>,
    /// Whether a slowdown beyond the limit is shown; `None` without a gate.
    pub is_slower: Option<bool>,
    /// Number of earlier sessions used.
    pub sessions: Option<usize>,
    /// Number of paired runs used.
    pub pairs: Option<usize>,
    /// The spread of sessions (relative standard deviation), observed or assumed.
    pub session_spread: Option<f64>,
    /// Whether the spread is assumed, because there are too few sessions.
    pub is_allowance: bool,
}

/// Compares a measurement's first command with earlier ones.
///
/// # Errors
/// If no state can be compared.
pub(super) fn against(kept: &KeptMeasurement, found: &mut Found, options: &GateOptions) -> Result<Gate, AppError> {
    let measurement = &kept.measurement;
    found.settle(kept, &states(measurement))?;
    let label = measurement.commands.first().map_or_else(String::new, |command| command.label.clone());
    let mut notes = found.notes.clone();
    let mut sides = Vec::new();
    for state in states(measurement) {
        let new = times(&measurement.samples, 0, state);
        let condition = Condition::of(measurement, 0, state);
        let earlier: Vec<Vec<f64>> = found
            .sessions
            .iter()
            .filter(|session| session.condition(state) == condition)
            .map(|session| session.times(state))
            .filter(|times| times.len() >= LEAST_RUNS)
            .collect();
        if earlier.is_empty() {
            notes.push(format!("{state} was not compared: {} has no such runs", found.name));
        } else if new.len() < LEAST_RUNS {
            notes.push(format!("{state} was not compared: fewer than {LEAST_RUNS} runs count"));
        } else {
            sides.push((state, earlier, new));
        }
    }
    let terms = options.fail_if_slower.map(|threshold| terms(threshold, options).shared(sides.len()));
    let answers: Vec<StateAnswer> = sides
        .iter()
        .filter_map(|(state, earlier, new)| match terms {
            Some(terms) => Some(tested(0, &label, *state, &against_sessions(earlier, new, terms)?, terms)),
            None => Some(shown(&label, *state, &session_difference(earlier, new)?, earlier.len())),
        })
        .collect();
    let numbers = found.sessions.iter().filter_map(|session| session.number).collect();
    notes.extend(program_note(found, kept));
    gate(found.described(), numbers, options, answers, notes)
}

/// Compares each further command with the first, side by side: the first is the baseline, as in all comparisons.
///
/// # Errors
/// If no state can be compared.
pub(super) fn within(measurement: &Measurement, options: &GateOptions) -> Result<Gate, AppError> {
    let mut notes = Vec::new();
    let mut sides = Vec::new();
    for (command, measured) in measurement.commands.iter().enumerate().skip(1) {
        for state in states(measurement) {
            let rounds = rounds(&measurement.samples, command, state);
            let baseline = rounds.iter().filter(|round| round.0.is_some()).count();
            let new = rounds.iter().filter(|round| round.1.is_some()).count();
            if baseline.min(new) < LEAST_RUNS {
                notes.push(format!(
                    "{state} of {} was not compared: fewer than {LEAST_RUNS} runs count",
                    measured.label
                ));
            } else {
                sides.push((command, measured.label.as_str(), state, rounds));
            }
        }
    }
    let terms = terms(options.fail_if_slower.unwrap_or_default(), options).shared(sides.len());
    let answers = sides
        .iter()
        .filter_map(|(command, label, state, rounds)| {
            Some(tested(*command, label, *state, &side_by_side(rounds, terms)?, terms))
        })
        .collect();
    let first = measurement.commands.first().map_or_else(String::new, |command| command.label.clone());
    gate(format!("{first} (side by side)"), Vec::new(), options, answers, notes)
}

fn gate(
    baseline: String,
    baseline_numbers: Vec<i64>,
    options: &GateOptions,
    states: Vec<StateAnswer>,
    notes: Vec<String>,
) -> Result<Gate, AppError> {
    if states.is_empty() {
        return Err(anyhow!("cannot compare with {baseline}: {}", notes.join("; ")))
            .hint(|| format!("at least {LEAST_RUNS} runs must count on both sides, in the same state"));
    }
    let is_slower = options.fail_if_slower.map(|_| states.iter().any(|answer| answer.is_slower == Some(true)));
    let error_rate = options.fail_if_slower.map(|_| options.error_rate);
    Ok(Gate {
        baseline,
        baseline_numbers,
        fail_if_slower: options.fail_if_slower,
        error_rate,
        states,
        is_slower,
        notes,
    })
}

fn terms(threshold: f64, options: &GateOptions) -> Terms {
    Terms { threshold: threshold / 100.0, error_rate: options.error_rate / 100.0 }
}

fn tested(command: usize, label: &str, state: StartState, test: &GateTest, terms: Terms) -> StateAnswer {
    let (sessions, pairs, session_spread, is_allowance) = match test.basis {
        Basis::Sessions { count, spread } => (Some(count), None, Some(spread), false),
        Basis::Allowance { count, spread } => (Some(count), None, Some(spread), true),
        Basis::Pairs { count } => (None, Some(count), None, false),
        Basis::Sides => (None, None, None, false),
    };
    StateAnswer {
        command,
        label: label.to_owned(),
        state,
        ratio: test.ratio,
        interval: None,
        verdict: None,
        at_least: Some(test.bound),
        limit: Some(test.limit),
        detectable: Some(test.detectable),
        error_rate: Some(terms.error_rate * 100.0),
        is_slower: Some(test.is_slower()),
        sessions,
        pairs,
        session_spread,
        is_allowance,
    }
}

fn shown(label: &str, state: StartState, difference: &SessionDifference, sessions: usize) -> StateAnswer {
    StateAnswer {
        command: 0,
        label: label.to_owned(),
        state,
        ratio: difference.ratio,
        interval: Some(difference.interval),
        verdict: Some(difference.verdict),
        at_least: None,
        limit: None,
        detectable: None,
        error_rate: None,
        is_slower: None,
        sessions: Some(sessions),
        pairs: None,
        session_spread: None,
        is_allowance: sessions == 1,
    }
}

/// Counted times of the first command and another, by round.
fn rounds(samples: &[Sample], command: usize, state: StartState) -> Vec<(Option<f64>, Option<f64>)> {
    let of_state = || samples.iter().filter(move |sample| sample.state == state);
    let last = of_state().map(|sample| sample.round).max().unwrap_or(0);
    let time = |command, round| {
        of_state().filter(|sample| sample.command == command && sample.round == round).find_map(Sample::counted_seconds)
    };
    (1..=last).map(|round| (time(0, round), time(command, round))).collect()
}

/// A note if a baseline's program had another path: another program may have the same command line.
fn program_note(found: &Found, kept: &KeptMeasurement) -> Option<String> {
    let now = &kept.program(0)?.path;
    let paths = found.sessions.iter().filter_map(|session| Some(&session.kept.program(session.command)?.path));
    let others: Vec<&String> = paths.filter(|path| *path != now).collect();
    let was = others.last()?;
    Some(match (others.len(), found.sessions.len()) {
        (_, 1) => format!("the program was {was} and is now {now}"),
        (others, all) => format!("in {others} of the {all} measurements the program was {was} and is now {now}"),
    })
}
