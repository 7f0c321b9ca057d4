//! Ready when a TCP port accepts connections: for servers.
//!
//! Pitfall: an attempt to connect to a port from the range of ephemeral ports may pick that very port as its
//! own and connect to itself (TCP's simultaneous open), with no server anywhere.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::net::sockopt::set_socket_linger;

use super::{Look, Watch};
use crate::error::LaunchError;

/// Bounds the error of the measured time. An attempt takes some 20 us, so we use about 2 % of one processor.
const INTERVAL: Duration = Duration::from_millis(1);
/// The loopback interface answers at once, unless the server's queue is full.
const ANSWER_LIMIT: Duration = Duration::from_millis(1);
/// Before the launch nothing is timed yet, and on a busy machine the answer of a port in use may come late.
const EARLIER_ANSWER_LIMIT: Duration = Duration::from_millis(250);

pub(crate) struct PortWatch {
    addresses: [SocketAddr; 2],
}

impl PortWatch {
    pub(crate) fn new(port: u16) -> Self {
        let at = |address: IpAddr| SocketAddr::new(address, port);
        Self { addresses: [at(Ipv4Addr::LOCALHOST.into()), at(Ipv6Addr::LOCALHOST.into())] }
    }

    fn accepting(&self, limit: Duration) -> Result<Option<SocketAddr>, LaunchError> {
        for address in self.addresses {
            match TcpStream::connect_timeout(&address, limit) {
                Ok(stream) if stream.local_addr().is_ok_and(|ours| ours != address) => return Ok(Some(address)),
                // A regular close would keep the port occupied (TIME_WAIT) for the program.
                Ok(itself) => {
                    let _ = set_socket_linger(&itself, Some(Duration::ZERO));
                }
                // Out of descriptors, or forbidden: waiting will not help.
                Err(error) if error.raw_os_error().is_some_and(is_lasting) => {
                    return Err(LaunchError::system("try to connect to the program's port", error));
                }
                Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                    return Err(LaunchError::system("try to connect to the program's port", error));
                }
                Err(_) => {}
            }
        }
        Ok(None)
    }
}

fn is_lasting(errno: i32) -> bool {
    use rustix::io::Errno;
    [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM].iter().any(|lasting| lasting.raw_os_error() == errno)
}

impl Watch for PortWatch {
    fn prepare(&mut self, _command: &mut Command) -> Result<(), LaunchError> {
        match self.accepting(EARLIER_ANSWER_LIMIT)? {
            Some(address) => Err(LaunchError::PortInUse { address }),
            None => Ok(()),
        }
    }

    fn interval(&self) -> Option<Duration> {
        Some(INTERVAL)
    }

    fn look(&mut self, _look: Look<'_>) -> Result<Option<Instant>, LaunchError> {
        Ok(self.accepting(ANSWER_LIMIT)?.map(|_| Instant::now()))
    }
}
