//! A thread that empties the rings before they overflow.
//!
//! It sleeps until the kernel reports a ring a quarter full. So the thread that follows the program may block at any
//! time, and a ring of half a megabyte, the most that the kernel grants without root, loses nothing.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};

use super::event::PerfEvent;
use super::ring::Ring;
use crate::plain_thread::PlainThread;

/// Limit for all rings together: 15 million faults. Later ones stay in the rings, and are counted as lost when those are full.
const MOST_BYTES: usize = 1 << 30;

/// The running thread. Dropping it stops it.
#[derive(Debug)]
pub(super) struct Collector {
    thread: Option<PlainThread<Vec<Vec<u8>>>>,
    stop: Arc<OwnedFd>,
}

impl Collector {
    /// Starts the thread for rings, each with the events that write into it; the first of them owns it.
    pub(super) fn start(rings: Vec<(Ring, Arc<[PerfEvent]>)>) -> io::Result<Self> {
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC)?);
        let told = Arc::clone(&stop);
        let thread = PlainThread::start(c"fault-recorder", move || collect(rings, &told))?;
        Ok(Self { thread: Some(thread), stop })
    }

    /// Stops the thread and hands over each ring's bytes.
    pub(super) fn finish(mut self) -> io::Result<Vec<Vec<u8>>> {
        self.end().unwrap_or_else(|| Err(io::ErrorKind::NotFound.into()))
    }

    fn end(&mut self) -> Option<io::Result<Vec<Vec<u8>>>> {
        let thread = self.thread.take()?;
        // An eventfd takes this unless it is at its limit, which one write is not.
        let _ = rustix::io::write(&*self.stop, &1u64.to_ne_bytes());
        Some(thread.join().map_err(|_| io::Error::other("the thread has panicked")))
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// Empties rings until it is stopped, and once more then.
fn collect(rings: Vec<(Ring, Arc<[PerfEvent]>)>, stop: &OwnedFd) -> Vec<Vec<u8>> {
    let mut rings: Vec<Collected> =
        rings.into_iter().map(|(ring, events)| Collected { ring, events, bytes: Vec::new(), is_over: false }).collect();
    let mut kept = 0;
    while !wait(&mut rings, stop, &mut kept) {}
    for collected in &mut rings {
        collected.drain(&mut kept);
    }
    rings.into_iter().map(|collected| collected.bytes).collect()
}

struct Collected {
    ring: Ring,
    events: Arc<[PerfEvent]>,
    bytes: Vec<u8>,
    /// All recorded processes have ended: the descriptor would be ready for ever.
    is_over: bool,
}

impl Collected {
    fn drain(&mut self, kept: &mut usize) {
        let before = self.bytes.len();
        self.ring.drain(&mut self.bytes, MOST_BYTES.saturating_sub(*kept));
        *kept = kept.saturating_add(self.bytes.len().saturating_sub(before));
    }
}

/// Waits once and empties what is ready; `true` when it is time to stop.
fn wait(rings: &mut [Collected], stop: &OwnedFd, kept: &mut usize) -> bool {
    let mut waits = vec![PollFd::new(stop, PollFlags::IN)];
    let open: Vec<usize> = (0..rings.len()).filter(|&at| rings.get(at).is_some_and(|ring| !ring.is_over)).collect();
    waits.extend(open.iter().filter_map(|&at| Some(PollFd::new(rings.get(at)?.events.first()?, PollFlags::IN))));
    match poll(&mut waits, None) {
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => return false,
        // Keep what was recorded: the rings are emptied once more.
        Err(_) => return true,
    }
    let answers: Vec<PollFlags> = waits.iter().map(PollFd::revents).collect();
    for (&at, answer) in open.iter().zip(answers.iter().skip(1)) {
        let Some(ring) = rings.get_mut(at).filter(|_| !answer.is_empty()) else { continue };
        ring.drain(kept);
        if answer.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
            ring.is_over = true;
            // Otherwise other processes would fill the ring, and records without room be counted as lost.
            for event in ring.events.iter() {
                let _ = event.disable();
            }
        }
    }
    answers.first().is_none_or(|answer| !answer.is_empty())
}
