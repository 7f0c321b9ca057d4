//! The listener and its connections, with one descriptor to poll.
//!
//! An idle connection stays until its slot is needed: there are no timers here, and a browser
//! opens connections in advance.

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};

use super::address::Address;
use super::connection::{Connection, Next};
use super::site::{Report, Site};

/// Maximum number of connections. Browsers open six to one host.
const PLACES: usize = 64;
/// Rounds of events before control returns to the launch, with its time limit and Ctrl-C.
const ROUNDS: usize = 16;
/// The listener's number among the slots.
const LISTENER: u64 = u64::MAX;

pub(super) struct Server {
    epoll: OwnedFd,
    listener: TcpListener,
    /// Never grows beyond [`PLACES`].
    places: Vec<Place>,
    events: Vec<epoll::Event>,
    /// Event counter, to find the connection idle for longest.
    clock: u64,
    site: Site,
}

struct Place {
    connection: Option<Connection>,
    next: Next,
    /// By the server's counter.
    last_active: u64,
}

impl Server {
    /// A listener at a free port of 127.0.0.1, unreachable from other machines.
    pub(super) fn listener() -> io::Result<TcpListener> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    }

    /// Serves the page at the listener's address.
    pub(super) fn new(listener: TcpListener, address: &Address) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &listener, epoll::EventData::new_u64(LISTENER), epoll::EventFlags::IN)?;
        Ok(Self {
            epoll,
            listener,
            places: Vec::with_capacity(PLACES),
            events: Vec::with_capacity(PLACES + 1),
            clock: 0,
            site: Site::new(address),
        })
    }

    /// Readable when there is work.
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }

    /// The first report so far.
    pub(super) fn report(&self) -> Option<&Report> {
        self.site.report()
    }

    /// Whether the page was ever requested.
    pub(super) fn was_asked_for(&self) -> bool {
        self.site.was_asked_for()
    }

    /// Serves all pending events without waiting. They count as received at `now`.
    ///
    /// # Errors
    /// Of the listener and of epoll; a connection's error only ends that connection.
    pub(super) fn serve(&mut self, now: Instant) -> io::Result<()> {
        for _ in 0..ROUNDS {
            self.events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut self.events), Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))
            {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            for index in 0..self.events.len() {
                let Some(event) = self.events.get(index) else { break };
                match event.data.u64() {
                    LISTENER => self.accept()?,
                    place => self.advance(usize::try_from(place).unwrap_or(usize::MAX), now)?,
                }
            }
        }
        Ok(())
    }

    fn accept(&mut self) -> io::Result<()> {
        // The rest is reported again.
        for _ in 0..PLACES {
            match self.listener.accept() {
                Ok((stream, _)) => self.take(stream)?,
                // No connection, or the client has closed it, or a pending network error: accept(2), "Error handling".
                Err(error) if is_lasting(&error) => return Err(error),
                Err(_) => return Ok(()),
            }
        }
        Ok(())
    }

    fn take(&mut self, stream: TcpStream) -> io::Result<()> {
        let Ok(connection) = Connection::new(stream) else { return Ok(()) };
        let index = self.free_place();
        let data = epoll::EventData::new_u64(index as u64);
        epoll::add(&self.epoll, connection.stream(), data, epoll::EventFlags::IN)?;
        self.clock = self.clock.saturating_add(1);
        let place = Place { connection: Some(connection), next: Next::Input, last_active: self.clock };
        match self.places.get_mut(index) {
            // Closing removes the old connection from the epoll set.
            Some(taken) => *taken = place,
            None => self.places.push(place),
        }
        Ok(())
    }

    /// An empty slot, or a new one, or that of the connection idle for longest.
    fn free_place(&self) -> usize {
        if let Some(empty) = self.places.iter().position(|place| place.connection.is_none()) {
            return empty;
        }
        if self.places.len() < PLACES {
            return self.places.len();
        }
        let quietest = self.places.iter().enumerate().min_by_key(|(_, place)| place.last_active);
        quietest.map_or(0, |(index, _)| index)
    }

    fn advance(&mut self, index: usize, now: Instant) -> io::Result<()> {
        let Some(place) = self.places.get_mut(index) else { return Ok(()) };
        let Some(connection) = &mut place.connection else { return Ok(()) };
        self.clock = self.clock.saturating_add(1);
        place.last_active = self.clock;
        let next = connection.advance(&mut self.site, now);
        let flags = match next {
            Next::Input => epoll::EventFlags::IN,
            Next::Output => epoll::EventFlags::OUT,
            Next::Close => {
                place.connection = None;
                return Ok(());
            }
        };
        if next != place.next {
            place.next = next;
            epoll::modify(&self.epoll, connection.stream(), epoll::EventData::new_u64(index as u64), flags)?;
        }
        Ok(())
    }
}

/// Waiting will not help, and the listener would wake us at once again.
fn is_lasting(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let lasting = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM, Errno::BADF, Errno::INVAL];
    Errno::from_io_error(error).is_some_and(|errno| lasting.contains(&errno))
}
