//! The handler: called at each stop, it decides how to continue.

use std::process::ExitStatus;

use crate::births::Birth;
use crate::error::FollowError;
use crate::following::Following;

/// The stops besides signals, and the creation, replacement and end of processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stops {
    /// At no system call, unless [`Next::ToCall`] asks for the next one.
    Few,
    /// At the entry and exit of each system call.
    EachCall,
}

/// How a thread continues after a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next<E> {
    /// To its next stop.
    GoOn,
    /// To the entry or exit of its next system call, or any stop before.
    ToCall,
    /// To its next stop, with this signal delivered.
    Deliver(i32),
    /// It stays in its job-control stop until it is continued.
    LeaveStopped,
    /// Not at all: it has ended, or was detached.
    Nothing,
    /// Tracing ends here.
    End(E),
}

/// Interprets stops. State that outlasts a stop is the handler's own; threads and processes are listed by
/// [`Following`].
///
/// The named thread is stopped during the call and may be inspected and changed through [`Following::tracer`].
pub trait Handler {
    /// What a new thread or process inherits from its creator. Recorded at the creation, because the creator
    /// may have ended, or run another program, when the new one is first seen.
    type Heritage: Clone + Default;
    /// Why tracing ends while processes are left.
    type End;
    /// Why tracing cannot continue.
    type Error: From<FollowError>;

    /// The required stops.
    const STOPS: Stops;

    /// Called before each wait for a stop.
    ///
    /// # Errors
    /// End the tracing.
    fn between_stops(&mut self, following: &Following) -> Result<Option<Self::End>, Self::Error>;

    /// What a thread that this one is creating inherits.
    fn heritage(&self, thread: u32) -> Self::Heritage;

    /// A thread is seen for the first time, alive. Its first stop is reported right afterwards.
    ///
    /// # Errors
    /// See [`failed`](Self::failed).
    fn born(&mut self, following: &mut Following, birth: Birth<Self::Heritage>) -> Result<(), Self::Error>;

    /// A process has executed another program, and is stopped in its `execve`. This is its only remaining thread, which has the process's
    /// number now; `former` is its former TID, if that was another.
    ///
    /// # Errors
    /// See [`failed`](Self::failed).
    fn executes(
        &mut self,
        following: &mut Following,
        thread: u32,
        former: Option<u32>,
    ) -> Result<Next<Self::End>, Self::Error>;

    /// A thread is at the entry or exit of a system call.
    ///
    /// # Errors
    /// See [`failed`](Self::failed).
    fn at_call(&mut self, following: &mut Following, thread: u32) -> Result<Next<Self::End>, Self::Error>;

    /// A thread is about to receive a signal.
    ///
    /// # Errors
    /// See [`failed`](Self::failed).
    fn signalled(
        &mut self,
        following: &mut Following,
        thread: u32,
        signal: i32,
    ) -> Result<Next<Self::End>, Self::Error>;

    /// The entry of a filtered call ([`coldstart_sys::stop_filter`]).
    ///
    /// # Errors
    /// See [`failed`](Self::failed).
    fn filtered(&mut self, _following: &mut Following, _thread: u32) -> Result<Next<Self::End>, Self::Error> {
        Ok(Next::GoOn)
    }

    /// A thread is about to end, with its memory still there.
    fn exits(&mut self, _following: &mut Following, _thread: u32) {}

    /// A thread is stopped for the tracer only: it is new, was interrupted by us, or was continued after a job-control stop.
    fn paused(&mut self, _following: &mut Following, _thread: u32) {}

    /// A thread has ended; for a process's first thread, the process. It may never have been seen alive.
    fn ended(&mut self, following: &Following, thread: u32, status: ExitStatus) -> Option<Self::End>;

    /// Something failed at a stop of this thread.
    ///
    /// # Errors
    /// If tracing should end; else the thread continues as if nothing had been requested.
    fn failed(&mut self, following: &Following, thread: u32, error: Self::Error) -> Result<(), Self::Error>;
}
