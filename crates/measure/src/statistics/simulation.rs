//! How often a command measured against itself is called different: simulated, with the noise of real machines.
//!
//! With a claim at 99 % confidence, 40 comparisons of equals should give 0.4 false claims. Student's t keeps that on
//! heavy tails because a difference within a pair is symmetric, which makes the test claim less rather than more; no
//! second test has to agree. Were the order not alternating, drift alone would make claims: the last test shows it.

use coldstart_profile::measurement::{StartState, Verdict};

use super::compare;
use super::noise::{self, ALL, Noise, Random};
use crate::schedule::schedule;

/// Times of two commands of which the second takes `ratio` as long, in rounds.
fn times(
    random: &mut Random,
    noise: Noise,
    runs: u32,
    ratio: f64,
    alternating: bool,
) -> Vec<(Option<f64>, Option<f64>)> {
    let mut rounds = vec![(None, None); runs as usize];
    let mut order = schedule(2, &[StartState::Cold], runs);
    if !alternating {
        order.sort_by_key(|slot| (slot.round, slot.command));
    }
    let times = noise::times(random, noise, order.len());
    for (slot, time) in order.into_iter().zip(times) {
        let round = &mut rounds[slot.round as usize - 1];
        if slot.command == 0 {
            round.0 = Some(time);
        } else {
            round.1 = Some(time * ratio);
        }
    }
    rounds
}

fn is_claimed(rounds: &[(Option<f64>, Option<f64>)]) -> bool {
    matches!(compare(rounds).verdict, Verdict::Faster | Verdict::Slower)
}

/// False claims in 40 comparisons of equals, on average.
fn false_claims_in_40(
    noise: Noise,
    runs: u32,
    spoil: impl Fn(&mut Random, &mut Vec<(Option<f64>, Option<f64>)>),
) -> f64 {
    const SEEDS: u64 = 60;
    let claims: usize = (0..SEEDS)
        .map(|seed| {
            let mut random = Random::new(seed);
            (0..40)
                .filter(|_| {
                    let mut rounds = times(&mut random, noise, runs, 1.0, true);
                    spoil(&mut random, &mut rounds);
                    is_claimed(&rounds)
                })
                .count()
        })
        .sum();
    claims as f64 / SEEDS as f64
}

#[test]
fn equals_are_rarely_called_different() {
    for noise in ALL {
        for runs in [3, 5, 10] {
            let claims = false_claims_in_40(noise, runs, |_, _| {});
            eprintln!("{noise:?}, {runs} runs: {claims:.2} false claims in 40");
            assert!(claims < 0.8, "{noise:?}, {runs} runs: {claims} false claims in 40");
        }
    }
}

#[test]
fn equals_with_missing_runs_are_rarely_called_different() {
    for noise in ALL {
        for runs in [4, 10] {
            let claims = false_claims_in_40(noise, runs, |random, rounds| {
                for round in rounds {
                    match random.next() % 6 {
                        0 => round.0 = None,
                        1 => round.1 = None,
                        _ => {}
                    }
                }
            });
            eprintln!("{noise:?}, {runs} runs, a third of the rounds incomplete: {claims:.2} false claims in 40");
            assert!(claims < 1.0, "{noise:?}, {runs} runs: {claims} false claims in 40");
        }
    }
}

#[test]
fn a_real_difference_is_seen() {
    // A test that never claims anything would pass the others.
    for (noise, wanted) in [(Noise::Plain, 195), (Noise::Drift, 40), (Noise::HeavyTail, 40), (Noise::Step, 80)] {
        let mut random = Random::new(7);
        let seen = (0..200).filter(|_| is_claimed(&times(&mut random, noise, 10, 0.9, true))).count();
        eprintln!("{noise:?}: a tenth less was seen {seen} times of 200");
        assert!(seen >= wanted, "{noise:?}: {seen} of 200");
    }
}

#[test]
fn without_alternating_order_drift_makes_claims() {
    let mut random = Random::new(7);
    let mut claims = [true, false].map(|alternating| {
        (0..200)
            .filter(|_| {
                let mut rounds = times(&mut random, Noise::Plain, 10, 1.0, alternating);
                for (round, (first, second)) in rounds.iter_mut().enumerate() {
                    // Steep and smooth: 10 % from run to run.
                    let backwards = alternating && round % 2 == 1;
                    let position = 2.0 * round as f64;
                    *first = first.map(|time| time * 1.1f64.powf(position + f64::from(u8::from(backwards))));
                    *second = second.map(|time| time * 1.1f64.powf(position + f64::from(u8::from(!backwards))));
                }
                is_claimed(&rounds)
            })
            .count()
    });
    claims.sort_unstable();
    assert!(claims[0] <= 4 && claims[1] >= 150, "{claims:?}");
}
