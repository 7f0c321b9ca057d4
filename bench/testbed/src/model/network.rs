//! A disk behind a network: a fixed latency, a limit on concurrent reads, and one shared link.
//!
//! A read waits for one of `parallel` slots, spends the latency in it, and then sends its bytes through the link, first
//! come first served. It keeps its slot until the last byte is sent. Offsets do not matter.
//!
//! Not obvious: latency and place in the link's queue follow the order of arrival, so each read's
//! completion is known when its service begins.

use std::collections::VecDeque;
use std::time::Duration;

use super::parameters::NetworkParameters;
use super::{Completion, DiskModel, Request, transfer_time};

/// See the module's description.
pub(super) struct Network {
    parameters: NetworkParameters,
    /// When the link has sent everything promised so far.
    link_free: Duration,
    /// In order of completion.
    in_service: VecDeque<Completion>,
    waiting: VecDeque<Request>,
    done: Vec<Completion>,
}

impl Network {
    pub(super) fn new(parameters: NetworkParameters) -> Self {
        Self {
            parameters,
            link_free: Duration::ZERO,
            in_service: VecDeque::new(),
            waiting: VecDeque::new(),
            done: Vec::new(),
        }
    }

    fn advance(&mut self, now: Duration) {
        while let Some(completion) = self.in_service.front().copied().filter(|completion| completion.at <= now) {
            self.in_service.pop_front();
            self.done.push(completion);
            if let Some(request) = self.waiting.pop_front() {
                self.begin(completion.at, &request);
            }
        }
    }

    fn begin(&mut self, now: Duration, request: &Request) {
        let latency = Duration::try_from_secs_f64(self.parameters.latency_ms / 1e3).unwrap_or_default();
        let sending = self.link_free.max(now + latency);
        self.link_free = sending + transfer_time(request.length, self.parameters.bandwidth_mb);
        self.in_service.push_back(Completion { id: request.id, at: self.link_free });
    }
}

impl DiskModel for Network {
    fn submit(&mut self, now: Duration, request: Request) {
        self.advance(now);
        if self.in_service.len() < self.parameters.parallel {
            self.begin(now, &request);
        } else {
            self.waiting.push_back(request);
        }
    }

    fn next_completion(&self) -> Option<Duration> {
        self.done.first().or(self.in_service.front()).map(|completion| completion.at)
    }

    fn completed(&mut self, now: Duration) -> Vec<Completion> {
        self.advance(now);
        std::mem::take(&mut self.done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::RequestId;
    use crate::model::simulation::{drain, random_reads, sequential_reads};
    use proptest::prelude::*;

    fn default_network() -> Network {
        Network::new(NetworkParameters::default())
    }

    #[test]
    fn reads_reach_the_target_figures() {
        // Measured at depth 1: 906, where 80 us of each read are the machine's own.
        let alone = random_reads(&mut default_network(), 6 << 30, 4096, 1, 1000);
        assert!((alone / 906.0 - 1.0).abs() < 0.1, "{alone:.0} IOPS at depth 1");
        // 32 places, each busy for latency and transfer: 31483. What a machine gets through FUSE is less.
        let together = random_reads(&mut default_network(), 6 << 30, 4096, 32, 20_000);
        assert!((together / 31_483.0 - 1.0).abs() < 0.02, "{together:.0} IOPS at depth 32");
        let sequential = sequential_reads(&mut default_network(), 1 << 20, 2, 1000);
        assert!((sequential / 249.0 - 1.0).abs() < 0.02, "{sequential:.0} MB/s");
    }

    #[test]
    fn a_read_beyond_the_limit_waits_for_a_place() {
        let mut network = Network::new(NetworkParameters { parallel: 2, latency_ms: 1.0, bandwidth_mb: 1e5 });
        for id in 0..3 {
            network.submit(Duration::ZERO, Request { id: RequestId(id), offset: 0, length: 1 });
        }
        let times: Vec<u128> = drain(&mut network).iter().map(|completion| completion.at.as_millis()).collect();
        assert_eq!(times, [1, 1, 2]);
    }

    proptest! {
        #[test]
        fn completions_are_in_order_and_below_the_bandwidth(
            reads in prop::collection::vec((0u64..3000, 1u64..2 << 20), 1..100),
            parallel in 1usize..40,
        ) {
            let parameters = NetworkParameters { parallel, ..Default::default() };
            let mut network = Network::new(parameters.clone());
            let mut now = Duration::ZERO;
            let mut all = Vec::new();
            let mut arrivals = Vec::new();
            for (id, (pause, length)) in reads.iter().enumerate() {
                now += Duration::from_micros(*pause);
                arrivals.push(now);
                network.submit(now, Request { id: RequestId(id as u64), offset: 0, length: *length });
                all.extend(network.completed(now));
            }
            all.extend(drain(&mut network));
            prop_assert_eq!(all.len(), reads.len());
            for (index, completion) in all.iter().enumerate() {
                // First come first served, never before latency and transfer, never faster than the link.
                prop_assert_eq!(completion.id.0, index as u64);
                let own = transfer_time(reads[index].1, parameters.bandwidth_mb);
                prop_assert!(completion.at >= arrivals[index] + Duration::from_millis(1) + own);
                if index > 0 {
                    prop_assert!(completion.at >= all[index - 1].at + own);
                }
                // No more than `parallel` in service: the one that many places earlier left before this one's latency.
                if index >= parallel {
                    prop_assert!(completion.at >= all[index - parallel].at + Duration::from_millis(1) + own);
                }
            }
        }
    }
}
