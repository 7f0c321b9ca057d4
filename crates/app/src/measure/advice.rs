//! Hints for warnings, given what the user has already done.

use coldstart_profile::measurement::{Cause, Disturbance, Measurement, StartState, Warning};

/// Beyond this number of runs, more runs hardly change the median or its interval.
const MANY_RUNS: u32 = 30;

/// The hint for a warning of a measurement, if there is one.
pub fn advice(warning: &Warning, measurement: &Measurement) -> Option<String> {
    let frequency = measurement.machine.frequency.as_ref();
    let may_hold = frequency.is_some_and(|frequency| frequency.held.is_none());
    Some(match warning {
        Warning::Outliers { samples, runs, causes, .. } => outliers(samples, *runs, causes),
        Warning::FirstRunSlow { state, earlier_starts, causes, .. } => {
            first_run(*state, *earlier_starts, causes, may_hold)
        }
        Warning::Interference { .. } => {
            "measure while no other program reads; more runs do not average it out".to_owned()
        }
        Warning::ProcessorsBusy { .. } => "end other busy programs (see `top`), and measure again".to_owned(),
        Warning::TimeStolen { .. } => STOLEN.to_owned(),
        Warning::AnotherMeasuring => {
            "do not measure at the same time: each was timed with the other running".to_owned()
        }
        Warning::FrequencyVaries { .. } => "fix it while measuring with --fixed-frequency (as root)".to_owned(),
        Warning::FrequencyNotHeld { .. } => {
            "stop the service that sets it (tuned, power-profiles-daemon, thermald), and measure again".to_owned()
        }
        Warning::Throttled { .. } if may_hold => {
            "let the machine cool down; use --fixed-frequency (as root) to keep it cooler".to_owned()
        }
        Warning::Throttled { .. } => "let the machine cool down, and measure fewer runs at a time".to_owned(),
        Warning::OnBattery => "connect the power supply, and measure again".to_owned(),
        Warning::DecayingCaches { proactive_reclaim: true, .. } => {
            "stop it while measuring, as root: echo off > /sys/kernel/mm/damon/admin/kdamonds/0/state".to_owned()
        }
        Warning::DecayingCaches { .. } => "end other programs that use much memory, and measure again".to_owned(),
        Warning::FailedRuns { .. } => "run it by hand, or see its output with --show-output".to_owned(),
        Warning::StateUnchecked { .. } => "run as root, or as the owner of the files".to_owned(),
        Warning::ReadsUnknown { .. } => {
            "the disks' requests are known nevertheless, but include those of other programs".to_owned()
        }
        _ => return None,
    })
}

const STOLEN: &str = "measure on a machine with dedicated processors, or when the host is less busy";

fn outliers(samples: &[u32], runs: u32, causes: &[Cause]) -> String {
    let is_explained = |run: &u32| causes.iter().any(|cause| cause.samples.contains(run));
    if samples.iter().all(is_explained) {
        return by_cause(causes);
    }
    match runs {
        0 => "narrow the interval with more runs (--runs) on an idle machine".to_owned(),
        runs if runs >= MANY_RUNS => format!(
            "more than {runs} runs would change little; look for periodic activity: timers, indexers, a \
             program that sometimes updates its own caches"
        ),
        runs => format!("narrow the interval with more runs (--runs {}) on an idle machine", runs.saturating_mul(3)),
    }
}

fn by_cause(causes: &[Cause]) -> String {
    if causes.iter().all(|cause| cause.what == Disturbance::Stealing) {
        return STOLEN.to_owned();
    }
    "end other programs, and measure again".to_owned()
}

fn first_run(state: StartState, earlier_starts: u32, causes: &[Cause], may_hold: bool) -> String {
    if !causes.is_empty() {
        return by_cause(causes);
    }
    // All other states begin with dropping every cache of the machine.
    if !matches!(state, StartState::Hot | StartState::Selective) {
        return "other programs lost their caches, too, when they were first dropped, and then read them again; \
                one such run does not affect the median"
            .to_owned();
    }
    match earlier_starts {
        0 => "measure again: a program may create its own caches at its first starts",
        _ if may_hold => {
            "it was warm, but something else was not: a service that it uses, or the processors' frequency after a pause \
             (--fixed-frequency, as root)"
        }
        _ => "it was warm, but something else was not: a service that it uses, or other activity on the machine",
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause(what: Disturbance, run: u32) -> Cause {
        Cause { what, samples: vec![run] }
    }

    #[test]
    fn more_runs_are_advised_only_where_they_help() {
        assert!(outliers(&[3], 10, &[]).contains("--runs 30"));
        assert!(!outliers(&[3], 50, &[]).contains("--runs"));
        assert_eq!(outliers(&[3], 10, &[cause(Disturbance::Computing, 3)]), "end other programs, and measure again");
        assert_eq!(outliers(&[3], 10, &[cause(Disturbance::Stealing, 3)]), STOLEN);
        let half = [cause(Disturbance::Reading, 3)];
        assert!(outliers(&[3, 4], 10, &half).contains("--runs"), "run 4 is not explained");
    }

    #[test]
    fn what_was_warmed_up_is_not_to_be_started_by_hand() {
        assert!(first_run(StartState::Hot, 0, &[], false).contains("its own caches"));
        assert!(first_run(StartState::Hot, 1, &[], true).contains("--fixed-frequency"));
        assert!(!first_run(StartState::Hot, 1, &[], false).contains("--fixed-frequency"));
        assert!(first_run(StartState::Cold, 0, &[], true).contains("median"));
        assert_eq!(first_run(StartState::Hot, 0, &[cause(Disturbance::Stealing, 1)], true), STOLEN);
    }
}
