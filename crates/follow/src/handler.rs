//! What a handler is asked at each stop, and what it may answer.

use std::process::ExitStatus;

use crate::births::Birth;
use crate::error::FollowError;
use crate::following::Following;

/// At which stops threads stand still besides signals, and the making, replacing and ending of processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stops {
    /// At no system call, unless [`Next::ToCall`] asks for the next one.
    Few,
    /// At the entry and exit of each system call.
    EachCall,
}

/// How a thread goes on after a stop.
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
    /// Not at all: it has ended, or was let go.
    Nothing,
    /// Following ends here.
    End(E),
}

/// Decides what stops mean. All state that outlasts a stop is the handler's own; which threads and processes there are is told by
/// [`Following`].
///
/// The thread that a method names stands still during the call and may be asked and changed through [`Following::tracer`].
pub trait Handler {
    /// What a new thread or process takes over from the thread that made it. Kept from the moment of the making, because the maker
    /// may be gone, or run another program, when the new one is first seen.
    type Heritage: Clone + Default;
    /// Why following ends while processes are left.
    type End;
    /// Why following cannot go on.
    type Error: From<FollowError>;

    /// Where threads are stopped.
    const STOPS: Stops;

    /// Called before each wait for a stop.
    ///
    /// # Errors
    /// End the following.
    fn between_stops(&mut self, following: &Following) -> Result<Option<Self::End>, Self::Error>;

    /// What a thread that this one makes right now takes over from it.
    fn heritage(&self, thread: u32) -> Self::Heritage;

    /// A thread is seen for the first time, alive. Its first stop is told right afterwards.
    ///
    /// # Errors
    /// See [`failed`](Self::failed).
    fn born(&mut self, following: &mut Following, birth: Birth<Self::Heritage>) -> Result<(), Self::Error>;

    /// A process has begun another program, and stands within its `execve`. Of its threads this one is left, which has the process's
    /// number now; `former` is the one it had before, if that was another.
    ///
    /// # Errors
    /// See [`failed`](Self::failed).
    fn executes(
        &mut self,
        following: &mut Following,
        thread: u32,
        former: Option<u32>,
    ) -> Result<Next<Self::End>, Self::Error>;

    /// A thread stands at the entry or exit of a system call.
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

    /// A call that a filter sends to us is about to be made ([`coldstart_sys::stop_filter`]).
    ///
    /// # Errors
    /// See [`failed`](Self::failed).
    fn filtered(&mut self, _following: &mut Following, _thread: u32) -> Result<Next<Self::End>, Self::Error> {
        Ok(Next::GoOn)
    }

    /// A thread is about to end, with its memory still there.
    fn exits(&mut self, _following: &mut Following, _thread: u32) {}

    /// A thread stands still for us alone: it is new, was interrupted by us, or was continued after a job-control stop.
    fn paused(&mut self, _following: &mut Following, _thread: u32) {}

    /// A thread is gone; for a process's first thread, the process. It may be one that was never seen alive.
    fn ended(&mut self, following: &Following, thread: u32, status: ExitStatus) -> Option<Self::End>;

    /// Something failed at a stop of this thread.
    ///
    /// # Errors
    /// If following is to end; else the thread goes on as if nothing had been asked of it.
    fn failed(&mut self, following: &Following, thread: u32, error: Self::Error) -> Result<(), Self::Error>;
}
