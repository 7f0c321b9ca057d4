//! What a handler may know and do at a stop.

use std::collections::{HashMap, VecDeque};
use std::io;

use coldstart_sys::time_stamp::monotonic_nanoseconds;
use coldstart_sys::tracing::{Argument, RemoteCall, Stop, Tracer};

/// The threads that are followed, and the means to ask and change those that stand still.
#[derive(Debug)]
pub struct Following {
    pub(crate) tracer: Tracer,
    /// Processes by thread: all threads that were seen alive and have not ended.
    pub(crate) threads: HashMap<u32, u32>,
    /// Stops that were met while something else was waited for.
    pub(crate) taken: VecDeque<(u32, Stop)>,
    /// When the stop was seen that is being handled.
    pub(crate) at: u64,
}

impl Following {
    pub(crate) fn new(tracer: Tracer) -> Self {
        Self { tracer, threads: HashMap::new(), taken: VecDeque::new(), at: monotonic_nanoseconds() }
    }

    /// The requests of ptrace.
    pub fn tracer(&self) -> &Tracer {
        &self.tracer
    }

    /// When the stop was seen that is being handled: `CLOCK_MONOTONIC` in nanoseconds.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// The process of a followed thread.
    pub fn process_of(&self, thread: u32) -> Option<u32> {
        self.threads.get(&thread).copied()
    }

    /// Whether any thread of a process is followed.
    pub(crate) fn is_followed(&self, process: u32) -> bool {
        self.threads.values().any(|&followed| followed == process)
    }

    /// Makes a call in a stopped thread's name. `None` if it could not be finished: the thread has ended, say.
    ///
    /// # Errors
    /// See [`RemoteCall::make`].
    pub fn call(&mut self, place: RemoteCall, thread: u32, call: &Argument) -> io::Result<Option<i64>> {
        let Some(registers) = self.tracer.registers(thread)? else { return Ok(None) };
        Ok(match place.make(&self.tracer, thread, &registers, call)? {
            Ok(result) => Some(result),
            Err(instead) => {
                self.taken.extend(instead.map(|stop| (thread, stop)));
                None
            }
        })
    }

    /// Lets a stopped thread run on without us. Nothing is told of it from now on, not even its end.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn let_go(&mut self, thread: u32) -> io::Result<()> {
        self.tracer.release(thread)?;
        self.threads.remove(&thread);
        Ok(())
    }
}
