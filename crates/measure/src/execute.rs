//! Executes the runs in order: warm-up, repetition of contradicting runs, giving up on a command that only fails.
//!
//! Nothing here touches the system directly: it uses the [`Machine`] trait.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use coldstart_profile::PAGE_SIZE;
use coldstart_profile::measurement::{Residency, Sample, StartState, Use};

use crate::error::MeasureError;
use crate::figures::comparison;
use crate::judge::{History, hot_limit, judge, read_too_little};
use crate::observer::{Event, Observer};
use crate::plan::MeasurePlan;
use crate::runner::{Machine, RawRun};
use crate::schedule::{Slot, schedule};
use crate::statistics::median;

/// A command whose first runs in a state all failed, this many, is given up in that state.
const GIVE_UP_AFTER: usize = 3;

/// All runs, and facts that the samples do not contain.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Record {
    pub(crate) samples: Vec<Sample>,
    /// By command: how often the page cache had lost pages since the last run, and the most pages lost.
    pub(crate) decays: HashMap<usize, (u32, u64)>,
    pub(crate) gave_up: HashSet<(usize, StartState)>,
}

/// Executes all runs of the plan.
pub(crate) fn execute(
    plan: &MeasurePlan,
    machine: &mut dyn Machine,
    observer: &mut dyn Observer,
) -> Result<Record, MeasureError> {
    let states = plan.states_in_order();
    let slots = schedule(plan.commands.len(), &states, plan.runs);
    let labels: Vec<String> = plan.commands.iter().map(|candidate| candidate.label.clone()).collect();
    observer.event(Event::Begin { runs: slots.len(), labels: &labels });
    let mut execution = Execution {
        plan,
        machine,
        observer,
        record: Record::default(),
        repetitions: HashMap::new(),
        warm: HashMap::new(),
        last: None,
        begun: Instant::now(),
    };
    for state in states {
        let of_state: Vec<Slot> = slots.iter().copied().filter(|slot| slot.state == state).collect();
        execution.block(state, &of_state)?;
    }
    execution.observer.event(Event::End);
    Ok(execution.record)
}

struct Execution<'a> {
    plan: &'a MeasurePlan,
    machine: &'a mut dyn Machine,
    observer: &'a mut dyn Observer,
    record: Record,
    /// Repetitions done, by command and state.
    repetitions: HashMap<(usize, StartState), u32>,
    /// By command, the resident pages after its first warm-up.
    warm: HashMap<usize, Option<Residency>>,
    /// The command that ran last, unless it failed.
    last: Option<usize>,
    begun: Instant,
}

impl Execution<'_> {
    fn block(&mut self, state: StartState, slots: &[Slot]) -> Result<(), MeasureError> {
        if state == StartState::Selective {
            // Files that are not evicted must be resident: without metadata eviction, all of them; else those shared with others.
            for command in 0..self.plan.commands.len() {
                self.warm_up(Slot { state, round: 1, command })?;
            }
        }
        let mut given_up: HashMap<usize, u32> = HashMap::new();
        let deadline =
            self.plan.early_end.and_then(|rule| rule.deadline(self.begun, state, &self.plan.states_in_order()));
        let mut left = slots.len();
        for round in slots.chunk_by(|a, b| a.round == b.round) {
            if self.is_enough(state, round, deadline) {
                self.observer.event(Event::Enough { state, runs: left });
                break;
            }
            for &slot in round {
                if self.record.gave_up.contains(&(slot.command, state)) {
                    *given_up.entry(slot.command).or_default() += 1;
                    continue;
                }
                self.fill(slot, 1)?;
                if self.has_only_failed(slot) {
                    self.record.gave_up.insert((slot.command, state));
                }
            }
            left -= round.len();
        }
        for (command, runs) in given_up {
            self.observer.event(Event::GaveUp { command, state, runs });
        }
        if state != StartState::Hot {
            self.look_back(state)?;
        }
        Ok(())
    }

    /// Whether the state needs no further round, of which `next` are the runs.
    fn is_enough(&self, state: StartState, next: &[Slot], deadline: Option<Instant>) -> bool {
        let (Some(rule), Some(slot)) = (self.plan.early_end, next.first()) else { return false };
        let compared =
            (1..self.plan.commands.len()).filter(|&command| !self.record.gave_up.contains(&(command, state)));
        let comparisons: Vec<_> = compared.map(|command| comparison(&self.record.samples, command, state)).collect();
        rule.is_enough(slot.round.saturating_sub(1), &comparisons, deadline)
    }

    /// Repeats a run until it counts, fails, or reaches the limit.
    fn fill(&mut self, slot: Slot, first_attempt: u32) -> Result<(), MeasureError> {
        let mut attempt = first_attempt;
        loop {
            if slot.state == StartState::Hot {
                self.ensure_hot(slot)?;
            }
            self.announce(slot, false, attempt);
            let run = self.machine.run(slot.command, slot.state)?;
            let used = judge(slot.state, &run, &self.history(slot), self.plan.accept_any_exit_code);
            let again = matches!(used, Use::Contradicts { .. }) && self.may_repeat(slot);
            self.keep(slot, attempt, run, used, !again);
            if !again {
                return Ok(());
            }
            attempt += 1;
        }
    }

    fn may_repeat(&mut self, slot: Slot) -> bool {
        let done = self.repetitions.entry((slot.command, slot.state)).or_default();
        let may = *done < self.plan.most_repetitions;
        *done += u32::from(may);
        may
    }

    /// The first runs have no reference: when all are done, those that read too little are found again.
    fn look_back(&mut self, state: StartState) -> Result<(), MeasureError> {
        for command in 0..self.plan.commands.len() {
            let counted: Vec<usize> = (0..self.record.samples.len())
                .filter(|&index| {
                    self.record.samples.get(index).is_some_and(|sample| is_counted(sample, command, state))
                })
                .collect();
            let bytes = |index: &usize| self.record.samples.get(*index)?.bytes_read;
            let all: Vec<u64> = counted.iter().filter_map(bytes).collect();
            let mut repeat = Vec::new();
            for index in counted {
                let Some(sample) = self.record.samples.get_mut(index) else { continue };
                if let Some(reason) = sample.bytes_read.and_then(|bytes| read_too_little(bytes, &all)) {
                    sample.used = Use::Contradicts { reason };
                    repeat.push((Slot { state, round: sample.round, command }, sample.attempt + 1));
                }
            }
            for (slot, attempt) in repeat {
                if self.may_repeat(slot) {
                    self.fill(slot, attempt)?;
                }
            }
        }
        Ok(())
    }

    /// Warms a command up unless a previous run has done so.
    ///
    /// Another command's run in between evicts nothing by itself, but the kernel may (memory pressure, DAMON).
    fn ensure_hot(&mut self, slot: Slot) -> Result<(), MeasureError> {
        let now = self.machine.residency(slot.command)?;
        let lost = match (self.warm.get(&slot.command), now) {
            (None, _) => return self.warm_up(slot),
            (Some(Some(warm)), Some(now)) if warm.is_known() && now.is_known() => {
                warm.resident_pages.saturating_sub(now.resident_pages)
            }
            // Residency is unknown: only the order of runs counts.
            _ if self.last == Some(slot.command) => return Ok(()),
            _ => return self.warm_up(slot),
        };
        if lost.saturating_mul(PAGE_SIZE) <= hot_limit(self.cold_bytes(slot.command)) {
            return Ok(());
        }
        let (times, most) = self.record.decays.entry(slot.command).or_default();
        *times += 1;
        *most = lost.max(*most);
        self.warm_up(slot)
    }

    fn warm_up(&mut self, slot: Slot) -> Result<(), MeasureError> {
        self.announce(slot, true, 1);
        // Whatever the state of the slot, a warm-up uses the caches as they are.
        let run = self.machine.run(slot.command, StartState::Hot)?;
        let failed = judge(StartState::Hot, &run, &History::default(), self.plan.accept_any_exit_code);
        let used = if matches!(failed, Use::Failed { .. }) { failed } else { Use::WarmUp };
        self.keep(slot, 1, run, used, false);
        let warm = self.machine.residency(slot.command)?;
        self.warm.insert(slot.command, warm);
        Ok(())
    }

    fn has_only_failed(&self, slot: Slot) -> bool {
        let mut of_slot =
            self.record.samples.iter().filter(|sample| sample.command == slot.command && sample.state == slot.state);
        let failures = of_slot.clone().filter(|sample| matches!(sample.used, Use::Failed { .. })).count();
        failures >= GIVE_UP_AFTER && of_slot.all(|sample| matches!(sample.used, Use::Failed { .. }))
    }

    fn history(&self, slot: Slot) -> History {
        let of_state =
            || self.record.samples.iter().filter(|sample| sample.command == slot.command && sample.state == slot.state);
        History {
            bytes_read: of_state()
                .filter(|sample| sample.used == Use::Counted)
                .filter_map(|sample| sample.bytes_read)
                .collect(),
            least_resident: of_state()
                .filter(|sample| sample.used != Use::WarmUp)
                .filter_map(|sample| sample.residency.filter(Residency::is_known))
                .map(|residency| residency.resident_pages)
                .min(),
            cold_bytes: self.cold_bytes(slot.command),
        }
    }

    fn cold_bytes(&self, command: usize) -> Option<u64> {
        [StartState::Cold, StartState::Boot, StartState::Selective].into_iter().find_map(|state| {
            let bytes: Vec<f64> = self
                .record
                .samples
                .iter()
                .filter(|sample| is_counted(sample, command, state))
                .filter_map(|sample| Some(sample.bytes_read? as f64))
                .collect();
            median(&bytes).map(|bytes| bytes as u64)
        })
    }

    fn announce(&mut self, slot: Slot, is_warm_up: bool, attempt: u32) {
        let Slot { command, state, round } = slot;
        self.observer.event(Event::Next { command, state, round, is_warm_up, attempt });
    }

    fn keep(&mut self, slot: Slot, attempt: u32, run: RawRun, used: Use, settles_slot: bool) {
        self.last = (!matches!(used, Use::Failed { .. })).then_some(slot.command);
        let sample = Sample {
            number: u32::try_from(self.record.samples.len() + 1).unwrap_or(u32::MAX),
            command: slot.command,
            state: slot.state,
            round: slot.round,
            attempt,
            seconds: run.seconds,
            end: run.end,
            residency: run.residency,
            bytes_read: run.bytes_read,
            major_faults: run.major_faults,
            minor_faults: run.minor_faults,
            user_seconds: run.user_seconds,
            system_seconds: run.system_seconds,
            uncounted: run.uncounted,
            devices: run.devices,
            processors: run.processors,
            used,
        };
        self.observer.event(Event::Done { sample: &sample, settles_slot });
        self.record.samples.push(sample);
    }
}

fn is_counted(sample: &Sample, command: usize, state: StartState) -> bool {
    sample.command == command && sample.state == state && sample.used == Use::Counted
}

#[cfg(test)]
mod tests;
