//! Whether a program has become slower than in earlier measurements: one-sided tests for a regression gate.
//!
//! Not obvious: runs of one session (one `coldstart measure`) resemble one another more than they
//! resemble the runs of another day. Placement by the kernel, processor, temperature and other load are shared by all runs
//! of a session. More runs do not help against that; only more sessions do. So the sessions are the sample here,
//! and each counts once, by the middle half of its runs. For the reasons and rejected variants see
//! `docs/decisions/0009-a-gate.md`.

use coldstart_profile::measurement::{Interval, Verdict};

use super::describe::{mean, median, standard_deviation};
use super::input_output::error_of_sum;
use super::student::student_t;
use super::{CLAIM_CONFIDENCE, CONFIDENCE};

/// The minimum of counted runs for a session.
pub const LEAST_RUNS: usize = 3;
/// The spread assumed between sessions where only one is known: their standard deviation, as a part of the time.
///
/// Measured: 120 sessions of 8 hot starts of `python3 -c pass` (15 ms) in a row on a virtual machine of two processors
/// with other work going on; the spread of the sessions' middles was 0.13 to 0.15, and 0.3 while compilers ran.
pub const SESSION_ALLOWANCE: f64 = 0.15;
/// Two or three sessions that agree to within this (standard deviation) get the allowance, too, if it finds
/// more: their own spread is so uncertain that they would find less than one session.
///
/// Two thirds of the allowance, so that sessions which do differ by all of it keep the rate: simulated with two of them,
/// 5.1 % of equals were called slower at 5 %, and 5.7 without this limit.
const AGREEMENT: f64 = SESSION_ALLOWANCE * 2.0 / 3.0;
/// With this many complete rounds, incomplete ones are ignored and pairs compared.
const ENOUGH_PAIRS: usize = 5;
/// The statistical power for which [`GateTest::detectable`] is computed.
pub const POWER: f64 = 0.8;

/// The terms of a gate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// The accepted slowdown, as a part of the time: 0.05 is 5 %. Not negative.
    pub threshold: f64,
    /// The probability of calling an unchanged program slower; above 0, below 0.5.
    pub error_rate: f64,
}

impl Terms {
    /// The terms of each of `tests` tests that share the error rate (Bonferroni): no more than `error_rate` of gates
    /// without a slower state call any slower, however their states depend on one another.
    pub fn shared(self, tests: usize) -> Self {
        Self { error_rate: self.error_rate / tests.max(1) as f64, ..self }
    }
}

/// The basis of the answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Basis {
    /// The spread between earlier sessions.
    Sessions {
        /// Earlier sessions.
        count: usize,
        /// Standard deviation of a new session from them, as a part of the time.
        spread: f64,
    },
    /// One or a few earlier sessions, and an allowance for the spread between sessions.
    Allowance {
        /// Earlier sessions.
        count: usize,
        /// Standard deviation allowed between sessions, as a part of the time.
        spread: f64,
    },
    /// Pairs of the same round of one session.
    Pairs {
        /// How many.
        count: usize,
    },
    /// Two sides of one session, because too many rounds lack one.
    Sides,
}

/// The answer for one state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GateTest {
    /// New / baseline.
    pub ratio: f64,
    /// One-sided confidence bound: the true ratio is above it, except with the error rate.
    pub bound: f64,
    /// The ratio that the bound is compared with.
    pub limit: f64,
    /// The smallest true ratio that such a gate finds with a probability of [`POWER`].
    pub detectable: f64,
    /// The basis.
    pub basis: Basis,
}

impl GateTest {
    /// Whether it is shown to be slower than the terms allow.
    pub fn is_slower(&self) -> bool {
        self.bound > self.limit
    }
}

/// Tests a new session's times in seconds against earlier sessions' of the same state.
///
/// `None` if there is no earlier session of at least [`LEAST_RUNS`] runs, or the new one has fewer.
pub fn against_sessions(baseline: &[Vec<f64>], new: &[f64], terms: Terms) -> Option<GateTest> {
    difference(baseline, new)?.test(terms)
}

/// Tests times in seconds measured side by side, by round: the baseline's and the new one's.
///
/// `None` with fewer than [`LEAST_RUNS`] on a side.
pub fn side_by_side(rounds: &[(Option<f64>, Option<f64>)], terms: Terms) -> Option<GateTest> {
    let rounds: Vec<_> =
        rounds.iter().map(|&(baseline, new)| (baseline.and_then(logarithm), new.and_then(logarithm))).collect();
    let pairs: Vec<f64> = rounds.iter().filter_map(|&(baseline, new)| Some(new? - baseline?)).collect();
    let complete = pairs.len() == rounds.len() && pairs.len() >= LEAST_RUNS;
    let difference = if complete || pairs.len() >= ENOUGH_PAIRS {
        let middle = Middle::new(pairs.clone())?;
        let basis = Basis::Pairs { count: pairs.len() };
        let scale = Scale { error: middle.variance.sqrt(), degrees: middle.degrees(), basis };
        Difference { logarithm: middle.value, scale, other: None }
    } else {
        let baseline: Vec<f64> = rounds.iter().filter_map(|round| round.0).collect();
        let new: Vec<f64> = rounds.iter().filter_map(|round| round.1).collect();
        if baseline.len().min(new.len()) < LEAST_RUNS {
            return None;
        }
        let (error, degrees) = error_of_sum(&[&baseline, &new])?;
        let scale = Scale { error, degrees, basis: Basis::Sides };
        Difference { logarithm: mean(&new)? - mean(&baseline)?, scale, other: None }
    };
    difference.test(terms)
}

/// A new session against earlier ones, in both directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SessionDifference {
    /// New / baseline.
    pub ratio: f64,
    /// The 95 % interval of the true ratio.
    pub interval: Interval,
    /// The verdict: a difference only if the 99 % interval excludes 1.
    pub verdict: Verdict,
}

/// Compares a new session's times in seconds with earlier sessions' of the same state.
///
/// `None` if there is no earlier session of at least [`LEAST_RUNS`] runs, or the new one has fewer.
pub fn session_difference(baseline: &[Vec<f64>], new: &[f64]) -> Option<SessionDifference> {
    let difference = difference(baseline, new)?;
    let ends = |confidence| {
        let (_, reach) = difference.surer(confidence)?;
        Some((difference.logarithm - reach, difference.logarithm + reach))
    };
    let (low, high) = ends(CONFIDENCE)?;
    Some(SessionDifference {
        ratio: difference.logarithm.exp(),
        interval: Interval { low: low.exp(), high: high.exp(), confidence: CONFIDENCE },
        verdict: super::compare::verdict(ends(CLAIM_CONFIDENCE)),
    })
}

/// A difference of logarithms and its uncertainty.
struct Difference {
    logarithm: f64,
    scale: Scale,
    /// Another that holds as well.
    other: Option<Scale>,
}

/// A standard error.
#[derive(Clone, Copy)]
struct Scale {
    error: f64,
    degrees: f64,
    basis: Basis,
}

impl Scale {
    fn reach(&self, confidence: f64) -> Option<f64> {
        Some(self.error * student_t(confidence, self.degrees)?)
    }
}

impl Difference {
    /// The scale with the tighter bound at this confidence, and its extent to either side.
    fn surer(&self, confidence: f64) -> Option<(Scale, f64)> {
        let scales = [Some(self.scale), self.other].into_iter().flatten();
        let reaches = scales.filter_map(|scale| Some((scale, scale.reach(confidence)?)));
        reaches.min_by(|one, other| one.1.total_cmp(&other.1))
    }

    fn test(&self, terms: Terms) -> Option<GateTest> {
        // One tail of an interval that leaves out as much on either side.
        let (scale, reach) = self.surer(1.0 - 2.0 * terms.error_rate)?;
        let likely = scale.reach(2.0 * POWER - 1.0)?;
        let limit = 1.0 + terms.threshold;
        Some(GateTest {
            ratio: self.logarithm.exp(),
            bound: (self.logarithm - reach).exp(),
            limit,
            detectable: limit * (reach + likely).exp(),
            basis: scale.basis,
        })
    }
}

fn difference(baseline: &[Vec<f64>], new: &[f64]) -> Option<Difference> {
    let new = Middle::of_session(new)?;
    let sessions: Vec<Middle> = baseline.iter().filter_map(|times| Middle::of_session(times)).collect();
    match sessions.as_slice() {
        [] => None,
        [only] => Some(against_one(only, &new)),
        several => against_several(several, &new),
    }
}

/// Welch's test on the middles of both (Yuen 1974), plus the allowance between two unchanged sessions.
fn against_one(baseline: &Middle, new: &Middle) -> Difference {
    let within = baseline.variance + new.variance;
    // Whatever the runs of a session differ by (a slow spell from one run on), sessions may differ by, too.
    let spread = SESSION_ALLOWANCE.powi(2).max((baseline.spread + new.spread) / 2.0);
    let between = 2.0 * spread;
    let scaled = baseline.variance.powi(2) / baseline.degrees() + new.variance.powi(2) / new.degrees();
    let total = within + between;
    // Satterthwaite's: the allowance is a given number and has no degrees of its own.
    let degrees = if scaled > 0.0 { total.powi(2) / scaled } else { f64::INFINITY };
    let basis = Basis::Allowance { count: 1, spread: spread.sqrt() };
    Difference {
        logarithm: new.value - baseline.value,
        scale: Scale { error: total.sqrt(), degrees, basis },
        other: None,
    }
}

/// Whether the new session fits the earlier ones: a prediction interval from their middles.
fn against_several(sessions: &[Middle], new: &Middle) -> Option<Difference> {
    let count = sessions.len() as f64;
    let middles: Vec<f64> = sessions.iter().map(|session| session.value).collect();
    let within = mean(&sessions.iter().map(|session| session.variance).collect::<Vec<_>>())?;
    // The variance of a session with as few runs as the new one.
    let expected = mean(&sessions.iter().map(|session| session.variance * session.kept as f64).collect::<Vec<_>>())?
        / new.kept as f64;
    let spread = standard_deviation(&middles)?.powi(2).max(upper_variance(&middles)?).max(within);
    let more_noise = (expected.max(new.variance) - within).max(0.0);
    let widened = |spread: f64| (spread * (1.0 + 1.0 / count) * inflation(&middles) + more_noise).sqrt();
    let error = widened(spread);
    let basis = Basis::Sessions { count: sessions.len(), spread: error };
    let allowed = Scale {
        error: widened(SESSION_ALLOWANCE.powi(2)),
        degrees: f64::INFINITY,
        basis: Basis::Allowance { count: sessions.len(), spread: SESSION_ALLOWANCE },
    };
    Some(Difference {
        logarithm: new.value - mean(&middles)?,
        scale: Scale { error, degrees: count - 1.0, basis },
        other: (spread <= AGREEMENT.powi(2)).then_some(allowed),
    })
}

/// The middle of some logarithms: of a session's runs, or of pairs.
struct Middle {
    /// Mean of the middle half of them: a single delayed run does not move it.
    value: f64,
    /// Variance of that mean, from the spread of these values alone.
    variance: f64,
    /// Variance of the values themselves.
    spread: f64,
    /// How many make the middle half.
    kept: usize,
}

impl Middle {
    /// Of a session's times in seconds; `None` if it has fewer than [`LEAST_RUNS`].
    fn of_session(times: &[f64]) -> Option<Self> {
        Self::new(times.iter().copied().filter_map(logarithm).collect())
    }

    fn new(mut values: Vec<f64>) -> Option<Self> {
        if values.len() < LEAST_RUNS {
            return None;
        }
        values.sort_unstable_by(f64::total_cmp);
        let cut = values.len() / 4;
        let kept = values.get(cut..values.len() - cut)?;
        let (low, high) = (*kept.first()?, *kept.last()?);
        // Yuen's: trimmed values count as if they were as far as the last one kept.
        let drawn_in: Vec<f64> = values.iter().map(|value| value.clamp(low, high)).collect();
        let spread = standard_deviation(&drawn_in)?.powi(2);
        let count = kept.len() as f64;
        let variance = spread * (values.len() as f64 - 1.0) / (count * (count - 1.0));
        Some(Self { value: mean(kept)?, variance, spread, kept: kept.len() })
    }

    fn degrees(&self) -> f64 {
        self.kept as f64 - 1.0
    }
}

/// The variance estimated from the upper half alone.
///
/// Sessions are delayed but never sped up, so they reach further upwards than the standard deviation; a gate looks
/// upwards. For symmetric spreads both are the same.
fn upper_variance(values: &[f64]) -> Option<f64> {
    let centre = median(values)?;
    let squares: f64 = values.iter().filter(|value| **value > centre).map(|value| (value - centre).powi(2)).sum();
    Some(squares / ((values.len() as f64 - 1.0) / 2.0))
}

/// The factor by which the next of a row is expected to miss the mean of those before it when neighbours are
/// correlated (a machine with slow hours): as in a first-order autoregressive process, with the correlation
/// of neighbours estimated from the row and corrected for its bias (Kendall 1954). At least 1.
fn inflation(row: &[f64]) -> f64 {
    let count = row.len();
    let Some(centre) = mean(row).filter(|_| count >= 3) else { return 1.0 };
    let away: Vec<f64> = row.iter().map(|value| value - centre).collect();
    let squares: f64 = away.iter().map(|value| value * value).sum();
    let products: f64 = away.windows(2).map(|pair| pair.iter().product::<f64>()).sum();
    if squares <= 0.0 {
        return 1.0;
    }
    let number = count as f64;
    let seen = products / squares;
    let correlation = (seen + (1.0 + 3.0 * seen) / number).clamp(0.0, 0.9);
    // All in units of the process' variance. `lag` sums over pairs of the row; `ahead` over the row and the next.
    let power = |lag: usize| correlation.powf(lag as f64);
    let lags: f64 = (1..count).map(|lag| 2.0 * (count - lag) as f64 * power(lag)).sum();
    let of_mean = (number + lags) / number.powi(2);
    let ahead: f64 = (1..=count).map(power).sum::<f64>() / number;
    let expected_sample_variance = (1.0 - of_mean) * number / (number - 1.0);
    let needed = (1.0 + of_mean - 2.0 * ahead) / expected_sample_variance;
    (needed / (1.0 + 1.0 / number)).max(1.0)
}

fn logarithm(time: f64) -> Option<f64> {
    (time > 0.0 && time.is_finite()).then(|| time.ln())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMS: Terms = Terms { threshold: 0.05, error_rate: 0.05 };

    #[test]
    fn known_numbers() {
        // Equal runs: only the spread of the sessions is left. R: x <- log(c(1, 1.2, 1.4)); mean, sd, qt(.95, 2).
        let sessions: Vec<Vec<f64>> = [1.0, 1.2, 1.4].map(|time| vec![time; 4]).into();
        let test = against_sessions(&sessions, &[1.9; 4], TERMS).unwrap();
        let centre = (1.0f64.ln() + 1.2f64.ln() + 1.4f64.ln()) / 3.0;
        assert!((test.ratio - 1.9 / centre.exp()).abs() < 1e-12);
        let Basis::Sessions { count: 3, spread } = test.basis else { panic!("{test:?}") };
        // sd = 0.16843, the upper half says less, neighbours do not resemble one another more than chance.
        assert!((0.1684 * (4.0f64 / 3.0).sqrt()..0.26).contains(&spread), "{spread}");
        assert!((test.bound - test.ratio * (-2.919_986 * spread).exp()).abs() < 1e-6);
        assert!((test.detectable - 1.05 * ((2.919_986 + 1.060_660) * spread).exp()).abs() < 1e-5);
        assert_eq!(test.limit, 1.05);
    }

    #[test]
    fn a_single_session_is_given_an_allowance() {
        let test = against_sessions(&[vec![1.0; 8]], &[1.3; 8], TERMS).unwrap();
        assert_eq!(test.basis, Basis::Allowance { count: 1, spread: SESSION_ALLOWANCE });
        assert!(!test.is_slower(), "30 % is what sessions may differ by: {test:?}");
        assert!(against_sessions(&[vec![1.0; 8]], &[1.6; 8], TERMS).unwrap().is_slower());
    }

    #[test]
    fn a_few_sessions_that_agree_find_no_less_than_one() {
        let strict = Terms { threshold: 0.0, error_rate: 0.01 };
        let test = |sessions: &[f64], new: f64| {
            let sessions: Vec<Vec<f64>> = sessions.iter().map(|time| vec![*time; 4]).collect();
            against_sessions(&sessions, &[new; 4], strict).unwrap()
        };
        let (one, two) = (test(&[1.0], 1.6), test(&[1.0, 1.05], 1.6));
        assert!(two.detectable < one.detectable && two.is_slower(), "{one:?} {two:?}");
        assert_eq!(two.basis, Basis::Allowance { count: 2, spread: SESSION_ALLOWANCE });
        // Those that do not agree tell their own spread, and so do those that tell more by it.
        for sessions in [&[1.0, 1.3][..], &[1.0, 1.01, 1.02, 1.0, 1.01]] {
            assert!(matches!(test(sessions, 1.6).basis, Basis::Sessions { .. }), "{sessions:?}");
        }
    }

    #[test]
    fn side_by_side_nothing_lies_between() {
        let rounds = |ratios: &[f64]| -> Vec<_> {
            let drift = |round: usize| 1.0 + round as f64;
            ratios.iter().enumerate().map(|(at, ratio)| (Some(drift(at)), Some(ratio * drift(at)))).collect()
        };
        let test = side_by_side(&rounds(&[1.10, 1.11, 1.09, 1.10]), TERMS).unwrap();
        assert_eq!(test.basis, Basis::Pairs { count: 4 });
        assert!(test.is_slower() && (test.ratio - 1.1).abs() < 0.001, "{test:?}");
        assert!(!side_by_side(&rounds(&[1.04, 1.05, 1.03, 1.04]), TERMS).unwrap().is_slower());
        let mut incomplete = rounds(&[1.5, 1.5, 1.5, 1.5]);
        incomplete[0].0 = None;
        assert_eq!(side_by_side(&incomplete, TERMS).unwrap().basis, Basis::Sides);
    }

    #[test]
    fn too_few_runs_have_no_answer() {
        assert_eq!(against_sessions(&[], &[1.0; 8], TERMS), None);
        assert_eq!(against_sessions(&[vec![1.0; 2]], &[1.0; 8], TERMS), None);
        assert_eq!(against_sessions(&[vec![1.0; 8]], &[1.0, 1.0, 0.0], TERMS), None);
        assert_eq!(side_by_side(&[(Some(1.0), Some(1.0)); 2], TERMS), None);
        assert_eq!(side_by_side(&[(Some(1.0), None); 9], TERMS), None);
        // A short session beside others does not count.
        let test = against_sessions(&[vec![1.0; 8], vec![9.0; 2]], &[1.0; 8], TERMS).unwrap();
        assert_eq!(test.ratio, 1.0);
    }

    #[test]
    fn both_directions_are_told() {
        let sessions: Vec<Vec<f64>> =
            [1.0, 1.01, 0.99, 1.0, 1.01].map(|time| vec![time, time * 1.01, time * 0.99, time]).into();
        let verdict = |time: f64| session_difference(&sessions, &[time; 4]).unwrap().verdict;
        assert_eq!([verdict(0.8), verdict(1.005), verdict(1.2)], [Verdict::Faster, Verdict::NotShown, Verdict::Slower]);
    }

    #[test]
    fn tests_share_the_error_rate() {
        assert!((TERMS.shared(2).error_rate - 0.025).abs() < 1e-12);
        assert_eq!(TERMS.shared(0), TERMS);
    }
}
