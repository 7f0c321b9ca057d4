//! A thread that the C library starts, without Rust's.
//!
//! Rust's library holds a lock of its own while a thread starts (`THREAD_INFO` in `std/src/sys/pal/unix/stack_overflow.rs`). A process that is
//! forked at that moment inherits the lock, and threads that it starts by `std::thread` wait for it for ever. The C library makes its own
//! locks usable again in the child (`reclaim_stacks` and `__libc_fork` of glibc, `fork` of musl).

use std::any::Any;
use std::ffi::CStr;
use std::io;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;

use crate::blocked_signals::with_signals_blocked;

/// For work that calls little; musl's own default is half of it.
const STACK: usize = 256 << 10;

/// A thread that runs. Dropping it waits for its end.
#[derive(Debug)]
pub(crate) struct PlainThread<T> {
    /// Until it was joined.
    thread: Option<libc::pthread_t>,
    result: PhantomData<T>,
}

// SAFETY: any thread may join a thread (`pthread_t` is a pointer with musl, and a number with glibc), and takes the result over then.
unsafe impl<T: Send> Send for PlainThread<T> {}

/// How the work ended: its result, or what it panicked with.
type Ended<T> = Result<T, Box<dyn Any + Send>>;

/// What the new thread is given.
struct Task<W> {
    name: &'static CStr,
    work: W,
}

impl<T: Send + 'static> PlainThread<T> {
    /// Starts a thread that handles no signals. `name` is cut after 15 bytes by the kernel.
    ///
    /// # Errors
    /// Those of `pthread_create`: `EAGAIN` at a limit of processes or of memory.
    pub(crate) fn start<W: FnOnce() -> T + Send + 'static>(name: &'static CStr, work: W) -> io::Result<Self> {
        let task = Box::into_raw(Box::new(Task { name, work }));
        let mut thread = MaybeUninit::uninit();
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: the calls fill what they are given, all our own. The new thread becomes the owner of the task; what `run` expects of it
        // is what was just made.
        let error = with_signals_blocked(|| unsafe {
            libc::pthread_attr_init(attributes.as_mut_ptr());
            libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), STACK);
            let error = libc::pthread_create(thread.as_mut_ptr(), attributes.as_ptr(), run::<W, T>, task.cast());
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
            error
        });
        if error != 0 {
            // SAFETY: no thread was started, so the task is still ours.
            drop(unsafe { Box::from_raw(task) });
            return Err(io::Error::from_raw_os_error(error));
        }
        // SAFETY: `pthread_create` fills it when it succeeds.
        Ok(Self { thread: Some(unsafe { thread.assume_init() }), result: PhantomData })
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// What the work panicked with.
    pub(crate) fn join(mut self) -> Ended<T> {
        self.end().unwrap_or_else(|| Err(Box::new("the thread was joined before")))
    }
}

impl<T> PlainThread<T> {
    fn end(&mut self) -> Option<Ended<T>> {
        let mut result = null_mut();
        // SAFETY: the thread was started and is joined once, because `take` leaves nothing.
        if unsafe { libc::pthread_join(self.thread.take()?, &raw mut result) } != 0 || result.is_null() {
            return None;
        }
        // SAFETY: `run` returns such a box, and nothing else knows of it.
        Some(*unsafe { Box::from_raw(result.cast::<Ended<T>>()) })
    }
}

impl<T> Drop for PlainThread<T> {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// The new thread. A panic must not unwind into the C library.
extern "C" fn run<W: FnOnce() -> T, T>(task: *mut libc::c_void) -> *mut libc::c_void {
    // SAFETY: `start` passes the ownership of such a box.
    let task = unsafe { Box::from_raw(task.cast::<Task<W>>()) };
    // A thread without a name works as well.
    let _ = rustix::thread::set_name(task.name);
    Box::into_raw(Box::new(catch_unwind(AssertUnwindSafe(task.work)))).cast()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use super::*;
    use crate::beside::start_worker;
    use crate::detached::end_after;

    #[test]
    fn the_result_and_the_name_are_those_of_the_work() {
        let thread = PlainThread::start(c"a-name", || rustix::thread::name().unwrap()).unwrap();
        assert_eq!(thread.join().unwrap().as_c_str(), c"a-name");
    }

    #[test]
    fn a_panic_is_handed_over() {
        let thread = PlainThread::start(c"panics", || std::panic::resume_unwind(Box::new("on purpose"))).unwrap();
        let panic: Ended<()> = thread.join();
        assert_eq!(panic.unwrap_err().downcast_ref(), Some(&"on purpose"));
    }

    #[test]
    fn signals_are_left_to_other_threads() {
        let blocked = || {
            let mut set = MaybeUninit::uninit();
            // SAFETY: the call fills the set.
            unsafe {
                libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), set.as_mut_ptr());
                libc::sigismember(set.as_ptr(), libc::SIGTERM)
            }
        };
        assert_eq!(PlainThread::start(c"signals", blocked).unwrap().join().unwrap(), 1);
        assert_eq!(blocked(), 0);
    }

    /// With `std::thread` in the worker, one of some eight thousand hangs here.
    #[test]
    fn it_starts_in_a_process_forked_while_threads_start() {
        const FORKS: usize = 2000;
        let is_over = AtomicBool::new(false);
        let worker = || {
            let worker = start_worker(&[], |_| {
                // Kills the worker where its thread waits for ever.
                end_after(Duration::from_secs(60));
                PlainThread::start(c"in-a-worker", || vec![7]).unwrap().join().unwrap()
            });
            worker.and_then(crate::beside::Worker::result).is_ok_and(|bytes| bytes == [7])
        };
        let worked = std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        let _ = std::thread::spawn(|| ()).join();
                    }
                });
            }
            let worked = (0..FORKS).take_while(|_| worker()).count();
            is_over.store(true, Ordering::Relaxed);
            worked
        });
        assert_eq!(worked, FORKS);
    }
}
