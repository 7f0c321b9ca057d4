//! Fixes tried alone and together, to choose the best set.

use std::time::{Duration, Instant};

use coldstart_measure::{EarlyEnd, MeasurePlan, Measurement, Observer as RunObserver, StartState};
use coldstart_profile::measurement::Summary;
use coldstart_profile::printable;

use super::choose::{Tried, all_that_agree, best, sets_to_try};
use super::fix::{Fix, Prospect};
use super::proof::{Proof, Prover, STARTS};
use super::setup::Setup;
use super::story::Trial;
use super::subject::Subject;
use super::{LEAST_ROUNDS, PLAIN, SpeedupOptions};
use crate::error::AppError;
use crate::fix_kind::FixKind;
use crate::observer::Observer;
use crate::text::{counted, plain};

/// Rounds of a trial. The chosen set is measured again, so few are enough.
const ROUNDS: u32 = 3;
const LEAST_ROUNDS_OF_TRIAL: u32 = 2;
/// Shares of the time that is left for trials of single fixes, and for trials of sets.
const SHARE_ALONE: f64 = 0.4;
const SHARE_SETS: f64 = 0.4;
/// Half the width of the intervals that is narrow enough for a trial.
const PRECISION: f64 = 0.03;
/// What a run takes besides the start: making the caches cold, looking at them, ending the program.
const BESIDES: Duration = Duration::from_millis(800);
/// Said of measurements in both states.
pub(super) const COLD_AND_HOT: &str = ", cold and hot";
/// Why a trial was not begun, or not measured.
const NO_TIME: &str = "no time was left for it (see --budget)";

/// Everything that the trials need.
pub(super) struct Trials<'a> {
    pub(super) options: &'a SpeedupOptions,
    pub(super) subject: &'a Subject<'a>,
    pub(super) fixes: &'a [Box<dyn Fix + 'a>],
    pub(super) prospects: &'a [Prospect],
    pub(super) prover: &'a Prover<'a>,
    /// Whether the plain start is in a private view, too.
    pub(super) in_view: bool,
    pub(super) cold: StartState,
    pub(super) deadline: Instant,
    pub(super) observer: &'a dyn Observer,
}

/// A set of fixes, applied and proven.
pub(super) struct Applied {
    pub(super) fixes: Vec<usize>,
    pub(super) setup: Setup,
    pub(super) proof: Proof,
}

/// The result of all trials.
pub(super) struct Outcome {
    pub(super) trials: Vec<Trial>,
    pub(super) measurements: Vec<Measurement>,
    /// The best set.
    pub(super) best: Option<Applied>,
}

impl Trials<'_> {
    /// Tries each fix that fits alone, then those that pay together; or takes all that fit together, without a choice.
    ///
    /// # Errors
    /// If the plain program cannot be started or measured.
    pub(super) fn run(&self, runs: &mut dyn RunObserver) -> Result<Outcome, AppError> {
        let mut outcome = Outcome { trials: Vec::new(), measurements: Vec::new(), best: None };
        let mut single: Vec<(usize, &Prospect)> =
            self.prospects.iter().enumerate().filter(|(_, prospect)| prospect.applies).collect();
        // The most promising first: the time may not be enough for all.
        let promise = |prospect: &Prospect| prospect.predicted.unwrap_or(f64::INFINITY);
        single.sort_by(|(_, one), (_, other)| promise(one).total_cmp(&promise(other)));
        if self.options.together {
            let order: Vec<usize> = single.iter().map(|&(number, _)| number).collect();
            let kinds: Vec<FixKind> = self.prospects.iter().map(|prospect| prospect.kind).collect();
            let set = all_that_agree(&order, &kinds);
            outcome.best = match set.is_empty() {
                true => None,
                false => self.apply_all(&[set], 1, &mut outcome)?.pop(),
            };
            return Ok(outcome);
        }
        let single: Vec<Vec<usize>> = single.into_iter().map(|(number, _)| vec![number]).collect();
        let mut applied = self.apply_all(&single, 1, &mut outcome)?;
        if applied.len() > 1 && !self.has_time_for(self.measuring(applied.len() + 1)) {
            for left_out in applied.drain(1..) {
                outcome.trials.push(self.refused(&left_out.fixes, NO_TIME.to_owned()));
            }
        }
        if applied.len() < 2 {
            // There is nothing to choose from.
            outcome.best = applied.pop();
            return Ok(outcome);
        }
        let mut tried = self.measured(&mut applied, SHARE_ALONE, &mut outcome, runs)?;
        let kinds: Vec<FixKind> = self.prospects.iter().map(|prospect| prospect.kind).collect();
        let sets = sets_to_try(&tried, &kinds);
        if !sets.is_empty() {
            let sets: Vec<Vec<usize>> = sets.into_iter().filter(|set| set.len() > 1).collect();
            let mut together = self.apply_all(&sets, 0, &mut outcome)?;
            if !together.is_empty() && !self.has_time_for(self.measuring(together.len() + 2)) {
                for left_out in together.drain(..) {
                    outcome.trials.push(self.refused(&left_out.fixes, NO_TIME.to_owned()));
                }
            }
            // The best alone is measured again beside them: rounds of different times are not comparable.
            if !together.is_empty() {
                if let Some(alone) = best(&tried).map(|alone| alone.fixes.clone())
                    && let Some(at) = applied.iter().position(|applied| applied.fixes == alone)
                {
                    together.insert(0, applied.remove(at));
                }
                tried = self.measured(&mut together, SHARE_SETS, &mut outcome, runs)?;
                applied = together;
            }
        }
        let chosen = best(&tried).map(|best| best.fixes.clone());
        outcome.best = match chosen {
            Some(chosen) => applied.into_iter().find(|applied| applied.fixes == chosen),
            // Nothing could be measured, for example because all starts failed: what was proven is measured again.
            None => applied.into_iter().find(|applied| applied.proof.holds),
        };
        Ok(outcome)
    }

    /// The names of fixes, in words.
    pub(super) fn name(&self, fixes: &[usize]) -> String {
        let names = fixes.iter().filter_map(|&number| self.prospects.get(number)).map(|prospect| prospect.name);
        names.collect::<Vec<_>>().join(" + ")
    }

    /// The kinds of fixes.
    pub(super) fn kinds(&self, fixes: &[usize]) -> Vec<FixKind> {
        fixes.iter().filter_map(|&number| self.prospects.get(number)).map(|prospect| prospect.kind).collect()
    }

    /// Applies sets of fixes and proves each, the first `least` of them also when no time is left. A set that cannot be applied is a
    /// trial that was refused.
    fn apply_all(&self, sets: &[Vec<usize>], least: usize, outcome: &mut Outcome) -> Result<Vec<Applied>, AppError> {
        let mut all: Vec<Applied> = Vec::new();
        for set in sets {
            let proven = all.iter().filter(|applied| applied.proof.holds).count();
            if proven >= least && !self.has_time_for(self.proving()) {
                outcome.trials.push(self.refused(set, NO_TIME.to_owned()));
                continue;
            }
            self.observer.note(&format!("trying {}", self.name(set)));
            let refused = match self.apply(set) {
                Ok(mut setup) => {
                    let proof = self.prover.prove(&mut setup)?;
                    let refused = (!proof.holds).then(|| proof.findings.join("; "));
                    all.push(Applied { fixes: set.clone(), setup, proof });
                    refused
                }
                Err(error) if self.subject.interrupt.signal().is_some() => return Err(error),
                Err(error) => Some(error.sentence()),
            };
            if let Some(reason) = refused {
                outcome.trials.push(self.refused(set, reason));
            }
        }
        // What is not proven is not measured.
        all.retain(|applied| applied.proof.holds);
        Ok(all)
    }

    fn refused(&self, set: &[usize], reason: String) -> Trial {
        let (name, kinds) = (self.name(set), self.kinds(set));
        Trial {
            name,
            kinds,
            median: None,
            comparison: None,
            hot_median: None,
            hot_comparison: None,
            proven: false,
            refused: Some(reason),
        }
    }

    /// Whether the time is enough for something, in seconds, and for the last measurement after it.
    fn has_time_for(&self, seconds: f64) -> bool {
        let rounds = LEAST_ROUNDS.min(self.options.runs);
        let reserve = f64::from(rounds) * 2.0 * (self.cold_run() + self.hot_run());
        Duration::try_from_secs_f64(seconds + reserve).is_ok_and(|needed| Instant::now() + needed <= self.deadline)
    }

    /// Seconds for the proof of a set.
    fn proving(&self) -> f64 {
        STARTS as f64 * self.hot_run()
    }

    /// Seconds for the fewest rounds of a trial, and for learning the files of each command.
    fn measuring(&self, commands: usize) -> f64 {
        let hot = if self.states().contains(&StartState::Hot) { self.hot_run() } else { 0.0 };
        f64::from(LEAST_ROUNDS_OF_TRIAL + 1) * commands as f64 * (self.cold_run() + hot)
    }

    /// The states in which trials are measured.
    fn states(&self) -> Vec<StartState> {
        let pays_hot = |prospect: &Prospect| prospect.applies && prospect.kind.pays_hot();
        let hot = self.prospects.iter().any(pays_hot).then_some(StartState::Hot);
        [self.cold].into_iter().chain(hot).collect()
    }

    /// Seconds of a cold run. It takes as long to end as a hot one.
    fn cold_run(&self) -> f64 {
        self.subject.cold_seconds() + (self.hot_run() - self.hot_start()).max(0.0)
    }

    /// Seconds of a hot run, as the proof has taken for its starts.
    fn hot_run(&self) -> f64 {
        let besides = BESIDES.as_secs_f64();
        (self.hot_start() + besides).max(self.prover.seconds_of_start().unwrap_or(0.0) + besides / 2.0)
    }

    fn hot_start(&self) -> f64 {
        self.subject.cached.plan.summary.hot_start.as_secs_f64()
    }

    fn apply(&self, set: &[usize]) -> Result<Setup, AppError> {
        let mut setup = Setup::plain(self.in_view);
        for fix in set.iter().filter_map(|&number| self.fixes.get(number)) {
            fix.add_to(&mut setup, self.subject)?;
        }
        Ok(setup)
    }

    /// Measures sets against the plain start: cold, and hot where a fix may pay there.
    fn measured(
        &self,
        applied: &mut [Applied],
        share: f64,
        outcome: &mut Outcome,
        runs: &mut dyn RunObserver,
    ) -> Result<Vec<Tried>, AppError> {
        let mut plain = Setup::plain(self.in_view);
        let mut candidates = vec![plain.candidate(PLAIN.to_owned(), self.subject)?];
        for applied in applied.iter_mut() {
            candidates.push(applied.setup.candidate(self.name(&applied.fixes), self.subject)?);
        }
        let rounds = ROUNDS.min(self.options.runs);
        let states = self.states();
        self.tell(rounds, candidates.len(), if states.len() > 1 { COLD_AND_HOT } else { "" });
        let mut plan = MeasurePlan::new(candidates, states);
        plan.runs = rounds;
        let left = self.deadline.saturating_duration_since(Instant::now());
        plan.early_end = Some(EarlyEnd {
            least_rounds: LEAST_ROUNDS_OF_TRIAL,
            precision: PRECISION,
            time_limit: Some(left.mul_f64(share)),
        });
        let measurement = coldstart_measure::measure(&plan, runs)?;
        let mut tried = Vec::new();
        for (number, applied) in (1..).zip(applied.iter()) {
            // An upgrade takes the copy away with the file that it lay over.
            let lost = applied.setup.mounts().and_then(|mounts| mounts.uncovered().into_iter().next());
            let proven = applied.proof.holds && lost.is_none();
            let compared = |state| {
                let found =
                    measurement.comparisons.iter().find(|found| found.command == number && found.state == state);
                found.cloned()
            };
            let median = |state| {
                let of_command = |summary: &&Summary| summary.command == number && summary.state == state;
                measurement.summaries.iter().find(of_command).and_then(|found| found.median)
            };
            let (comparison, hot_comparison) = (compared(self.cold), compared(StartState::Hot));
            tried.push(Tried {
                fixes: applied.fixes.clone(),
                ratio: comparison.as_ref().and_then(|found| found.ratio),
                hot: hot_comparison.as_ref().and_then(|found| found.ratio),
                proven,
            });
            outcome.trials.push(Trial {
                name: self.name(&applied.fixes),
                kinds: self.kinds(&applied.fixes),
                median: median(self.cold),
                comparison,
                hot_median: median(StartState::Hot),
                hot_comparison,
                proven,
                refused: lost.map(|file| format!("`{}` was replaced during the trial", printable(&file))),
            });
        }
        outcome.measurements.push(measurement);
        Ok(tried)
    }

    /// Says what is measured, and how long it takes at most.
    pub(super) fn tell(&self, rounds: u32, commands: usize, states: &str) {
        let one = if states.is_empty() { self.cold_run() } else { self.cold_run() + self.hot_run() };
        let all = one * f64::from(rounds) * commands as f64;
        let left = self.deadline.saturating_duration_since(Instant::now()).as_secs_f64();
        let starts = plain(&counted(rounds.into(), "start"));
        let ways = plain(&counted(commands as u64, "command"));
        self.observer.note(&format!(
            "measuring at most {starts} of each of {ways}{states}, in alternating order: about {:.0} s or less",
            all.min(left).max(1.0)
        ));
    }
}
