//! A thread that follows the names of a start: the program waits at each call until it was looked at.

use std::io;
use std::process::Command;
use std::sync::mpsc::{Sender, channel};
use std::thread::{Builder, JoinHandle};

use coldstart_launch::LaunchError;
use coldstart_sys::syscall_observer::{PendingObserver, SyscallObserver, observe};

use crate::{NameLog, TraceError};

/// The thread, before and during a launch.
#[derive(Debug)]
pub struct NameFollower {
    send: Sender<io::Result<PendingObserver>>,
    thread: JoinHandle<Result<NameLog, TraceError>>,
}

impl NameFollower {
    /// Starts the thread. `follow` is [`NameLog::follow`] or [`NameLog::follow_all`].
    ///
    /// # Errors
    /// [`TraceError::Launch`] if no thread can be started.
    pub fn start(follow: fn(&SyscallObserver) -> Result<NameLog, TraceError>) -> Result<Self, TraceError> {
        let (send, receive) = channel::<io::Result<PendingObserver>>();
        let follow = move || match receive.recv().map(|pending| pending.and_then(PendingObserver::accept)) {
            Ok(Ok(observer)) => follow(&observer),
            Ok(Err(source)) => Err(TraceError::Names { source }),
            // The launch failed before there was a child; its own error says why.
            Err(_) => Ok(NameLog::default()),
        };
        let thread = Builder::new().spawn(follow).map_err(LaunchError::no_thread)?;
        Ok(Self { send, thread })
    }

    /// Has the child followed that this command will start.
    pub fn watch(&self, child: &mut Command) {
        self.send.send(observe(child)).ok();
    }

    /// The names, after the launch.
    ///
    /// # Errors
    /// Those of following.
    pub fn finish(self) -> Result<NameLog, TraceError> {
        drop(self.send);
        self.thread.join().unwrap_or_else(|_| Ok(NameLog::default()))
    }
}
