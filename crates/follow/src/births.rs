//! New threads and processes: the creator's report and the new thread's first stop, in either order.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use coldstart_sys::tracing::{Event, Stop};

/// A thread seen for the first time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Birth<H> {
    /// Its TID.
    pub thread: u32,
    /// Its PID: the same number if the process is new.
    pub process: u32,
    /// Its origin.
    pub origin: Origin<H>,
}

/// The origin of a new thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin<H> {
    /// It is the first process.
    First,
    /// Created by a thread.
    Made {
        /// The process of that thread.
        process: u32,
        /// The kind of call.
        event: Event,
        /// What it inherits from that thread.
        heritage: H,
    },
    /// Its creator was killed before reporting it.
    Orphan {
        /// What it would inherit from the thread that ended last, the likely creator; the default if none has ended.
        heritage: H,
    },
}

/// New threads for which only one of the two events has been seen.
#[derive(Debug)]
pub(crate) struct Births<H> {
    /// Its creator has reported it.
    told: HashMap<u32, Origin<H>>,
    /// The new thread is stopped; its creator has not reported it.
    waiting: HashMap<u32, Held>,
    /// The new thread was killed before its creator reported it.
    stillborn: HashSet<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    stop: Stop,
    since: Instant,
    /// Whether a report is doubtful.
    is_in_doubt: bool,
}

/// How long a new thread is held for its creator's report. A creator stops right after the call, so only a machine under heavy load needs more than a
/// few milliseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// If no possible creator is traced.
    pub(crate) in_doubt: Duration,
    /// If one is. It may have ended all the same: of a process whose first thread has ended, that thread is known until all others have ended.
    pub(crate) otherwise: Duration,
}

/// What to do after a creator's stop.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Told<H> {
    /// The new thread is already stopped, at this stop.
    Stands(Origin<H>, Stop),
    /// It has not been seen.
    NotSeen,
    /// It was seen to end.
    IsGone,
}

impl<H> Births<H> {
    /// No thread is known but the first process, of which no stop has been seen.
    pub(crate) fn of_first(first: u32) -> Self {
        let told = HashMap::from([(first, Origin::First)]);
        Self { told, waiting: HashMap::new(), stillborn: HashSet::new() }
    }

    /// A creator reports. `exists` returns whether a thread with that TID exists: it may have been reused since a thread died with it.
    pub(crate) fn tell(&mut self, new: u32, origin: Origin<H>, exists: impl FnOnce() -> bool) -> Told<H> {
        if self.stillborn.remove(&new) && !exists() {
            return Told::IsGone;
        }
        match self.waiting.remove(&new) {
            Some(held) => Told::Stands(origin, held.stop),
            None => {
                self.told.insert(new, origin);
                Told::NotSeen
            }
        }
    }

    /// The report about a thread that is seen now.
    pub(crate) fn take_told(&mut self, new: u32) -> Option<Origin<H>> {
        self.told.remove(&new)
    }

    /// A thread is stopped without a report. A report is doubtful if its parent is not traced.
    pub(crate) fn wait(&mut self, new: u32, stop: Stop, is_in_doubt: bool) {
        self.waiting.insert(new, Held { stop, since: Instant::now(), is_in_doubt });
    }

    /// Whether any thread is held.
    pub(crate) fn are_held(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Takes one that has been held for so long.
    pub(crate) fn take_overdue(&mut self, patience: Patience) -> Option<(u32, Stop)> {
        let longest = |held: &Held| if held.is_in_doubt { patience.in_doubt } else { patience.otherwise };
        let is_overdue = |held: &Held| held.since.elapsed() >= longest(held);
        let thread = self.waiting.iter().find_map(|(&thread, held)| is_overdue(held).then_some(thread))?;
        self.waiting.remove(&thread).map(|held| (thread, held.stop))
    }

    /// A thread has ended. Its TID may be reused.
    pub(crate) fn ended(&mut self, thread: u32, was_known: bool) {
        self.waiting.remove(&thread);
        if self.told.remove(&thread).is_none() && !was_known {
            self.stillborn.insert(thread);
        }
    }

    /// Takes those without any creator left to report them, by TID, with their stops.
    pub(crate) fn take_orphans(&mut self, is_orphan: impl Fn(u32) -> bool) -> Vec<(u32, Stop)> {
        let orphans = self.waiting.extract_if(|&thread, _| is_orphan(thread));
        let mut orphans: Vec<_> = orphans.map(|(thread, held)| (thread, held.stop)).collect();
        orphans.sort_unstable_by_key(|&(thread, _)| thread);
        orphans
    }

    /// Those that are held.
    pub(crate) fn held(&self) -> impl Iterator<Item = u32> {
        self.waiting.keys().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(heritage: char) -> Origin<char> {
        Origin::Made { process: 1, event: Event::Fork, heritage }
    }

    #[test]
    fn the_two_sides_come_in_any_order() {
        let mut births = Births::of_first(1);
        assert_eq!(births.take_told(1), Some(Origin::First));
        assert_eq!(births.tell(2, made('a'), || true), Told::NotSeen);
        assert_eq!(births.take_told(2), Some(made('a')));
        assert_eq!(births.take_told(3), None);
        births.wait(3, Stop::Pause, false);
        assert_eq!(births.held().collect::<Vec<_>>(), [3]);
        assert_eq!(births.tell(3, made('b'), || true), Told::Stands(made('b'), Stop::Pause));
        assert_eq!((births.take_told(3), births.held().count()), (None, 0));
    }

    #[test]
    fn one_that_died_before_it_was_told_of_is_not_waited_for() {
        let mut births = Births::of_first(1);
        births.ended(2, false);
        assert_eq!(births.tell(2, made('a'), || false), Told::IsGone);
        // The number is somebody else's by now.
        births.ended(3, false);
        assert_eq!(births.tell(3, made('b'), || true), Told::NotSeen);
        // It was told of, and ended before it was seen.
        births.ended(3, false);
        assert_eq!(births.tell(3, made('c'), || true), Told::NotSeen);
        // One that was seen alive leaves nothing behind.
        births.ended(4, true);
        assert_eq!(births.tell(4, made('d'), || false), Told::NotSeen);
        births.wait(5, Stop::Pause, false);
        births.ended(5, false);
        assert_eq!(births.held().count(), 0);
        assert_eq!(births.tell(5, made('e'), || false), Told::IsGone);
    }

    #[test]
    fn orphans_are_taken_once() {
        let mut births: Births<char> = Births::of_first(1);
        for thread in [4, 2, 3] {
            births.wait(thread, Stop::Pause, false);
        }
        assert_eq!(births.take_orphans(|thread| thread != 3), [(2, Stop::Pause), (4, Stop::Pause)]);
        assert_eq!(births.held().collect::<Vec<_>>(), [3]);
    }

    #[test]
    fn nobody_is_held_for_ever() {
        let at_once = |in_doubt, otherwise| {
            let time = |is_over| if is_over { Duration::ZERO } else { Duration::MAX };
            Patience { in_doubt: time(in_doubt), otherwise: time(otherwise) }
        };
        let mut births: Births<char> = Births::of_first(1);
        assert!(!births.are_held());
        births.wait(2, Stop::Pause, false);
        births.wait(3, Stop::Group, true);
        assert_eq!(births.take_overdue(at_once(false, false)), None);
        assert_eq!(births.take_overdue(at_once(true, false)), Some((3, Stop::Group)));
        assert_eq!(births.take_overdue(at_once(true, false)), None);
        assert!(births.are_held());
        assert_eq!(births.take_overdue(at_once(false, true)), Some((2, Stop::Pause)));
        assert!(!births.are_held());
    }
}
