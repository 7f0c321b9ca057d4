//! Connecting with a time limit.
//!
//! Pitfall: a connection to itself (see `port.rs`). A regular close would keep the port
//! occupied for a minute (TIME_WAIT), and the program could not listen there; so it is reset.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_linger;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};

/// Time limit for the other side to accept. When a server's queue is full, its kernel does not answer, and
/// a new attempt is made only after a second.
pub(super) fn answer_limit(address: SocketAddr) -> Duration {
    // The loopback interface answers at once, unless the machine is very busy; a container's address may be behind a bridge.
    Duration::from_millis(if address.ip().is_loopback() { 20 } else { 250 })
}

/// The result of an attempt to connect.
#[derive(Debug)]
pub(super) enum Connection {
    /// Accepted, non-blocking.
    Open(TcpStream),
    /// Pending.
    Pending(TcpStream),
    /// No listener, or unreachable.
    Refused,
}

impl Connection {
    /// Tries to connect, waiting for at most `patience`.
    ///
    /// # Errors
    /// Permanent errors only.
    pub(super) fn attempt(address: SocketAddr, patience: Duration) -> io::Result<Self> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = match socket_with(family, SocketType::STREAM, flags, None) {
            Ok(socket) => socket,
            Err(error) => return refused(error.into()),
        };
        let connected = connect(&socket, &address);
        let stream = TcpStream::from(socket);
        match connected {
            Ok(()) => Ok(checked(stream)),
            Err(Errno::INPROGRESS | Errno::INTR) => Self::proceed(stream, patience),
            Err(error) => refused(error.into()),
        }
    }

    /// Continues a pending attempt, waiting for at most `patience`.
    ///
    /// # Errors
    /// As [`attempt`](Self::attempt).
    pub(super) fn proceed(stream: TcpStream, patience: Duration) -> io::Result<Self> {
        let mut polled = [PollFd::new(&stream, PollFlags::OUT)];
        let patience = Timespec { tv_sec: 0, tv_nsec: i64::from(patience.subsec_nanos()) };
        match poll(&mut polled, Some(&patience)) {
            Ok(0) | Err(Errno::INTR) => return Ok(Self::Pending(stream)),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        match stream.take_error()? {
            None => Ok(checked(stream)),
            Some(error) => refused(error),
        }
    }
}

fn checked(stream: TcpStream) -> Connection {
    match (stream.local_addr(), stream.peer_addr()) {
        (Ok(ours), Ok(theirs)) if ours != theirs => Connection::Open(stream),
        (Ok(_), Ok(_)) => {
            // Failing that, it is closed regularly.
            let _ = set_socket_linger(&stream, Some(Duration::ZERO));
            Connection::Refused
        }
        // Reset since.
        _ => Connection::Refused,
    }
}

/// Out of descriptors or memory, or forbidden: waiting will not help. All other errors may be temporary.
fn refused(error: io::Error) -> io::Result<Connection> {
    const LASTING: [Errno; 4] = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];
    let is_lasting = error.kind() == ErrorKind::PermissionDenied
        || Errno::from_io_error(&error).is_some_and(|error| LASTING.contains(&error));
    if is_lasting { Err(error) } else { Ok(Connection::Refused) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    const PATIENCE: Duration = Duration::from_millis(900);

    #[test]
    fn a_listener_accepts_and_its_absence_refuses() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        assert!(matches!(Connection::attempt(address, PATIENCE).unwrap(), Connection::Open(_)));
        drop(listener);
        // A child that another test is just about to start listens until then.
        let mut attempts = (0..1000).map(|_| {
            std::thread::sleep(Duration::from_millis(1));
            Connection::attempt(address, PATIENCE).unwrap()
        });
        assert!(attempts.any(|attempt| matches!(attempt, Connection::Refused)));
    }

    #[test]
    fn a_connection_to_oneself_is_none_and_leaves_the_port_free() {
        use rustix::net::bind;
        let socket = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
        bind(&socket, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let stream = TcpStream::from(socket);
        let address = stream.local_addr().unwrap();
        connect(&stream, &address).unwrap();
        assert!(matches!(checked(stream), Connection::Refused));
        // As a server that does not set SO_REUSEADDR, which std's listener does.
        let socket = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
        bind(&socket, &address).unwrap();
    }
}
