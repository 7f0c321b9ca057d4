//! The event loop: from stop to stop, until all threads have ended or the handler ends it.

use std::collections::{BTreeSet, VecDeque};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use coldstart_sys::time_stamp::monotonic_nanoseconds;
use coldstart_sys::tracing::{Event, Stop, Tracer, Waited};

use crate::births::{Birth, Births, Origin, Patience, Told};
use crate::error::FollowError;
use crate::following::Following;
use crate::handler::{Handler, Next, Stops};
use crate::kin::{self, Kin};

/// How to wait for stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// Blocking. [`Handler::between_stops`] is called after a signal to us, too.
    Blocking,
    /// Polling, so that the handler can end the tracing of sleeping programs. The interval is short while stops
    /// come.
    Polling,
}

/// This many unsuccessful polls come right after one another; then we sleep between them.
const BUSY_LOOKS: u32 = 300;
const SLEEP: Duration = Duration::from_micros(500);
/// How long a new thread is held.
const PATIENCE: Patience = Patience { in_doubt: Duration::from_secs(1), otherwise: Duration::from_secs(10) };

/// The cost of tracing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StopTimes {
    /// Stops that were handled.
    pub stops: u64,
    /// Time from each stop's notice to the thread's resumption, in nanoseconds.
    pub stopped: u64,
}

/// A traced program, with all its descendants.
#[derive(Debug)]
pub struct EventLoop<H: Handler> {
    following: Following,
    births: Births<H::Heritage>,
    /// Held threads that may be resumed from their stops.
    released: VecDeque<(u32, Stop)>,
    waiting: Waiting,
    vain_looks: u32,
    times: StopTimes,
    handler: H,
}

impl<H: Handler> EventLoop<H> {
    /// For a first process that has just been seized. Must be run by the seizing thread.
    pub fn new(tracer: Tracer, first: u32, waiting: Waiting, handler: H) -> Self {
        Self {
            following: Following::new(tracer),
            births: Births::of_first(first),
            released: VecDeque::new(),
            waiting,
            vain_looks: 0,
            times: StopTimes::default(),
            handler,
        }
    }

    /// Traces until all threads have ended, which gives `None`, or until the handler ends it.
    ///
    /// # Errors
    /// The handler's, and those of required requests. Processes may be left stopped then.
    pub fn run(&mut self) -> Result<Option<H::End>, H::Error> {
        loop {
            if let Some(end) = self.handler.between_stops(&self.following)? {
                return Ok(Some(end));
            }
            let (thread, stop, is_new) = match self.next_stop()? {
                Found::Nothing => continue,
                Found::AllGone => return Ok(None),
                Found::Held(thread, stop) => (thread, stop, false),
                Found::New(thread, stop) => (thread, stop, true),
            };
            self.following.at = monotonic_nanoseconds();
            self.times.stops = self.times.stops.saturating_add(u64::from(is_new));
            if let Some(end) = self.step(thread, stop)? {
                return Ok(Some(end));
            }
            let took = monotonic_nanoseconds().saturating_sub(self.following.at);
            self.times.stopped = self.times.stopped.saturating_add(took);
        }
    }

    /// Kills all remaining threads and waits for them, without calling the handler. Returns those still running after `limit`:
    /// a process in uninterruptible sleep dies when its I/O is done.
    ///
    /// # Errors
    /// If the kernel refuses to wait.
    pub fn kill_all(&mut self, limit: Duration) -> Result<Vec<u32>, FollowError> {
        let mut left: BTreeSet<u32> = self.following.threads.drain().map(|(thread, _)| thread).collect();
        left.extend(self.births.held());
        for &thread in &left {
            self.following.tracer.kill(thread);
        }
        let begin = Instant::now();
        self.vain_looks = 0;
        loop {
            match self.following.tracer.look().map_err(FollowError::to(WAIT))? {
                Waited::AllGone => return Ok(Vec::new()),
                Waited::Stopped(thread, Stop::Ended(_)) => _ = left.remove(&thread),
                Waited::Stopped(thread, _) => {
                    left.insert(thread);
                    self.following.tracer.kill(thread);
                }
                Waited::Nothing if begin.elapsed() >= limit => return Ok(left.into_iter().collect()),
                Waited::Nothing => self.pause(),
            }
        }
    }

    /// The handler, and the cost of tracing.
    pub fn into_parts(self) -> (H, StopTimes) {
        (self.handler, self.times)
    }

    fn next_stop(&mut self) -> Result<Found, H::Error> {
        if let Some((thread, stop)) = self.births.take_overdue(PATIENCE) {
            self.release(thread, stop, Origin::Orphan { heritage: H::Heritage::default() })?;
        }
        if let Some((thread, stop)) = self.released.pop_front() {
            return Ok(Found::Held(thread, stop));
        }
        if let Some((thread, stop)) = self.following.taken.pop_front() {
            return Ok(Found::New(thread, stop));
        }
        let tracer = &self.following.tracer;
        let polls = self.waiting == Waiting::Polling || self.births.are_held();
        let waited = if polls { tracer.look() } else { tracer.wait() };
        match waited.map_err(FollowError::to(WAIT))? {
            Waited::AllGone => Ok(Found::AllGone),
            Waited::Stopped(thread, stop) => {
                self.vain_looks = 0;
                Ok(Found::New(thread, stop))
            }
            Waited::Nothing => {
                if polls {
                    self.pause();
                }
                Ok(Found::Nothing)
            }
        }
    }

    fn pause(&mut self) {
        self.vain_looks = self.vain_looks.saturating_add(1);
        if self.vain_looks < BUSY_LOOKS {
            std::thread::yield_now();
        } else {
            std::thread::sleep(SLEEP);
        }
    }

    /// Handles a stop and resumes the thread.
    fn step(&mut self, thread: u32, stop: Stop) -> Result<Option<H::End>, H::Error> {
        let next = match self.meet(thread, stop) {
            Ok(next) => next,
            Err(error) => {
                self.handler.failed(&self.following, thread, error)?;
                match stop {
                    Stop::Ended(_) => Next::Nothing,
                    Stop::Signal(signal) => Next::Deliver(signal),
                    Stop::Group => Next::LeaveStopped,
                    Stop::Syscall | Stop::Event(_) | Stop::Pause => Next::GoOn,
                }
            }
        };
        // It is at another stop already, which is handled next.
        let is_elsewhere = self.following.taken.iter().any(|&(taken, _)| taken == thread);
        let tracer = &self.following.tracer;
        let gone_on = match (next, H::STOPS) {
            (Next::End(end), _) => return Ok(Some(end)),
            _ if is_elsewhere => Ok(()),
            (Next::Nothing, _) => Ok(()),
            (Next::LeaveStopped, _) => tracer.leave_stopped(thread),
            (Next::ToCall, _) | (Next::GoOn, Stops::EachCall) => tracer.resume(thread, 0),
            (Next::GoOn, Stops::Few) => tracer.run(thread, 0),
            (Next::Deliver(signal), Stops::EachCall) => tracer.resume(thread, signal),
            (Next::Deliver(signal), Stops::Few) => tracer.run(thread, signal),
        };
        gone_on.map_err(FollowError::to("resume a traced thread"))?;
        Ok(None)
    }

    fn meet(&mut self, thread: u32, stop: Stop) -> Result<Next<H::End>, H::Error> {
        if let Stop::Ended(status) = stop {
            return self.ended(thread, status);
        }
        // The first thread may have ended before another one took over its number with `execve`.
        let is_known = self.following.threads.contains_key(&thread) || stop == Stop::Event(Event::Exec);
        if !is_known && !self.newcomer(thread, stop)? {
            return Ok(Next::Nothing);
        }
        let following = &mut self.following;
        match stop {
            Stop::Event(event @ (Event::Fork | Event::Vfork | Event::Clone)) => {
                self.made(thread, event)?;
                Ok(Next::GoOn)
            }
            Stop::Event(Event::Exec) => self.executes(thread),
            Stop::Event(Event::Filtered) => self.handler.filtered(following, thread),
            Stop::Event(Event::Exit) => {
                self.handler.exits(following, thread);
                Ok(Next::GoOn)
            }
            Stop::Syscall => self.handler.at_call(following, thread),
            Stop::Signal(signal) => self.handler.signalled(following, thread, signal),
            Stop::Group => Ok(Next::LeaveStopped),
            Stop::Pause => {
                self.handler.paused(following, thread);
                Ok(Next::GoOn)
            }
            Stop::Event(Event::Other(_)) | Stop::Ended(_) => Ok(Next::GoOn),
        }
    }

    /// A thread created another one.
    fn made(&mut self, maker: u32, event: Event) -> Result<(), H::Error> {
        let message = self.following.tracer.event_message(maker);
        let Some(new) = message.map_err(FollowError::to("learn which thread was created"))? else { return Ok(()) };
        let Some(process) = self.following.process_of(maker) else { return Ok(()) };
        // Counted as an orphan before its creator reported it.
        if self.following.threads.contains_key(&new) {
            return Ok(());
        }
        let origin = Origin::Made { process, event, heritage: self.handler.heritage(maker) };
        match self.births.tell(new, origin, || kin::exists(new)) {
            Told::Stands(origin, stop) => self.release(new, stop, origin),
            Told::NotSeen | Told::IsGone => Ok(()),
        }
    }

    /// The first stop of a thread; returns whether it may be resumed.
    fn newcomer(&mut self, thread: u32, stop: Stop) -> Result<bool, H::Error> {
        match self.births.take_told(thread) {
            Some(origin) => {
                self.enter(thread, origin)?;
                Ok(true)
            }
            None => {
                self.births.wait(thread, stop, !self.has_followed_parent(thread));
                Ok(false)
            }
        }
    }

    /// Registers a held thread, which is resumed after the current stop.
    fn release(&mut self, thread: u32, stop: Stop, origin: Origin<H::Heritage>) -> Result<(), H::Error> {
        self.released.push_back((thread, stop));
        match self.enter(thread, origin) {
            Ok(()) => Ok(()),
            Err(error) => self.handler.failed(&self.following, thread, error),
        }
    }

    fn enter(&mut self, thread: u32, origin: Origin<H::Heritage>) -> Result<(), H::Error> {
        let process = match &origin {
            Origin::First => thread,
            Origin::Made { process, .. } if kin::is_thread_of(*process, thread) => *process,
            Origin::Made { .. } => thread,
            Origin::Orphan { .. } => Kin::of(thread).map_or(thread, |kin| kin.process),
        };
        self.following.threads.insert(thread, process);
        self.handler.born(&mut self.following, Birth { thread, process, origin })
    }

    /// Whether a possible creator of a thread is traced: another thread of its process, or its parent. With `CLONE_PARENT` its parent is
    /// the creator's parent, which need not be traced.
    fn has_followed_parent(&self, new: u32) -> bool {
        let Some(Kin { process, parent }) = Kin::of(new) else { return false };
        self.following.is_followed(if process == new { parent } else { process })
    }

    /// A process executes another program: its other threads have ended, and the caller has the process's number now.
    fn executes(&mut self, thread: u32) -> Result<Next<H::End>, H::Error> {
        let message = self.following.tracer.event_message(thread);
        let message = message.map_err(FollowError::to("learn which thread called execve"))?;
        let former = message.filter(|&former| former != thread);
        let heritage = self.handler.heritage(former.unwrap_or(thread));
        if let Some(former) = former {
            self.following.threads.remove(&former);
        }
        self.following.threads.insert(thread, thread);
        let next = self.handler.executes(&mut self.following, thread, former)?;
        // Its other threads cannot report any more.
        self.release_orphans(&heritage, |_, new| Kin::of(new).is_some_and(|kin| kin.parent == thread))?;
        Ok(next)
    }

    fn ended(&mut self, thread: u32, status: ExitStatus) -> Result<Next<H::End>, H::Error> {
        let is_known = self.following.threads.contains_key(&thread);
        let heritage = if is_known { self.handler.heritage(thread) } else { H::Heritage::default() };
        let end = self.handler.ended(&self.following, thread, status);
        self.following.threads.remove(&thread);
        self.births.ended(thread, is_known);
        if let Some(end) = end {
            return Ok(Next::End(end));
        }
        // A thread whose creator was killed before its report would wait for ever.
        self.release_orphans(&heritage, |this, new| !this.has_followed_parent(new))?;
        Ok(Next::Nothing)
    }

    fn release_orphans(
        &mut self,
        heritage: &H::Heritage,
        is_orphan: impl Fn(&Self, u32) -> bool,
    ) -> Result<(), H::Error> {
        let orphans: BTreeSet<u32> = self.births.held().filter(|&new| is_orphan(self, new)).collect();
        for (orphan, stop) in self.births.take_orphans(|new| orphans.contains(&new)) {
            self.release(orphan, stop, Origin::Orphan { heritage: heritage.clone() })?;
        }
        Ok(())
    }
}

const WAIT: &str = "wait for the program";

/// What a look for the next stop gives.
enum Found {
    Nothing,
    AllGone,
    /// An earlier stop, of a held thread.
    Held(u32, Stop),
    New(u32, Stop),
}
