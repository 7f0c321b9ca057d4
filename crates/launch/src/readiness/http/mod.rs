//! Ready when a GET request is answered with a status of 2xx: for servers that listen before they can serve.
//!
//! Redirects are not followed, and do not count: one may lead to another server, or to a page that says "starting up".
//! Proxy variables have no effect. Pitfall: the time limit of a response. A first request may take long
//! because the program is starting, and a retry too soon would make it start over each time, so each try waits longer.

pub(crate) mod answer;
mod connection;
mod url;

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use self::answer::{Answer, Status};
use self::connection::{Connection, answer_limit};
use super::{Look, Watch};
use crate::error::LaunchError;

pub use self::url::HttpUrl;

/// Polling interval while there is no listener; bounds the error of the measured time. An attempt takes some 20 us.
const INTERVAL: Duration = Duration::from_millis(1);
/// First time limit of a response; doubled at each further try.
const FIRST_PATIENCE: Duration = Duration::from_secs(3);
/// Upper bound of the time limit.
const LONGEST_PATIENCE: Duration = Duration::from_secs(96);
/// Pause after a wrong response: a hundredth of the time passed, so that polling adds little error and
/// little work for the program, within these bounds.
const PAUSE: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(50));
/// Size of one read.
const CHUNK: usize = 16 * 1024;
/// Reads in a row: an endless response must not keep us from the clock.
const READS_AT_ONCE: usize = 64;

pub(crate) struct HttpWatch {
    url: HttpUrl,
    request: Vec<u8>,
    addresses: Vec<SocketAddr>,
    /// Index of the next address. They alternate: the program may listen at one and be silent at another.
    next: usize,
    begin: Instant,
    patience: Duration,
    state: State,
    seen: Seen,
}

enum State {
    /// No listener.
    Idle,
    Connecting {
        stream: TcpStream,
        until: Instant,
    },
    Asking {
        stream: TcpStream,
        sent: usize,
        answer: Answer,
        until: Instant,
    },
    /// A response came, or the end without one. The rest of the response is still read: closing a connection with
    /// unread bytes resets it, and simple servers die of that (SIGPIPE).
    Pausing {
        stream: Option<TcpStream>,
        until: Instant,
    },
    /// Ready.
    Answered {
        stream: Option<TcpStream>,
    },
}

/// The last result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    Nobody,
    Silence,
    Closed,
    Garbage,
    Status(u16),
}

/// What to do next.
enum Step {
    Next(State),
    Wait(State),
    Ready(State, Instant),
}

impl HttpWatch {
    pub(crate) fn new(url: HttpUrl) -> Self {
        Self {
            request: url.request(),
            url,
            addresses: Vec::new(),
            next: 0,
            begin: Instant::now(),
            patience: FIRST_PATIENCE,
            state: State::Idle,
            seen: Seen::Nobody,
        }
    }

    /// Tries each address once.
    fn connect(&mut self) -> Result<Step, LaunchError> {
        for _ in 0..self.addresses.len() {
            let Some(&address) = self.addresses.get(self.next) else { break };
            self.next = (self.next + 1) % self.addresses.len();
            match Connection::attempt(address, Duration::ZERO).map_err(cannot_connect)? {
                Connection::Open(stream) => return Ok(self.ask(stream)),
                Connection::Pending(stream) => {
                    return Ok(Step::Wait(State::Connecting { stream, until: Instant::now() + answer_limit(address) }));
                }
                Connection::Refused => {}
            }
        }
        Ok(Step::Wait(State::Idle))
    }

    fn ask(&mut self, stream: TcpStream) -> Step {
        if self.seen == Seen::Nobody {
            self.seen = Seen::Silence;
        }
        let until = Instant::now() + self.patience;
        Step::Next(State::Asking { stream, sent: 0, answer: Answer::default(), until })
    }

    /// Sends and receives as much as possible.
    fn exchange(&mut self, mut stream: TcpStream, mut sent: usize, mut answer: Answer, until: Instant) -> Step {
        while let Some(rest) = self.request.get(sent..).filter(|rest| !rest.is_empty()) {
            match stream.write(rest) {
                Ok(count) => sent += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                // A server that answers without reading may have closed its end; the response can still be read.
                Err(_) => sent = self.request.len(),
            }
        }
        let mut chunk = [0; CHUNK];
        for _ in 0..READS_AT_ONCE {
            match stream.read(&mut chunk) {
                Ok(0) => return self.pause(Seen::Closed, None),
                Ok(count) => {
                    let moment = Instant::now();
                    match answer.take(chunk.get(..count).unwrap_or_default()) {
                        Status::Incomplete => {}
                        Status::Garbage => return self.pause(Seen::Garbage, Some(stream)),
                        Status::Final(200..300) => {
                            return Step::Ready(State::Answered { stream: Some(stream) }, moment);
                        }
                        Status::Final(status) => return self.pause(Seen::Status(status), Some(stream)),
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => return self.pause(Seen::Closed, None),
            }
        }
        if Instant::now() >= until {
            self.patience = (self.patience * 2).min(LONGEST_PATIENCE);
            return self.pause(Seen::Silence, None);
        }
        Step::Wait(State::Asking { stream, sent, answer, until })
    }

    fn pause(&mut self, seen: Seen, stream: Option<TcpStream>) -> Step {
        self.seen = seen;
        let pause = (self.begin.elapsed() / 100).clamp(PAUSE.0, PAUSE.1);
        Step::Wait(State::Pausing { stream, until: Instant::now() + pause })
    }

    fn step(&mut self, state: State) -> Result<Step, LaunchError> {
        Ok(match state {
            State::Idle => self.connect()?,
            State::Connecting { stream, until } => {
                match Connection::proceed(stream, Duration::ZERO).map_err(cannot_connect)? {
                    Connection::Open(stream) => self.ask(stream),
                    Connection::Pending(stream) if Instant::now() < until => {
                        Step::Wait(State::Connecting { stream, until })
                    }
                    Connection::Pending(_) | Connection::Refused => Step::Next(State::Idle),
                }
            }
            State::Asking { stream, sent, answer, until } => self.exchange(stream, sent, answer, until),
            State::Pausing { stream, until } if Instant::now() < until => Step::Wait(State::Pausing { stream, until }),
            State::Pausing { stream, .. } => {
                stream.map(discard);
                Step::Next(State::Idle)
            }
            State::Answered { stream } => Step::Wait(State::Answered { stream }),
        })
    }
}

fn cannot_connect(error: std::io::Error) -> LaunchError {
    LaunchError::system("try to connect to the program's port", error)
}

/// Discards received bytes. `None` if there are no more yet.
fn discard(mut stream: TcpStream) -> Option<TcpStream> {
    let mut chunk = [0; CHUNK];
    for _ in 0..READS_AT_ONCE {
        match stream.read(&mut chunk) {
            Ok(count) if count > 0 => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            _ => return None,
        }
    }
    Some(stream)
}

impl Watch for HttpWatch {
    fn prepare(&mut self, _command: &mut Command) -> Result<(), LaunchError> {
        self.addresses = self.url.addresses()?;
        for &address in &self.addresses {
            if let Connection::Open(_) = Connection::attempt(address, answer_limit(address)).map_err(cannot_connect)? {
                return Err(LaunchError::PortInUse { address });
            }
        }
        Ok(())
    }

    fn started(&mut self, _child: &mut Child) -> Result<(), LaunchError> {
        self.begin = Instant::now();
        Ok(())
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match &self.state {
            State::Asking { stream, sent, .. } if *sent >= self.request.len() => Some(stream.as_fd()),
            // Others become writable, which nobody polls for, or are to be left alone for a while.
            _ => None,
        }
    }

    fn interval(&self) -> Option<Duration> {
        match &self.state {
            State::Asking { sent, until, .. } if *sent >= self.request.len() => Some(*until),
            State::Pausing { until, .. } => Some(*until),
            State::Answered { .. } => return None,
            _ => return Some(INTERVAL),
        }
        .map(|until| until.saturating_duration_since(Instant::now()))
    }

    fn look(&mut self, _look: Look<'_>) -> Result<Option<Instant>, LaunchError> {
        let mut state = std::mem::replace(&mut self.state, State::Idle);
        loop {
            match self.step(state)? {
                Step::Next(next) => state = next,
                Step::Wait(next) => {
                    self.state = next;
                    return Ok(None);
                }
                Step::Ready(next, moment) => {
                    self.state = next;
                    return Ok(Some(moment));
                }
            }
        }
    }

    /// Reads the rest of the response, then closes: a server that ends gracefully waits for connected clients.
    fn drain(&mut self) {
        if let State::Answered { stream } = &mut self.state {
            *stream = stream.take().and_then(discard);
        }
    }

    fn last_seen(&self) -> Option<String> {
        let url = &self.url;
        Some(match self.seen {
            Seen::Nobody => format!("{url} accepted no connections"),
            Seen::Silence => format!("{url} accepted connections and did not answer"),
            Seen::Closed => format!("{url} closed the connection without an answer"),
            Seen::Garbage => format!("{url} did not answer with HTTP/1"),
            Seen::Status(status @ 300..400) => {
                format!(
                    "{url} answered with status {status}; redirects are not followed: use the redirect's target as the URL"
                )
            }
            Seen::Status(status) => format!("{url} answered with status {status}"),
        })
    }
}
