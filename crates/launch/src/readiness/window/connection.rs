//! The connection to a display, with retries and a time limit.
//!
//! A server without `-noreset` (such as that of `xvfb-run`) resets when its last client disconnects, and drops
//! clients that connect in that moment. Consecutive measurements hit this again and again.

use std::io::{self, ErrorKind, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use x11rb::errors::{ConnectError, ConnectionError, ReplyError};
use x11rb::reexports::x11rb_protocol::parse_display::{ConnectAddress, ParsedDisplay, parse_display};
use x11rb::reexports::x11rb_protocol::xauth::{Family, get_auth};
use x11rb::rust_connection::{DefaultStream, PollMode, RustConnection, Stream};
use x11rb::utils::RawFdContainer;

use super::problem::DisplayError;

/// Time limit for a reply of the display. Another program may grab it (`GrabServer`) for a moment.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);
/// How long to retry a display that drops us: a reset takes a few milliseconds.
const RESET_LIMIT: Duration = Duration::from_secs(2);
const RESET_INTERVAL: Duration = Duration::from_millis(20);

pub(super) type XConnection = RustConnection<LimitedStream>;

/// Connects to a display, and has `first_requests` made there.
pub(super) fn open<T>(
    display: &str,
    first_requests: &dyn Fn(&XConnection) -> Result<T, ConnectionError>,
) -> Result<(XConnection, T), DisplayError> {
    let parsed = parse_display(Some(display)).map_err(|_| DisplayError::Name { display: display.to_owned() })?;
    let begin = Instant::now();
    loop {
        let attempt = connect(&parsed).and_then(|connection| {
            let answers = first_requests(&connection).map_err(|error| ConnectError::IoError(as_io(error)))?;
            Ok((connection, answers))
        });
        match attempt {
            Err(ConnectError::IoError(error)) if was_dropped(&error) && begin.elapsed() < RESET_LIMIT => {
                std::thread::sleep(RESET_INTERVAL);
            }
            attempt => return attempt.map_err(|error| refusal(display, error)),
        }
    }
}

fn connect(display: &ParsedDisplay) -> Result<XConnection, ConnectError> {
    let mut first_error = None;
    for address in display.connect_instruction() {
        let (stream, (family, address)) = match reach(&address) {
            Ok(reached) => reached,
            Err(error) => {
                first_error.get_or_insert(error);
                continue;
            }
        };
        // Without a cookie the server may still accept our user ID.
        let (name, data) = get_auth(family, &address, display.display).ok().flatten().unwrap_or_default();
        let screen = usize::from(display.screen);
        return RustConnection::connect_to_stream_with_auth_info(LimitedStream(stream), screen, name, data);
    }
    Err(first_error.unwrap_or_else(|| ErrorKind::AddrNotAvailable.into()).into())
}

/// The stream, and what its cookie is found by.
fn reach(address: &ConnectAddress<'_>) -> io::Result<(DefaultStream, (Family, Vec<u8>))> {
    match address {
        ConnectAddress::Socket(path) => {
            let stream = UnixStream::connect(path).or_else(|error| {
                // Servers also listen at an abstract name, and Xlib tries that first: with a /tmp other than the
                // server's only that works.
                UnixStream::connect_addr(&SocketAddr::from_abstract_name(path)?).map_err(|_| error)
            })?;
            DefaultStream::from_unix_stream(stream)
        }
        host => DefaultStream::connect(host),
    }
}

fn was_dropped(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)
}

fn refusal(display: &str, error: ConnectError) -> DisplayError {
    let display = display.to_owned();
    let words = |reason: &[u8]| String::from_utf8_lossy(reason).trim().to_owned();
    match error {
        ConnectError::SetupFailed(failed) => DisplayError::Refused { display, reason: words(&failed.reason) },
        ConnectError::SetupAuthenticate(more) => DisplayError::Refused { display, reason: words(&more.reason) },
        ConnectError::IoError(source) => DisplayError::Unreachable { display, source },
        ConnectError::InvalidScreen => {
            DisplayError::Unreachable { display, source: io::Error::new(ErrorKind::NotFound, "it has no such screen") }
        }
        other => DisplayError::Unreachable { display, source: io::Error::new(ErrorKind::InvalidData, other) },
    }
}

/// The display failed during use.
pub(super) fn lost(display: &str, error: ConnectionError) -> DisplayError {
    DisplayError::Lost { display: display.to_owned(), source: as_io(error) }
}

fn as_io(error: ConnectionError) -> io::Error {
    match error {
        ConnectionError::IoError(error) if error.kind() == ErrorKind::UnexpectedEof => {
            io::Error::new(ErrorKind::UnexpectedEof, "its server closed the connection")
        }
        ConnectionError::IoError(error) => error,
        other => io::Error::new(ErrorKind::InvalidData, other),
    }
}

/// The reply; `None` when the display replies with an error, as it does for destroyed windows.
pub(super) fn or_gone<T>(answer: Result<T, ReplyError>) -> Result<Option<T>, ConnectionError> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(ReplyError::X11Error(_)) => Ok(None),
        Err(ReplyError::ConnectionError(error)) => Err(error),
    }
}

/// A stream with a time limit: a display that hangs must not keep us from our own time limit for long.
#[derive(Debug)]
pub(super) struct LimitedStream(DefaultStream);

impl AsFd for LimitedStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Stream for LimitedStream {
    fn poll(&self, mode: PollMode) -> io::Result<()> {
        let mut wanted = PollFlags::empty();
        wanted.set(PollFlags::IN, mode.readable());
        wanted.set(PollFlags::OUT, mode.writable());
        let deadline = Instant::now() + ANSWER_LIMIT;
        loop {
            let left = Timespec::try_from(deadline.saturating_duration_since(Instant::now())).ok();
            match poll(&mut [PollFd::new(self, wanted)], left.as_ref()) {
                Ok(0) => {
                    let words = format!("its server did not answer for {} s", ANSWER_LIMIT.as_secs());
                    return Err(io::Error::new(ErrorKind::TimedOut, words));
                }
                Ok(_) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn read(&self, buffer: &mut [u8], descriptors: &mut Vec<RawFdContainer>) -> io::Result<usize> {
        self.0.read(buffer, descriptors)
    }

    fn write(&self, buffer: &[u8], descriptors: &mut Vec<RawFdContainer>) -> io::Result<usize> {
        self.0.write(buffer, descriptors)
    }

    fn write_vectored(&self, buffers: &[IoSlice<'_>], descriptors: &mut Vec<RawFdContainer>) -> io::Result<usize> {
        self.0.write_vectored(buffers, descriptors)
    }
}
