//! Ending the program also when this process is killed: a guardian outlives us, and finds our processes by a mark.
//!
//! Dropping a [`Tree`](crate::tree::Tree) ends the program after errors and panics. After SIGKILL nothing of ours runs.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use coldstart_sys::guardian::{ProcessGuardian, at_exit};
use coldstart_sys::process_mark::{HandingDown, ProcessMark};
use rustix::rand::{GetRandomFlags, getrandom};

/// The guardian of this process, never dropped: its pipe breaks when this process ends.
static STARTED: Mutex<Option<(Guard, ProcessGuardian)>> = Mutex::new(None);
/// Launches that may have left processes.
static COVERED: AtomicUsize = AtomicUsize::new(0);

/// The mark of all launches of this process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guard {
    mark: ProcessMark,
    process: u32,
}

impl Guard {
    /// The guard of this process. Its guardian is started by the first call: a fork that should precede all
    /// timing. `None` without `/proc`, which shows the mark; `coldstart doctor` explains the
    /// consequences.
    pub(crate) fn of_process() -> io::Result<Option<Self>> {
        let mut started = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((guard, _)) = &*started {
            return Ok(Some(*guard));
        }
        let mut random = [0; 8];
        getrandom(&mut random, GetRandomFlags::empty())?;
        let mark = ProcessMark::new(random);
        let guardian = match ProcessGuardian::start(mark) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            guardian => guardian?,
        };
        let guard = Self { mark, process: guardian.process() };
        *started = Some((guard, guardian));
        at_exit(dismiss)?;
        Ok(Some(guard))
    }

    /// The guardian's PID. It is a child of ours.
    pub(crate) fn process(self) -> u32 {
        self.process
    }

    /// Processes started while [`Covered::hand_down`] is in force are killed when this process ends.
    pub(crate) fn cover(self) -> Covered {
        COVERED.fetch_add(1, Ordering::SeqCst);
        Covered { mark: self.mark }
    }
}

/// A running launch.
#[derive(Debug)]
pub(crate) struct Covered {
    mark: ProcessMark,
}

impl Covered {
    /// Children started while the result is kept carry the mark. `None` in a sandbox that forbids it; then the
    /// program does not end with us.
    pub(crate) fn hand_down(&self) -> Option<HandingDown> {
        self.mark.hand_down()
    }
}

impl Drop for Covered {
    fn drop(&mut self) {
        COVERED.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A regular exit leaves nothing behind, not even the guardian. With a launch running in another thread, it is
/// left to do its work.
extern "C" fn dismiss() {
    let Ok(mut started) = STARTED.try_lock() else { return };
    if COVERED.load(Ordering::SeqCst) > 0 {
        return;
    }
    if let Some((_, guardian)) = started.take() {
        guardian.dismiss();
    }
}
