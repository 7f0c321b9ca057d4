//! One connection, usually to a browser. Never blocks.
//!
//! Not obvious: closing with unread bytes would make the kernel send a reset, which may overtake the answer (RFC 9112, section
//! 9.6). So what follows the last answer is read and discarded, within limits.

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use crate::Site;
use crate::address::Address;
use crate::answer::Answer;
use crate::exchange::Exchange;

/// How long a head may take as a whole, and an answer without progress.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long what follows the last answer may take.
const PATIENCE_AFTERWARDS: Duration = Duration::from_secs(2);
/// How many bytes may follow the last answer: more than are in the kernel's buffers when a head was too long.
const LONGEST_REST: usize = 256 * 1024;
/// Reads before the next connection is served.
const READS: usize = 16;

#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    exchange: Exchange,
    /// What is being sent.
    answer: Answer,
    written: usize,
    /// How much may still come after the last answer, once that is sent.
    rest: Option<usize>,
    deadline: Instant,
}

/// The next event of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The other side's bytes.
    Input,
    /// Room for ours.
    Output,
    /// Nothing: it is over.
    Close,
}

impl Connection {
    /// Takes a connection accepted at `now`.
    pub(crate) fn new(stream: TcpStream, now: Instant) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        // An answer is one write; waiting for more data would only delay it.
        stream.set_nodelay(true)?;
        let (exchange, answer) = (Exchange::default(), Answer::default());
        Ok(Self { stream, exchange, answer, written: 0, rest: None, deadline: now + PATIENCE })
    }

    pub(crate) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// When the other side's time is up.
    pub(crate) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Reads, answers and writes as much as possible. An error only ends this connection.
    pub(crate) fn advance(&mut self, site: &mut impl Site, address: &Address, now: Instant) -> Next {
        self.try_advance(site, address, now).unwrap_or(Next::Close)
    }

    fn try_advance(&mut self, site: &mut impl Site, address: &Address, now: Instant) -> io::Result<Next> {
        let mut chunk = [0u8; 4096];
        let mut reads = 0;
        loop {
            if !self.flush(now)? {
                return Ok(Next::Output);
            }
            if let Some(answer) = self.exchange.answer_next(site, address, now) {
                (self.answer, self.written) = (answer, 0);
                continue;
            }
            if self.exchange.is_finished() && self.rest.is_none() {
                self.stream.shutdown(Shutdown::Write)?;
                self.rest = Some(LONGEST_REST);
                self.deadline = now + PATIENCE_AFTERWARDS;
            }
            // The rest is reported again: we are woken as long as there is something to read.
            if reads == READS {
                return Ok(Next::Input);
            }
            reads += 1;
            let count = match self.stream.read(&mut chunk) {
                Ok(0) => return Ok(Next::Close),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Next::Input),
                Err(error) => return Err(error),
            };
            match self.rest {
                None => self.exchange.receive(chunk.get(..count).unwrap_or_default()),
                Some(rest) => match rest.checked_sub(count) {
                    None => return Ok(Next::Close),
                    left => self.rest = left,
                },
            }
        }
    }

    /// Sends what is left of the answer; true if all was sent.
    fn flush(&mut self, now: Instant) -> io::Result<bool> {
        let (head, content) = (self.answer.head.as_bytes(), &self.answer.content);
        loop {
            let head_left = head.get(self.written..).unwrap_or_default();
            let content_left = content.get(self.written.saturating_sub(head.len())..).unwrap_or_default();
            if head_left.is_empty() && content_left.is_empty() {
                return Ok(true);
            }
            match self.stream.write_vectored(&[IoSlice::new(head_left), IoSlice::new(content_left)]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => {
                    self.written = self.written.saturating_add(count);
                    self.deadline = now + PATIENCE;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
    }
}
