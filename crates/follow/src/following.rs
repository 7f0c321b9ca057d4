//! The handler's interface to traced threads.

use std::collections::{HashMap, VecDeque};
use std::io;

use coldstart_sys::time_stamp::monotonic_nanoseconds;
use coldstart_sys::tracing::{Argument, RemoteCall, Stop, Tracer};

/// The traced threads, and the means to inspect and change stopped ones.
#[derive(Debug)]
pub struct Following {
    pub(crate) tracer: Tracer,
    /// Processes by thread: all threads that were seen alive and have not ended.
    pub(crate) threads: HashMap<u32, u32>,
    /// Stops that occurred while waiting for something else.
    pub(crate) taken: VecDeque<(u32, Stop)>,
    /// When the current stop was seen.
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

    /// When the current stop was seen: `CLOCK_MONOTONIC` in nanoseconds.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// The process of a traced thread.
    pub fn process_of(&self, thread: u32) -> Option<u32> {
        self.threads.get(&thread).copied()
    }

    /// Whether any thread of a process is traced.
    pub(crate) fn is_followed(&self, process: u32) -> bool {
        self.threads.values().any(|&followed| followed == process)
    }

    /// Injects a call into a stopped thread. `None` if it could not be finished, for example because the thread has ended.
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

    /// Detaches from a stopped thread. Nothing is reported about it from now on, not even its end.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn let_go(&mut self, thread: u32) -> io::Result<()> {
        self.tracer.release(thread)?;
        self.threads.remove(&thread);
        Ok(())
    }
}
