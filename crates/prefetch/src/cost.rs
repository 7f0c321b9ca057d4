//! The cost of reads on a device.
//!
//! Two kinds of devices behave so differently that one formula would be wrong for both. On a disk with one head
//! (`seeks`), a request costs its distance from the one before, and concurrency helps little. Elsewhere a
//! request costs a share of the latency, as many as `parallel` run at once, and the link's bandwidth limits the sum.

use std::time::Duration;

use coldstart_profile::PAGE_SIZE;
use coldstart_profile::plan::PlannedDevice;

/// The kernel's cost of a request besides the device: about 15 µs from submission to completion, seen
/// on virtio and loop devices with Linux 6.18. It makes very small gaps worth reading on the fastest devices too.
const REQUEST_OVERHEAD: Duration = Duration::from_micros(15);

/// The limit for gaps that are read: a wrong device estimate must not turn a plan into reading whole files.
const LONGEST_GAP_BYTES: u64 = 1 << 20;

/// The longest run of unneeded pages that is cheaper to read than to skip.
///
/// On a seeking disk that is what passes under the head during half an average access (a short seek and a part of a
/// turn); elsewhere what the link carries in one request's share of the latency.
pub fn readable_gap(device: &PlannedDevice) -> u64 {
    let time = if device.seeks { device.latency / 2 } else { request_time(device) };
    bytes_in(time, device.bandwidth).min(LONGEST_GAP_BYTES) / PAGE_SIZE
}

/// The cost of one more request under concurrency, without its bytes.
pub fn request_time(device: &PlannedDevice) -> Duration {
    device.latency / device.parallel.max(1) + REQUEST_OVERHEAD
}

/// Time to transfer `bytes` sequentially; zero on a device of unknown bandwidth.
pub(crate) fn transfer_time(bytes: u64, bandwidth: u64) -> Duration {
    if bandwidth == 0 { Duration::ZERO } else { Duration::from_secs_f64(bytes as f64 / bandwidth as f64) }
}

fn bytes_in(time: Duration, bandwidth: u64) -> u64 {
    (time.as_secs_f64() * bandwidth as f64) as u64
}

/// A read, for the cost model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    /// Device offset, in bytes, if known.
    pub(crate) physical: Option<u64>,
    /// Bytes; 0 for a name, which costs a request, too.
    pub(crate) bytes: u64,
}

/// The completion time of each request, when they are made in this order on an idle device.
pub(crate) fn completion_times(requests: impl Iterator<Item = Request>, device: &PlannedDevice) -> Vec<Duration> {
    let mut head = None;
    let mut at = if device.seeks { Duration::ZERO } else { device.latency };
    let price = |request: Request| {
        let transfer = transfer_time(request.bytes, device.bandwidth);
        if device.seeks {
            let move_time = reposition_time(head, request.physical, device);
            head = request.physical.map(|start| start + request.bytes);
            at += move_time + transfer;
        } else {
            // Latencies overlap, bytes do not.
            at += request_time(device).max(transfer);
        }
        at
    };
    requests.map(price).collect()
}

/// From one offset to another: the gap passes under the head, or the head moves, whichever is shorter.
fn reposition_time(head: Option<u64>, to: Option<u64>, device: &PlannedDevice) -> Duration {
    match (head, to) {
        (Some(from), Some(to)) if to >= from => transfer_time(to - from, device.bandwidth).min(device.latency),
        _ => device.latency,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk() -> PlannedDevice {
        PlannedDevice { latency: Duration::from_micros(10_600), bandwidth: 120_000_000, parallel: 2, seeks: true }
    }

    fn network() -> PlannedDevice {
        PlannedDevice { latency: Duration::from_micros(1100), bandwidth: 250_000_000, parallel: 32, seeks: false }
    }

    #[test]
    fn a_disk_reads_over_gaps_that_a_network_skips() {
        assert_eq!(readable_gap(&disk()), 155, "636 kB pass under the head in half an access");
        assert_eq!(readable_gap(&network()), 3, "12 kB in a thirty-second of a millisecond, with the kernel's share");
    }

    #[test]
    fn an_unknown_bandwidth_divides_by_nothing() {
        let device = PlannedDevice { bandwidth: 0, ..network() };
        assert_eq!(readable_gap(&device), 0);
        assert_eq!(transfer_time(1 << 30, 0), Duration::ZERO);
    }

    #[test]
    fn sorted_requests_cost_less_on_a_disk_and_the_same_elsewhere() {
        let at = |megabytes: u64| Request { physical: Some(megabytes * 1_000_000), bytes: 65_536 };
        let total = |order: [u64; 4], device: &PlannedDevice| {
            completion_times(order.into_iter().map(at), device).last().copied().unwrap_or_default()
        };
        assert!(total([0, 1, 2, 3], &disk()) < total([3, 1, 2, 0], &disk()));
        assert_eq!(total([0, 1, 2, 3], &network()), total([3, 1, 2, 0], &network()));
    }
}
