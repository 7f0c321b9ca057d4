//! The page, served to this machine's browser until Ctrl-C.
//!
//! What a newcomer would not guess: any page in the browser may send requests to 127.0.0.1, and with a name of its own that it
//! lets point there (DNS rebinding) read the answers. So the address holds a random word, and requests by any other host's name
//! are refused.

mod answer;
mod connection;
mod request;

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use coldstart_launch::Interrupt;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::error::{AppError, HintExt};
use crate::observer::Observer;
use request::Address;

/// Bytes of the random word.
const WORD: usize = 16;
/// How often is looked for Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(100);
/// Connections at the same time, each with a thread. Browsers open six to one host.
const CONNECTIONS: usize = 64;

/// A page that is being served.
pub struct Served {
    listener: TcpListener,
    site: Arc<Site>,
    address: String,
}

/// What all connections share.
struct Site {
    address: Address,
    page: Vec<u8>,
}

impl Served {
    /// Takes a free port of this machine.
    ///
    /// # Errors
    /// When there is none.
    pub fn begin(page: Vec<u8>) -> Result<Self, AppError> {
        let listener = listen()
            .context("cannot serve the page on this machine")
            .hint(|| "write it to a file and open that: -o OUT.html")?;
        let at = listener.local_addr().context("cannot serve the page: the port is not known")?;
        let folder = format!("/{}/", random_word()?);
        let address = format!("http://{at}{folder}");
        Ok(Self { listener, site: Arc::new(Site { address: Address { at, folder }, page }), address })
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
    /// When no more connections can be taken.
    pub fn run(&self, interrupt: &Interrupt) -> Result<(), AppError> {
        while interrupt.signal().is_none() {
            if let Some(stream) = self.next().context("cannot serve the page any more")? {
                self.take(stream);
            }
        }
        Ok(())
    }

    /// The next connection, if one comes soon.
    fn next(&self) -> Result<Option<TcpStream>, std::io::Error> {
        let patience = Timespec::try_from(PATIENCE).unwrap_or_default();
        match poll(&mut [PollFd::new(&self.listener, PollFlags::IN)], Some(&patience)) {
            Ok(0) | Err(Errno::INTR) => return Ok(None),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        match self.listener.accept() {
            Ok((stream, _)) => Ok(Some(stream)),
            Err(error) if matches!(Errno::from_io_error(&error), Some(Errno::BADF | Errno::INVAL)) => Err(error),
            // The client has gone again.
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::ConnectionAborted) => Ok(None),
            // No descriptor is free, or the network had an error (accept(2)). That passes, but would wake us at once again.
            Err(_) => {
                std::thread::sleep(PATIENCE);
                Ok(None)
            }
        }
    }

    /// Answers by a thread of its own: who does not send or read must keep neither others from the page nor us from Ctrl-C.
    fn take(&self, stream: TcpStream) {
        // One of the site's owners is ourselves, and each of the others a connection.
        if Arc::strong_count(&self.site) > CONNECTIONS {
            return;
        }
        let site = Arc::clone(&self.site);
        // Without a thread the browser gets no answer, and asks again.
        let _ = std::thread::Builder::new().spawn(move || connection::serve(stream, &site));
    }
}

fn listen() -> std::io::Result<TcpListener> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    // A client may go between the poll and the accept, which then would wait for the next one.
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn random_word() -> Result<String, AppError> {
    let mut bytes = [0; WORD];
    let read = File::open("/dev/urandom").and_then(|mut random| random.read_exact(&mut bytes));
    read.context("cannot make an address that nobody can guess: /dev/urandom")?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Whether a browser was asked. Without a display, what opens addresses would look for a browser in a terminal.
fn opens(address: &str) -> bool {
    let has = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let displays = ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "WSL_DISTRO_NAME"];
    displays.iter().any(|name| has(name)) && open::that_detached(address).is_ok()
}
