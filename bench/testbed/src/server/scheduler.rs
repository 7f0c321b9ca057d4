//! Holds the concurrent reads and replies to each at the model's time.
//!
//! Not obvious: waiting is a sleep for all but the last stretch and then a short spin. A sleep alone ends
//! tens of microseconds late even with the timer slack at its least, and a read through a fast link takes 16.

use std::collections::HashMap;
use std::num::NonZeroU64;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use super::statistics::Statistics;
use crate::model::{DiskModel, Request, RequestId};

/// How long before a completion sleeping gives way to spinning: about what a sleep here ends too late.
const SPIN: Duration = Duration::from_micros(30);

/// A read that came in.
pub(super) struct Arrival {
    /// When it came in.
    pub(super) at: Instant,
    pub(super) offset: u64,
    /// What is to be answered. It is copied on arrival, so that copying takes no time when the answer is due.
    pub(super) data: Vec<u8>,
    /// Sends the answer.
    pub(super) answer: Answer,
}

/// Sends a read's data to whoever asked.
pub(super) type Answer = Box<dyn FnOnce(&[u8]) + Send>;

/// Serves until the other end of `arrivals` is gone.
pub(super) fn run(arrivals: &Receiver<Arrival>, model: Box<dyn DiskModel>, statistics: &Statistics) {
    // The default slack lets the kernel wake us 50 us late to save power (prctl(2), PR_SET_TIMERSLACK). It is a thread's
    // own setting and only costs precision when it cannot be had.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    let mut queue = Queue { model, began: Instant::now(), now: Duration::ZERO, next: 0, under_way: HashMap::new() };
    while let Some(news) = wait(arrivals, queue.due()) {
        if let News::Arrived(arrival) = news {
            queue.take(arrival);
            // All that came meanwhile, so that the model chooses among them.
            while let Ok(arrival) = arrivals.try_recv() {
                queue.take(arrival);
            }
        }
        queue.answer_what_is_due(statistics);
    }
}

enum News {
    Arrived(Arrival),
    Due,
}

/// Waits until something arrives or `due` has come; `None` when nothing can arrive any more and nothing is due.
fn wait(arrivals: &Receiver<Arrival>, due: Option<Instant>) -> Option<News> {
    let Some(due) = due else { return arrivals.recv().ok().map(News::Arrived) };
    loop {
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Some(News::Due);
        }
        match left.checked_sub(SPIN) {
            Some(sleep) if !sleep.is_zero() => match arrivals.recv_timeout(sleep) {
                Ok(arrival) => return Some(News::Arrived(arrival)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(sleep),
            },
            _ => match arrivals.try_recv() {
                Ok(arrival) => return Some(News::Arrived(arrival)),
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => std::hint::spin_loop(),
            },
        }
    }
}

struct Queue {
    model: Box<dyn DiskModel>,
    began: Instant,
    /// The latest time the model was told; it must never be told an earlier one.
    now: Duration,
    next: u64,
    under_way: HashMap<RequestId, (Vec<u8>, Answer)>,
}

impl Queue {
    fn due(&self) -> Option<Instant> {
        self.model.next_completion().map(|at| self.began + at)
    }

    fn take(&mut self, arrival: Arrival) {
        let id = RequestId(self.next);
        self.next += 1;
        self.now = self.now.max(arrival.at.saturating_duration_since(self.began));
        self.model.submit(self.now, Request { id, offset: arrival.offset, length: arrival.data.len() as u64 });
        self.under_way.insert(id, (arrival.data, arrival.answer));
    }

    fn answer_what_is_due(&mut self, statistics: &Statistics) {
        self.now = self.now.max(self.began.elapsed());
        for completion in self.model.completed(self.now) {
            let Some((data, answer)) = self.under_way.remove(&completion.id) else { continue };
            statistics.answered(self.began.elapsed().saturating_sub(completion.at));
            answer(&data);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Kind, Parameters};
    use std::sync::mpsc::channel;

    #[test]
    fn every_read_is_answered_with_its_own_data_even_when_no_more_can_come() {
        let (sender, arrivals) = channel();
        let (answered, answers) = channel();
        for number in 0..50u8 {
            let answered = answered.clone();
            let answer: Answer = Box::new(move |data| answered.send((number, data.to_vec())).unwrap());
            sender.send(Arrival { at: Instant::now(), offset: 0, data: vec![number; 100], answer }).unwrap();
        }
        drop((sender, answered));
        run(&arrivals, Parameters::of(Kind::Net).model(1 << 20), &Statistics::default());
        let all: Vec<(u8, Vec<u8>)> = answers.iter().collect();
        assert_eq!(all.len(), 50);
        assert!(all.iter().all(|(number, data)| data == &vec![*number; 100]));
    }

    #[test]
    fn no_read_is_answered_before_its_time() {
        let (sender, arrivals) = channel();
        let (answered, answers) = channel();
        let at = Instant::now();
        let answer: Answer = Box::new(move |_| answered.send(at.elapsed()).unwrap());
        sender.send(Arrival { at, offset: 0, data: vec![0; 4096], answer }).unwrap();
        drop(sender);
        run(&arrivals, Parameters::of(Kind::Net).model(1 << 20), &Statistics::default());
        assert!(answers.recv().unwrap() >= Duration::from_micros(1016));
    }
}
