//! Several recordings as one plan: of a program with different documents, of several users, of the hosts of a fleet.
//!
//! A plan stores steps, not the working set, but a step says which pages it reads, when they were first used, and where
//! they are on the disk: enough to have the working set back, with gaps that were cheap to read. So the recordings
//! are joined as working sets, and the planner plans again.
//!
//! The plans are read twice, one at a time: [`Survey`] finds what most of them agree on, [`Join`] counts the pages. Memory
//! grows with the distinct files and pages, not with the number of recordings, and no result depends on their order.

mod counted_pages;
mod disk;
mod join;
mod recording;
mod survey;

pub use join::{Join, Merged, OtherVersions};
pub use survey::Survey;

use std::time::Duration;

use coldstart_profile::plan::PlannedDevice;

use crate::cost::transfer_time;

/// What the kernel reads around a page that is not in memory, by default: the price of a page left out.
const READ_AROUND_BYTES: u64 = 128 << 10;
/// A page that most starts use is never left out.
const LARGEST_SHARE: u8 = 50;

/// The share of starts, in percent, that must use a page for it to be worth reading in all of them.
///
/// Reading a page ahead in vain costs its transfer; leaving it out costs a latency and the transfer in the starts that
/// use it. Both are equal at a share of transfer / (latency + transfer), for the 128 KiB that the kernel reads at once.
pub fn worthwhile_share(device: &PlannedDevice) -> u8 {
    let transfer = transfer_time(READ_AROUND_BYTES, device.bandwidth);
    let both = transfer.saturating_add(device.latency);
    if both == Duration::ZERO {
        return LARGEST_SHARE;
    }
    let percent = (transfer.as_secs_f64() / both.as_secs_f64() * 100.0).ceil() as u8;
    percent.clamp(1, LARGEST_SHARE)
}

/// Whether `count` of `all` reach a share in percent. What no recording has never does.
fn reaches(share: u8, count: u32, all: u32) -> bool {
    count > 0 && u64::from(count) * 100 >= u64::from(share) * u64::from(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_share_is_where_reading_ahead_in_vain_costs_as_much_as_missing() {
        let device = |latency, bandwidth, seeks| {
            let latency = Duration::from_micros(latency);
            worthwhile_share(&PlannedDevice { latency, bandwidth, parallel: 1, seeks })
        };
        assert_eq!(device(10_600, 120_000_000, true), 10, "a disk with one head: one start in ten");
        assert_eq!(device(1100, 250_000_000, false), 33, "a network disk: one start in three");
        assert_eq!(device(40, 500_000_000, false), 50, "a fast one: one in two");
        assert_eq!((device(0, 0, false), device(100, 0, false)), (50, 1), "unknown figures divide by nothing");
    }

    #[test]
    fn a_share_is_of_all_and_of_at_least_one() {
        assert!(reaches(50, 1, 2) && !reaches(50, 1, 3) && reaches(100, 3, 3) && reaches(1, 1, 100));
        assert!(!reaches(1, 1, 101) && !reaches(0, 0, 3));
    }
}

#[cfg(test)]
mod properties;
