//! The listener and its connections, with one descriptor to poll.
//!
//! Not obvious: there are no timers here. A silent connection stays until its slot is needed, or until the caller closes what is overdue
//! ([`Server::close_overdue`]): browsers open connections in advance, and a launch has a time limit of its own.

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;

use crate::Site;
use crate::address::Address;
use crate::connection::{Connection, Next};

/// Maximum number of connections. Browsers open six to one host.
const SLOTS: usize = 64;
/// Rounds of events before control returns to the caller, with its time limit and Ctrl-C.
const ROUNDS: usize = 16;
/// The listener's number among the slots.
const LISTENER: u64 = u64::MAX;

/// A site that is served at an address of its own.
pub struct Server<S> {
    epoll: OwnedFd,
    listener: TcpListener,
    address: Address,
    /// Never grows beyond [`SLOTS`].
    slots: Vec<Slot>,
    events: Vec<epoll::Event>,
    /// Event counter, to find the connection idle for longest.
    clock: u64,
    site: S,
}

struct Slot {
    connection: Option<Connection>,
    next: Next,
    /// By the server's counter.
    last_active: u64,
}

impl<S: Site> Server<S> {
    /// Serves a site at a free port of 127.0.0.1, unreachable from other machines.
    ///
    /// # Errors
    /// When there is no port, descriptor or random number.
    pub fn new(site: S) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &listener, epoll::EventData::new_u64(LISTENER), epoll::EventFlags::IN)?;
        let address = Address::new(listener.local_addr()?)?;
        let (slots, events) = (Vec::with_capacity(SLOTS), Vec::with_capacity(SLOTS + 1));
        Ok(Self { epoll, listener, address, slots, events, clock: 0, site })
    }

    /// The address for the browser: `http://127.0.0.1:PORT/WORD/`.
    pub fn url(&self) -> String {
        self.address.url()
    }

    /// The site.
    pub fn site(&self) -> &S {
        &self.site
    }

    /// Serves all pending events without waiting. They count as received at `now`.
    ///
    /// # Errors
    /// Of the listener and of epoll; a connection's error only ends that connection.
    pub fn serve(&mut self, now: Instant) -> io::Result<()> {
        for _ in 0..ROUNDS {
            self.events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut self.events), Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))
            {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            for index in 0..self.events.len() {
                let Some(event) = self.events.get(index) else { break };
                match event.data.u64() {
                    LISTENER => self.accept(now)?,
                    slot => self.advance(usize::try_from(slot).unwrap_or(usize::MAX), now)?,
                }
            }
        }
        Ok(())
    }

    /// When the next connection's time is up.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.slots.iter().filter_map(|slot| slot.connection.as_ref()).map(Connection::deadline).min()
    }

    /// Closes connections whose time is up at `now`: those that neither send a request nor read the answer.
    pub fn close_overdue(&mut self, now: Instant) {
        for slot in &mut self.slots {
            slot.connection.take_if(|connection| connection.deadline() <= now);
        }
    }

    fn accept(&mut self, now: Instant) -> io::Result<()> {
        // The rest is reported again.
        for _ in 0..SLOTS {
            match self.listener.accept() {
                Ok((stream, _)) => self.take(stream, now)?,
                // No connection, or the client has closed it, or a pending network error: accept(2), "Error handling".
                Err(error) if is_lasting(&error) => return Err(error),
                Err(_) => return Ok(()),
            }
        }
        Ok(())
    }

    fn take(&mut self, stream: TcpStream, now: Instant) -> io::Result<()> {
        let Ok(connection) = Connection::new(stream, now) else { return Ok(()) };
        let index = self.free_slot();
        let data = epoll::EventData::new_u64(index as u64);
        epoll::add(&self.epoll, connection.stream(), data, epoll::EventFlags::IN)?;
        self.clock = self.clock.saturating_add(1);
        let slot = Slot { connection: Some(connection), next: Next::Input, last_active: self.clock };
        match self.slots.get_mut(index) {
            // Closing removes the old connection from the epoll set.
            Some(taken) => *taken = slot,
            None => self.slots.push(slot),
        }
        Ok(())
    }

    /// An empty slot, or a new one, or that of the connection idle for longest.
    fn free_slot(&self) -> usize {
        if let Some(empty) = self.slots.iter().position(|slot| slot.connection.is_none()) {
            return empty;
        }
        if self.slots.len() < SLOTS {
            return self.slots.len();
        }
        let quietest = self.slots.iter().enumerate().min_by_key(|(_, slot)| slot.last_active);
        quietest.map_or(0, |(index, _)| index)
    }

    fn advance(&mut self, index: usize, now: Instant) -> io::Result<()> {
        let Some(slot) = self.slots.get_mut(index) else { return Ok(()) };
        let Some(connection) = &mut slot.connection else { return Ok(()) };
        self.clock = self.clock.saturating_add(1);
        slot.last_active = self.clock;
        let next = connection.advance(&mut self.site, &self.address, now);
        let flags = match next {
            Next::Input => epoll::EventFlags::IN,
            Next::Output => epoll::EventFlags::OUT,
            Next::Close => {
                slot.connection = None;
                return Ok(());
            }
        };
        if next != slot.next {
            slot.next = next;
            epoll::modify(&self.epoll, connection.stream(), epoll::EventData::new_u64(index as u64), flags)?;
        }
        Ok(())
    }
}

/// Readable when there is something to serve.
impl<S> AsFd for Server<S> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

/// Waiting will not help, and the listener would wake us at once again.
fn is_lasting(error: &io::Error) -> bool {
    let lasting = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM, Errno::BADF, Errno::INVAL];
    Errno::from_io_error(error).is_some_and(|errno| lasting.contains(&errno))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::{Request, Status};

    /// A page longer than the kernel's buffers.
    struct LongPage;

    impl Site for LongPage {
        const IS_PERSISTENT: bool = false;
        const FIELDS: &'static [(&'static str, &'static str)] = &[];

        fn page(&self) -> Arc<[u8]> {
            vec![b'a'; 32 << 20].into()
        }

        fn answer(&mut self, _request: &Request<'_>, _now: Instant) -> Status {
            Status::Page
        }
    }

    fn connect(server: &Server<LongPage>) -> TcpStream {
        let stream = TcpStream::connect(server.listener.local_addr().unwrap()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    fn open(server: &Server<LongPage>) -> usize {
        server.slots.iter().filter(|slot| slot.connection.is_some()).count()
    }

    #[test]
    fn who_neither_sends_nor_reads_is_given_up() {
        let mut server = Server::new(LongPage).unwrap();
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        assert_eq!(server.next_deadline(), None);
        let (mut silent, mut reader) = (connect(&server), connect(&server));
        server.serve(begin).unwrap();
        write!(reader, "GET {} HTTP/1.1\r\nHost: {}\r\n\r\n", server.address.directory, server.address.hosts[0])
            .unwrap();
        server.serve(at(8)).unwrap();
        server.close_overdue(at(9));
        assert_eq!((open(&server), server.next_deadline()), (2, Some(at(10))));
        server.close_overdue(at(10));
        assert_eq!((open(&server), server.next_deadline()), (1, Some(at(18))), "progress was made at 8 s");
        assert_eq!(silent.read(&mut [0]).unwrap(), 0);
        // Once all is read, little time is left for more requests.
        let mut answer = vec![0; 1 << 20];
        while open(&server) == 1 && server.next_deadline() != Some(at(14)) {
            assert_ne!(reader.read(&mut answer).unwrap(), 0);
            server.serve(at(12)).unwrap();
        }
        server.close_overdue(at(14));
        assert_eq!(open(&server), 0);
    }

    #[test]
    fn the_quietest_connection_makes_room() {
        let mut server = Server::new(LongPage).unwrap();
        let mut crowd: Vec<TcpStream> = (0..=SLOTS).map(|_| connect(&server)).collect();
        server.serve(Instant::now()).unwrap();
        assert_eq!(open(&server), SLOTS);
        assert_eq!(crowd[0].read(&mut [0]).unwrap(), 0);
    }
}
