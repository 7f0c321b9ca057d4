//! The page, served to this machine's browser until Ctrl-C.
//!
//! What a newcomer would not guess: who may read it is decided in `coldstart-http`; here is only what the browser may do with it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use coldstart_http::{Request, Server, Site, Status};
use coldstart_launch::Interrupt;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::error::{AppError, HintExt};
use crate::observer::Observer;

/// How long we wait for a descriptor to become free.
const PAUSE: Duration = Duration::from_millis(100);

/// A page that is being served.
pub struct Served {
    server: Server<Page>,
    address: String,
}

struct Page(Arc<[u8]>);

impl Site for Page {
    /// All of it is in the first answer.
    const IS_PERSISTENT: bool = false;
    /// The page itself says what it may do.
    const FIELDS: &'static [(&'static str, &'static str)] = &[
        ("Referrer-Policy", "no-referrer"),
        ("Cross-Origin-Opener-Policy", "same-origin"),
        ("X-Frame-Options", "DENY"),
    ];

    fn page(&self) -> Arc<[u8]> {
        Arc::clone(&self.0)
    }

    fn answer(&mut self, request: &Request<'_>, _now: Instant) -> Status {
        match (request.target, request.method) {
            ("", "GET" | "HEAD") => Status::Page,
            ("", _) => Status::MethodNotAllowed("GET, HEAD"),
            _ => Status::NotFound,
        }
    }
}

impl Served {
    /// Takes a free port of this machine.
    ///
    /// # Errors
    /// When there is none.
    pub fn begin(page: Vec<u8>) -> Result<Self, AppError> {
        let server = Server::new(Page(page.into()))
            .context("cannot serve the page on this machine")
            .hint(|| "write it to a file and open that: -o OUT.html")?;
        let address = server.url();
        Ok(Self { server, address })
    }

    /// The page's address.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Asks a browser to open the page; a note says if none could be asked.
    pub fn open(&self, observer: &dyn Observer) {
        if !opens(&self.address) {
            observer.note("no browser could be opened: open the address yourself");
        }
    }

    /// Serves until a signal comes: that is the normal end.
    ///
    /// # Errors
    /// When no more connections can be awaited.
    pub fn run(mut self, interrupt: &Interrupt) -> Result<(), AppError> {
        while interrupt.signal().is_none() {
            self.wait(interrupt).context("cannot serve the page any more")?;
            let now = Instant::now();
            let served = self.server.serve(now);
            self.server.close_overdue(now);
            if served.is_err() {
                // No descriptor or memory is free for a connection (accept(2)). That passes, but would wake us at once again.
                std::thread::sleep(PAUSE);
            }
        }
        Ok(())
    }

    /// Waits for browsers, for the time to close a connection, and for a signal.
    fn wait(&self, interrupt: &Interrupt) -> Result<(), Errno> {
        let deadline = self.server.next_deadline();
        let timeout = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        let mut awaited = [PollFd::new(&self.server, PollFlags::IN), PollFd::new(interrupt, PollFlags::IN)];
        match poll(&mut awaited, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Whether a browser was asked. Without a display, what opens addresses would look for a browser in a terminal.
fn opens(address: &str) -> bool {
    let has = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let displays = ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "WSL_DISTRO_NAME"];
    displays.iter().any(|name| has(name)) && open::that_detached(address).is_ok()
}
