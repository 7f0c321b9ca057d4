//! A disk with one moving head.
//!
//! One read is served at a time. Its cost is a seek (settling plus a term that grows with the square root of the distance:
//! the arm accelerates half the way and brakes the other half; Ruemmler and Wilkes, An Introduction to Disk Drive
//! Modeling, 1994), the wait for the sector to come round, and the transfer. Waiting reads are taken in C-LOOK order:
//! upwards from the head, then from the lowest again.
//!
//! Not obvious: the rotational wait comes from a seeded generator, uniform over one turn. Computing it
//! from the sector's angle would need the drive's true geometry; an invented one would interfere with the program's own rhythm
//! and give misleading results.

use std::time::Duration;

use super::parameters::HddParameters;
use super::{Completion, DiskModel, Request, SplitMix64, transfer_time};

/// Any seed will do; a fixed one makes runs repeat.
const ROTATION_SEED: u64 = 7200;

/// See the module's description.
pub(super) struct Hdd {
    parameters: HddParameters,
    disk_bytes: u64,
    /// The byte that follows the last one read.
    head: u64,
    serving: Option<Serving>,
    /// In order of arrival.
    waiting: Vec<Waiting>,
    done: Vec<Completion>,
    rotation: SplitMix64,
}

struct Serving {
    completion: Completion,
    head_after: u64,
}

struct Waiting {
    request: Request,
    /// When the drive has understood the command.
    ready: Duration,
}

impl Hdd {
    pub(super) fn new(parameters: HddParameters, disk_bytes: u64) -> Self {
        Self {
            parameters,
            disk_bytes: disk_bytes.max(1),
            head: 0,
            serving: None,
            waiting: Vec::new(),
            done: Vec::new(),
            rotation: SplitMix64::new(ROTATION_SEED),
        }
    }

    /// Serves in model time up to `now`.
    fn advance(&mut self, now: Duration) {
        while let Some(serving) = self.serving.take_if(|serving| serving.completion.at <= now) {
            self.head = serving.head_after;
            let free = serving.completion.at;
            self.done.push(serving.completion);
            self.begin(free);
        }
    }

    /// Starts on the next waiting read. The head is free since `free`.
    fn begin(&mut self, free: Duration) {
        let Some(index) = self.choose() else { return };
        let Waiting { request, ready } = self.waiting.remove(index);
        let at = free.max(ready) + self.positioning(&request) + self.transfer(request.length);
        let head_after = request.offset.saturating_add(request.length);
        self.serving = Some(Serving { completion: Completion { id: request.id, at }, head_after });
    }

    /// C-LOOK among the oldest `queue_depth` reads: the nearest at or above the head, else the lowest of all.
    fn choose(&self) -> Option<usize> {
        let offset = |index: &usize| self.waiting[*index].request.offset;
        let visible = || 0..self.waiting.len().min(self.parameters.queue_depth);
        visible().filter(|index| offset(index) >= self.head).min_by_key(offset).or_else(|| visible().min_by_key(offset))
    }

    /// Time until the first byte passes under the head.
    fn positioning(&mut self, request: &Request) -> Duration {
        match request.offset.checked_sub(self.head) {
            Some(gap) if gap <= self.parameters.read_through_bytes => self.transfer(gap),
            _ => self.seek(request.offset.abs_diff(self.head)) + self.rotational_wait(),
        }
    }

    fn seek(&self, distance: u64) -> Duration {
        let fraction = (distance as f64 / self.disk_bytes as f64).min(1.0) * self.parameters.image_span;
        milliseconds(self.parameters.settle_ms + self.parameters.stroke_ms * fraction.sqrt())
    }

    fn rotational_wait(&mut self) -> Duration {
        milliseconds(60_000.0 / self.parameters.rpm * self.rotation.fraction())
    }

    fn transfer(&self, bytes: u64) -> Duration {
        transfer_time(bytes, self.parameters.bandwidth_mb)
    }
}

impl DiskModel for Hdd {
    fn submit(&mut self, now: Duration, request: Request) {
        self.advance(now);
        self.waiting.push(Waiting { request, ready: now + milliseconds(self.parameters.command_ms) });
        if self.serving.is_none() {
            self.begin(now);
        }
    }

    fn next_completion(&self) -> Option<Duration> {
        self.done.first().map(|completion| completion.at).or(self.serving.as_ref().map(|serving| serving.completion.at))
    }

    fn completed(&mut self, now: Duration) -> Vec<Completion> {
        self.advance(now);
        std::mem::take(&mut self.done)
    }
}

fn milliseconds(value: f64) -> Duration {
    // Parameters are checked to be finite and not negative.
    Duration::try_from_secs_f64(value / 1e3).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::RequestId;
    use crate::model::simulation::{drain, random_reads, sequential_reads};
    use proptest::prelude::*;

    const DISK: u64 = 6 << 30;

    fn read(id: u64, offset: u64, length: u64) -> Request {
        Request { id: RequestId(id), offset, length }
    }

    fn default_hdd() -> Hdd {
        Hdd::new(HddParameters::default(), DISK)
    }

    #[test]
    fn random_reads_reach_the_target_figures() {
        for (depth, target) in [(1, 93.0), (32, 158.0)] {
            let measured = random_reads(&mut default_hdd(), DISK, 4096, depth, 4000);
            assert!((measured / target - 1.0).abs() < 0.1, "{measured:.1} IOPS at depth {depth}, not {target}");
        }
    }

    #[test]
    fn a_stream_reaches_the_platters_speed() {
        let measured = sequential_reads(&mut default_hdd(), 1 << 20, 2, 1000);
        assert!((measured / 119.0 - 1.0).abs() < 0.02, "{measured:.1} MB/s");
    }

    #[test]
    fn waiting_reads_are_served_in_c_look_order() {
        let mut hdd = default_hdd();
        // The idle head takes the first at once; the others wait.
        let offsets = [1 << 30, 5 << 30, 2 << 30, 0, 4 << 30, 512 << 20];
        for (id, offset) in offsets.into_iter().enumerate() {
            hdd.submit(Duration::ZERO, read(id as u64, offset, 4096));
        }
        let order: Vec<u64> = drain(&mut hdd).iter().map(|completion| completion.id.0).collect();
        assert_eq!(order, [0, 2, 4, 1, 3, 5]);
    }

    #[test]
    fn only_the_drives_own_queue_is_sorted() {
        let parameters = HddParameters { queue_depth: 1, ..Default::default() };
        let mut hdd = Hdd::new(parameters, DISK);
        for (id, offset) in [1u64 << 30, 5 << 30, 2 << 30, 0].into_iter().enumerate() {
            hdd.submit(Duration::ZERO, read(id as u64, offset, 4096));
        }
        let order: Vec<u64> = drain(&mut hdd).iter().map(|completion| completion.id.0).collect();
        assert_eq!(order, [0, 1, 2, 3]);
    }

    #[test]
    fn a_forward_gap_costs_its_transfer_and_a_backward_step_costs_a_seek() {
        let mut hdd = default_hdd();
        hdd.head = 1 << 30;
        assert_eq!(hdd.positioning(&read(0, 1 << 30, 4096)), Duration::ZERO);
        let gap = 512 << 10;
        assert_eq!(hdd.positioning(&read(0, (1 << 30) + gap, 4096)), transfer_time(gap, 120.0));
        assert!(hdd.positioning(&read(0, (1 << 30) - 4096, 4096)) >= milliseconds(0.8));
        assert!(hdd.positioning(&read(0, (1 << 30) + (1 << 20) + 4096, 4096)) >= milliseconds(0.8));
    }

    #[test]
    fn adjacent_pieces_of_one_read_cost_what_the_whole_costs() {
        let whole = {
            let mut hdd = default_hdd();
            hdd.submit(Duration::ZERO, read(0, 3 << 30, 2 << 20));
            drain(&mut hdd)[0].at
        };
        let mut hdd = default_hdd();
        for piece in 0..2 {
            hdd.submit(Duration::ZERO, read(piece, (3 << 30) + (piece << 20), 1 << 20));
        }
        let pieces = drain(&mut hdd)[1].at;
        assert!(pieces.abs_diff(whole) < Duration::from_micros(1), "{pieces:?} for two pieces, {whole:?} for one");
    }

    proptest! {
        #[test]
        fn completions_are_in_order_complete_and_below_the_bandwidth(
            reads in prop::collection::vec((0u64..20_000, 0u64..DISK, 1u64..1 << 20), 1..60)
        ) {
            let mut hdd = default_hdd();
            let mut now = Duration::ZERO;
            let mut all = Vec::new();
            for (id, (pause, offset, length)) in reads.iter().enumerate() {
                now += Duration::from_micros(*pause);
                hdd.submit(now, read(id as u64, *offset, *length));
                all.extend(hdd.completed(now));
            }
            all.extend(drain(&mut hdd));
            prop_assert!(all.is_sorted_by_key(|completion| completion.at));
            let mut ids: Vec<u64> = all.iter().map(|completion| completion.id.0).collect();
            ids.sort_unstable();
            prop_assert_eq!(ids, (0..reads.len() as u64).collect::<Vec<_>>());
            // One head: what lies between two completions is at least the later one's transfer.
            for pair in all.windows(2) {
                let length = reads[pair[1].id.0 as usize].2;
                prop_assert!(pair[1].at - pair[0].at + Duration::from_nanos(1) >= transfer_time(length, 120.0));
            }
        }

        #[test]
        fn a_longer_seek_never_takes_less(near in 0u64..DISK, further in 0u64..DISK) {
            let hdd = default_hdd();
            prop_assert!(hdd.seek(near) <= hdd.seek(near + further));
        }
    }
}
