//! Starting threads and processes that handle no signals.

use std::mem::MaybeUninit;
use std::ptr::null_mut;

/// Runs `work` with all signals blocked in the calling thread. A thread or process that it starts stays so.
pub(crate) fn with_signals_blocked<T>(work: impl FnOnce() -> T) -> T {
    let mut all = MaybeUninit::uninit();
    let mut before = MaybeUninit::uninit();
    // SAFETY: each call fills the set that it is given, or uses one that was filled; both are our own. With these arguments they cannot fail.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
    }
    let done = work();
    // SAFETY: the call above has filled the set.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), null_mut()) };
    done
}
