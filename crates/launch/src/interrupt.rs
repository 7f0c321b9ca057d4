//! Ctrl-C and similar signals, as a descriptor that can be polled together with a program's end.
//!
//! Installed handlers cannot be removed safely (another library may have chained to them), so they are
//! installed once; when the last [`Interrupt`] is dropped they fall back to each signal's default action.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use coldstart_host::process::ProcessFiles;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

/// While one is held, SIGINT, SIGTERM, SIGHUP and SIGQUIT do not end this process but are recorded here.
///
/// Clones share the record. A signal that was ignored when the process started (`nohup`) stays ignored.
#[derive(Clone, Debug)]
pub struct Interrupt(Arc<Listening>);

#[derive(Debug)]
struct Listening {
    handlers: Arc<Handlers>,
}

/// What the signal handlers write to; lives as long as the process.
#[derive(Debug)]
struct Handlers {
    /// True while there is no listener: signals then take their default action.
    default_action: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
    wake: UnixStream,
    /// The other end of `wake`, which is readable once all of them are closed.
    notify: UnixStream,
}

struct Installed {
    handlers: Option<Arc<Handlers>>,
    listening: Weak<Listening>,
}

static INSTALLED: Mutex<Installed> = Mutex::new(Installed { handlers: None, listening: Weak::new() });

impl Interrupt {
    /// Starts recording signals, or joins existing listeners.
    ///
    /// # Errors
    /// When no descriptor can be created, or a handler cannot be installed.
    pub fn listen() -> io::Result<Self> {
        let mut installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(listening) = installed.listening.upgrade() {
            return Ok(Self(listening));
        }
        let handlers = match &installed.handlers {
            Some(handlers) => Arc::clone(handlers),
            None => {
                let handlers = Arc::new(install()?);
                installed.handlers = Some(Arc::clone(&handlers));
                handlers
            }
        };
        handlers.default_action.store(false, Ordering::SeqCst);
        handlers.signal.store(0, Ordering::SeqCst);
        let listening = Arc::new(Listening { handlers });
        installed.listening = Arc::downgrade(&listening);
        let interrupt = Self(listening);
        interrupt.drain();
        Ok(interrupt)
    }

    /// Never interrupted: for a process whose signals are somebody else's, such as an interpreter's.
    ///
    /// # Errors
    /// When no descriptor can be created.
    pub fn never() -> io::Result<Self> {
        Ok(Self(Arc::new(Listening { handlers: Arc::new(Handlers::new()?) })))
    }

    /// The number of the last recorded signal, if any. Kept until the last holder is dropped: an interrupted command must
    /// not start another run.
    pub fn signal(&self) -> Option<i32> {
        i32::try_from(self.0.handlers.signal.load(Ordering::SeqCst)).ok().filter(|&signal| signal != 0)
    }

    /// Empties the descriptor, so that it becomes readable only at the next signal.
    pub(crate) fn drain(&self) {
        let mut buffer = [0; 64];
        while matches!((&self.0.handlers.wake).read(&mut buffer), Ok(count) if count > 0) {}
    }
}

/// Readable once a signal came.
impl AsFd for Interrupt {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.handlers.wake.as_fd()
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.handlers.default_action.store(true, Ordering::SeqCst);
    }
}

impl Handlers {
    fn new() -> io::Result<Self> {
        let (wake, notify) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        let default_action = Arc::new(AtomicBool::new(true));
        Ok(Self { default_action, signal: Arc::new(AtomicUsize::new(0)), wake, notify })
    }
}

fn install() -> io::Result<Handlers> {
    let handlers = Handlers::new()?;
    let status = ProcessFiles::own().status();
    for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
        if status.has_signal("SigIgn", number) {
            continue;
        }
        // In this order: the default action ends the process before anything else is noted.
        signal_hook::flag::register_conditional_default(number, Arc::clone(&handlers.default_action))?;
        signal_hook::flag::register_usize(number, Arc::clone(&handlers.signal), usize::try_from(number).unwrap_or(0))?;
        signal_hook::low_level::pipe::register(number, handlers.notify.try_clone()?)?;
    }
    Ok(handlers)
}
