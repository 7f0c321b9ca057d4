//! Reading what a start needs besides the image: the originals' directories and names, and files that are not covered.

use coldstart_prefetch::Replay;
use coldstart_profile::plan::PlanView;

use super::Front;

/// Replays the plans of the given programs, until `cancelled` is true. On a disk that seeks, all reads are queued in the order of the disk; elsewhere
/// many are under way at the same time.
///
/// A plan that cannot be read is left out: it only makes the start faster.
pub(super) fn read_outside(front: &Front, programs: u64, seeks: bool, cancelled: &(dyn Fn() -> bool + Sync)) {
    for (bit, plan) in front.index.outside.iter().enumerate() {
        if programs.checked_shr(bit as u32).unwrap_or(0) & 1 == 0 || cancelled() {
            continue;
        }
        if let Ok(plan) = PlanView::read(plan) {
            Replay::new(plan).on_disk_that_seeks(seeks).before_start(cancelled);
        }
    }
}
