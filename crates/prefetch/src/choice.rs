//! Chooses between two plans for the same start: that of the cached pages, and that of the pages really used.
//!
//! Fewer pages are not always the better plan. Where reading over a gap costs less than another request, both read nearly
//! the same; so both are planned for the device, and their predictions decide. Not obvious: predictions are often equal,
//! because a replay beside the program is predicted to be hidden behind its computing. Then the bytes decide.

use std::time::Duration;

use coldstart_profile::WorkingSet;
use coldstart_profile::plan::PrefetchPlan;

/// The pages of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlannedPages {
    /// All pages cached after a start, including readahead.
    Cached,
    /// Only pages used by the program.
    Used,
}

/// The prediction for a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forecast {
    /// Bytes used by the start.
    pub used_bytes: u64,
    /// Bytes read, gaps included.
    pub bytes: u64,
    /// Number of reads, without names.
    pub reads: u64,
    /// The predicted start with it; without a hot start's time only the predicted replay.
    pub predicted: Duration,
}

impl Forecast {
    /// Of the plan of a working set.
    pub fn of(plan: &PrefetchPlan, working_set: &WorkingSet) -> Self {
        let pages = plan.steps.iter().filter_map(|step| step.pages);
        let summary = &plan.summary;
        Self {
            used_bytes: working_set.bytes(),
            bytes: pages.clone().map(|pages| pages.length()).fold(0, u64::saturating_add),
            reads: pages.count() as u64,
            predicted: if summary.hot_start.is_zero() { summary.predicted_replay } else { summary.predicted_start },
        }
    }

    /// Whether the predictions differ by less than the model's accuracy.
    pub fn takes_as_long_as(&self, other: &Self) -> bool {
        let (a, b) = (self.predicted.as_secs_f64(), other.predicted.as_secs_f64());
        (a - b).abs() <= a.max(b) * EQUAL_WITHIN
    }

    /// Whether it saves enough bytes to be preferred if the predictions are equal.
    pub fn reads_clearly_less_than(&self, other: &Self) -> bool {
        self.bytes as f64 <= other.bytes as f64 * (1.0 - WORTHWHILE_SAVING)
    }
}

/// The chosen plan, and both predictions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The better one.
    pub taken: PlannedPages,
    /// The plan of the cached pages.
    pub cached: Forecast,
    /// The plan of the used pages.
    pub used: Forecast,
}

/// Predictions that differ by less than this share count as equal, because of the model's accuracy.
const EQUAL_WITHIN: f64 = 0.01;

/// Of two plans with equal predictions the used pages are better if they save at least this share of the bytes: they take less of
/// the link and of memory, and what the program lacks waits behind less that it never uses. Figures:
/// `docs/decisions/0028-a-faster-replay.md`.
const WORTHWHILE_SAVING: f64 = 0.1;

/// Chooses the plan with the shorter predicted start; if equal, that of the used pages where it reads clearly less, otherwise that
/// of the cached pages, which covers pages that another start may use: the model has no cost for missing pages.
pub fn choose_plan(
    (cached, cached_set): (PrefetchPlan, &WorkingSet),
    (used, used_set): (PrefetchPlan, &WorkingSet),
) -> (PrefetchPlan, Choice) {
    let (of_cached, of_used) = (Forecast::of(&cached, cached_set), Forecast::of(&used, used_set));
    let is_used_better = if of_used.takes_as_long_as(&of_cached) {
        of_used.reads_clearly_less_than(&of_cached)
    } else {
        of_used.predicted < of_cached.predicted
    };
    let (plan, taken) = if is_used_better { (used, PlannedPages::Used) } else { (cached, PlannedPages::Cached) };
    (plan, Choice { taken, cached: of_cached, used: of_used })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PlanInput, plan_prefetch};
    use coldstart_profile::plan::PlannedDevice;
    use coldstart_profile::{FileIdentity, FileKind, FileUse, PageRange, Touched};

    /// A file of 16,384 pages, of which each `step`th run of `count` pages is wanted.
    fn working_set(step: u64, count: u64) -> WorkingSet {
        let touched = (0..16_384 / step).filter_map(|number| {
            let range = PageRange::new(number * step, count)?;
            Some(Touched { range, at: Duration::from_micros(number) })
        });
        let file = FileUse {
            path: "/data".into(),
            kind: FileKind::Regular,
            identity: FileIdentity { size: 64 << 20, modified: 0 },
            device: 1,
            touched: touched.collect(),
            extents: vec![coldstart_profile::DiskExtent { file_offset: 0, physical: 1 << 30, length: 64 << 20 }],
        };
        WorkingSet { files: vec![file], duration: Duration::from_secs(9), ..WorkingSet::default() }
    }

    /// All 16,384 pages were cached, and runs of `count` at each `step`th page were used.
    fn choose(step: u64, count: u64, device: PlannedDevice) -> (PrefetchPlan, Choice) {
        choose_with(step, count, device, Duration::from_millis(10))
    }

    fn choose_with(step: u64, count: u64, device: PlannedDevice, hot: Duration) -> (PrefetchPlan, Choice) {
        let (cached, used) = (working_set(32, 32), working_set(step, count));
        let plan = |working_set| {
            let hot_start = Some(hot);
            plan_prefetch(&PlanInput { working_set, device, hot_start, recorded_at: 0, strategy: None })
        };
        choose_plan((plan(&cached), &cached), (plan(&used), &used))
    }

    fn network() -> PlannedDevice {
        PlannedDevice { latency: Duration::from_micros(1100), bandwidth: 250_000_000, parallel: 32, seeks: false }
    }

    fn disk() -> PlannedDevice {
        PlannedDevice { latency: Duration::from_micros(10_600), bandwidth: 120_000_000, parallel: 2, seeks: true }
    }

    #[test]
    fn few_used_pages_of_many_cached_ones_are_taken_where_requests_are_cheap() {
        let (plan, choice) = choose(50, 1, network());
        assert_eq!(choice.taken, PlannedPages::Used);
        assert_eq!((choice.used.bytes, choice.used.reads), (327 * 4096, 327));
        assert_eq!(choice.cached.bytes, 64 << 20);
        assert!(choice.used.predicted < choice.cached.predicted);
        assert_eq!(Forecast::of(&plan, &working_set(50, 1)), choice.used);
    }

    #[test]
    fn on_a_disk_that_seeks_gaps_are_read_and_both_come_to_the_same() {
        let (_, choice) = choose(50, 1, disk());
        assert!(
            choice.used.bytes * 100 > choice.cached.bytes * 98,
            "the gaps of 49 pages pass under the head: {choice:?}"
        );
        assert!(choice.used.takes_as_long_as(&choice.cached));
        // Far apart they are skipped.
        let (_, choice) = choose(1000, 1, disk());
        assert_eq!((choice.taken, choice.used.bytes), (PlannedPages::Used, 16 * 4096));
    }

    #[test]
    fn of_plans_hidden_behind_the_same_computing_the_one_with_fewer_bytes_is_taken() {
        let (_, choice) = choose_with(50, 1, network(), Duration::from_secs(3));
        assert!(choice.used.takes_as_long_as(&choice.cached), "{choice:?}");
        assert_eq!(choice.taken, PlannedPages::Used);
    }

    #[test]
    fn equal_plans_are_those_of_the_cached_pages() {
        let (_, choice) = choose(32, 32, network());
        assert_eq!(choice.taken, PlannedPages::Cached);
    }
}
