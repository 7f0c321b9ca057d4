//! The size of a ring.
//!
//! The kernel takes a ring's memory at once and never swaps it, so many processors get smaller ones. Without `CAP_IPC_LOCK` a
//! user has `kernel.perf_event_mlock_kb` (516 KiB) for each processor and, beyond that, what `RLIMIT_MEMLOCK` leaves
//! (`kernel/events/core.c`, `perf_mmap`).

/// A ring of this size holds 450,000 faults.
const MOST_PER_PROCESSOR: usize = 32 << 20;
/// Of all rings together.
const MOST_OF_ALL: usize = 256 << 20;
/// Of all rings together, of the machine's memory.
const PART_OF_MEMORY: usize = 16;
/// In pages. A record with the longest path takes more than one page.
const LEAST_PAGES: usize = 8;

/// The sizes to try, in bytes, descending; each is a power of two.
pub(super) fn sizes(wanted: Option<usize>, processors: usize) -> impl Iterator<Item = usize> {
    let memory = rustix::system::sysinfo();
    let memory = usize::try_from(memory.totalram).unwrap_or(usize::MAX).saturating_mul(memory.mem_unit as usize);
    let least = rustix::param::page_size().saturating_mul(LEAST_PAGES).next_power_of_two();
    let most = largest(wanted, processors, memory).max(least);
    std::iter::successors(Some(most), |size| Some(size / 2)).take_while(move |&size| size >= least)
}

fn largest(wanted: Option<usize>, processors: usize, memory: usize) -> usize {
    let sensible = || MOST_PER_PROCESSOR.min(MOST_OF_ALL.min(memory / PART_OF_MEMORY) / processors.max(1));
    // The watermark is a 32-bit number.
    let size = wanted.unwrap_or_else(sensible).min(1 << 31);
    size.checked_ilog2().map_or(0, |power| 1 << power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_processors_and_little_memory_have_smaller_rings() {
        assert_eq!(largest(None, 2, 32 << 30), 32 << 20);
        assert_eq!(largest(None, 64, 32 << 30), 4 << 20);
        assert_eq!(largest(None, 48, 32 << 30), 4 << 20);
        assert_eq!(largest(None, 2, 512 << 20), 16 << 20);
        assert_eq!(largest(Some(100_000), 2, 0), 65_536);
        assert_eq!(largest(Some(0), 0, 0), 0);
    }

    #[test]
    fn sizes_are_halved_down_to_the_least() {
        let sizes: Vec<_> = sizes(Some(1 << 20), 2).collect();
        assert_eq!(sizes.first(), Some(&(1 << 20)));
        assert!(sizes.windows(2).all(|pair| pair[0] == 2 * pair[1]));
        assert!(super::sizes(Some(1), 2).count() == 1);
    }
}
