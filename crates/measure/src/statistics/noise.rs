//! Noise of real machines, for simulations: times of a row of runs that would all be 1.

use coldstart_profile::SplitMix64;

/// Random numbers of several distributions.
pub(super) struct Random(SplitMix64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0.next_number()
    }

    /// Above 0, at most 1.
    pub(super) fn uniform(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    pub(super) fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// At least 1, with infinite variance.
    pub(super) fn pareto(&mut self) -> f64 {
        self.uniform().powf(-1.0 / 1.5)
    }
}

/// What disturbs the runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Noise {
    /// 3 % either way.
    Plain,
    /// Every tenth run is held up, some of them very long.
    HeavyTail,
    /// 30 % slower from beginning to end, besides.
    Drift,
    /// Half as slow again from a random run on.
    Step,
    /// A busy spell does not end with the run.
    Correlated,
    /// The very first run takes three times as long.
    SlowFirst,
}

pub(super) const ALL: [Noise; 6] =
    [Noise::Plain, Noise::HeavyTail, Noise::Drift, Noise::Step, Noise::Correlated, Noise::SlowFirst];

/// Times of runs in a row.
pub(super) fn times(random: &mut Random, noise: Noise, runs: usize) -> Vec<f64> {
    let step_at = random.next() as usize % runs;
    let mut spell = 0.0;
    let mut run = |position: usize| {
        let mut time = (random.normal() * 0.03).exp();
        match noise {
            Noise::Plain => {}
            Noise::HeavyTail | Noise::Drift => {
                if noise == Noise::Drift {
                    time *= 1.0 + 0.3 * position as f64 / runs as f64;
                }
                if random.uniform() < 0.1 {
                    time += 0.1 * random.pareto();
                }
            }
            Noise::Step if position >= step_at => time *= 1.5,
            Noise::Step => {}
            Noise::Correlated => {
                spell = 0.8 * spell + 0.05 * random.normal();
                time *= f64::exp(spell);
            }
            Noise::SlowFirst if position == 0 => time *= 3.0,
            Noise::SlowFirst => {}
        }
        time
    };
    (0..runs).map(&mut run).collect()
}
