//! Round steps for axes.

/// The least of 1, 2, 5, 10, ... that is `rough` or more; at least 1.
fn round_step(rough: f64) -> u64 {
    let mut power = 1u64;
    loop {
        for factor in [1, 2, 5] {
            let step = power.saturating_mul(factor);
            if step as f64 >= rough || step == u64::MAX {
                return step;
            }
        }
        power = power.saturating_mul(10);
    }
}

/// Round values in a range, both ends included, at most `most` of them, and their distance.
pub(super) fn ticks(from: u64, to: u64, most: u32) -> (Vec<u64>, u64) {
    let step = round_step(to.saturating_sub(from) as f64 / f64::from(most.max(1)));
    let first = from.checked_next_multiple_of(step);
    let ticks = std::iter::successors(first, |tick| tick.checked_add(step)).take_while(|tick| *tick <= to);
    (ticks.take(most as usize + 1).collect(), step)
}

/// Round moments, in nanoseconds.
pub(crate) fn time_step(from: u64, to: u64, most: u32) -> (Vec<u64>, u64) {
    ticks(from, to, most)
}

/// `0`, `250 ms`, `1.5 s`: with as many digits as the steps need.
pub(crate) fn time_tick(at: u64, step: u64, to: u64) -> String {
    let (unit, divisor) = match to {
        0..20_000 => ("ns", 1.0),
        20_000..20_000_000 => ("µs", 1e3),
        20_000_000..20_000_000_000 => ("ms", 1e6),
        _ => ("s", 1e9),
    };
    shown(at, step, divisor, unit)
}

/// `0`, `20 MB`, `1.5 kB`.
pub(crate) fn size_tick(at: u64, step: u64, to: u64) -> String {
    let units = [(1e18, "EB"), (1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let (divisor, unit) = units.into_iter().find(|(divisor, _)| to as f64 >= 2.0 * divisor).unwrap_or((1.0, "B"));
    shown(at, step, divisor, unit)
}

fn shown(at: u64, step: u64, divisor: f64, unit: &str) -> String {
    if at == 0 {
        return "0".to_owned();
    }
    let decimals = (0..9).find(|decimals| step as f64 / divisor * 10f64.powi(*decimals) >= 0.999).unwrap_or(9);
    format!("{:.*} {unit}", usize::try_from(decimals).unwrap_or(0), at as f64 / divisor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round_and_few() {
        assert_eq!(ticks(0, 1627, 10), (vec![0, 200, 400, 600, 800, 1000, 1200, 1400, 1600], 200));
        assert_eq!(ticks(0, 0, 10), (vec![0], 1));
        assert_eq!(ticks(7, 3, 10).0, Vec::<u64>::new());
        for (from, to) in [(0, u64::MAX), (u64::MAX, u64::MAX), (1, 2), (u64::MAX - 5, u64::MAX)] {
            assert!(ticks(from, to, 8).0.len() <= 9, "{from} {to}");
        }
    }

    #[test]
    fn ticks_have_units() {
        assert_eq!(time_tick(250_000_000, 50_000_000, 800_000_000), "250 ms");
        assert_eq!(time_tick(1_500_000, 500_000, 4_000_000), "1500 µs");
        assert_eq!(size_tick(20_000_000, 10_000_000, 63_000_000), "20 MB");
        assert_eq!(size_tick(1_500_000, 500_000, 2_100_000), "1.5 MB");
        assert_eq!(size_tick(0, 10, 63), "0");
    }
}
