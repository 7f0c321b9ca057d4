//! The processor's time-stamp counter, turned into `CLOCK_MONOTONIC`.
//!
//! Code that we add to a program should not call the clock: it records the counter (`rdtsc`). Two readings of both clocks, before and
//! after, give the linear conversion. Processors with a stopping or varying counter have no such conversion; they lack `constant_tsc` and `nonstop_tsc` in `/proc/cpuinfo`.

/// Both clocks at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeStamp {
    /// The counter.
    pub counter: u64,
    /// `CLOCK_MONOTONIC`, in nanoseconds.
    pub monotonic: u64,
}

impl TimeStamp {
    /// Reads both, as close together as a few tries allow.
    pub fn now() -> Self {
        let mut best: Option<(u64, Self)> = None;
        for _ in 0..16 {
            let before = counter();
            let monotonic = monotonic_nanoseconds();
            let after = counter();
            let apart = after.wrapping_sub(before);
            if best.is_none_or(|(least, _)| apart < least) {
                best = Some((apart, Self { counter: before.wrapping_add(apart / 2), monotonic }));
            }
        }
        best.map_or(Self { counter: 0, monotonic: 0 }, |(_, stamp)| stamp)
    }

    /// The time of a counter value, on the line through this moment and a later one; `None` if they are equal.
    pub fn time_of(self, later: Self, counter: u64) -> Option<u64> {
        let ticks = i128::from(later.counter) - i128::from(self.counter);
        let nanoseconds = i128::from(later.monotonic) - i128::from(self.monotonic);
        if ticks <= 0 {
            return None;
        }
        let since = (i128::from(counter) - i128::from(self.counter)).checked_mul(nanoseconds)? / ticks;
        u64::try_from(i128::from(self.monotonic) + since).ok()
    }
}

/// `CLOCK_MONOTONIC`, in nanoseconds.
pub fn monotonic_nanoseconds() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(u64::try_from(now.tv_nsec).unwrap_or(0))
}

#[cfg(target_arch = "x86_64")]
fn counter() -> u64 {
    // SAFETY: every x86-64 processor has the instruction; it touches no memory.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn counter() -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_between_two_moments_are_on_the_line() {
        let (first, last) = (TimeStamp { counter: 1000, monotonic: 50 }, TimeStamp { counter: 3000, monotonic: 1050 });
        assert_eq!(first.time_of(last, 2000), Some(550));
        assert_eq!(first.time_of(last, 1000), Some(50));
        assert_eq!(first.time_of(last, 5000), Some(2050));
        assert_eq!(first.time_of(first, 2000), None);
    }
}
