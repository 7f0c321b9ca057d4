//! One connection, usually to a browser. Never blocks.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Instant;

use super::exchange::Exchange;
use super::site::Site;

/// Reads before the next connection is served.
const READS: usize = 16;
/// How much is still read and discarded after the last response: closing with unread bytes would make the kernel send a
/// reset, which may overtake the response (RFC 9112, section 9.6).
const LONGEST_REST: usize = 64 * 1024;

#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    exchange: Exchange,
    output: Vec<u8>,
    written: usize,
    /// How much may still come after the last answer, once that is sent.
    rest: Option<usize>,
}

/// The next event of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The other side's bytes.
    Input,
    /// Room for ours.
    Output,
    /// Nothing: it is over.
    Close,
}

impl Connection {
    /// Takes an accepted connection.
    pub(super) fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        // A response is one write; waiting for more data would only delay it.
        stream.set_nodelay(true)?;
        Ok(Self { stream, exchange: Exchange::default(), output: Vec::new(), written: 0, rest: None })
    }

    pub(super) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Reads, answers and writes as much as possible. An error only ends this connection.
    pub(super) fn advance(&mut self, site: &mut Site, now: Instant) -> Next {
        self.try_advance(site, now).unwrap_or(Next::Close)
    }

    fn try_advance(&mut self, site: &mut Site, now: Instant) -> io::Result<Next> {
        let mut chunk = [0u8; 4096];
        let mut reads = 0;
        loop {
            if !self.flush()? {
                return Ok(Next::Output);
            }
            if self.exchange.answer_next(site, now, &mut self.output) {
                continue;
            }
            if self.exchange.is_finished() && self.rest.is_none() {
                self.stream.shutdown(Shutdown::Write)?;
                self.rest = Some(LONGEST_REST);
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

    /// Writes pending bytes; true if all were written.
    fn flush(&mut self) -> io::Result<bool> {
        while let Some(left) = self.output.get(self.written..).filter(|left| !left.is_empty()) {
            match self.stream.write(left) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => self.written = self.written.saturating_add(count),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        self.output.clear();
        self.written = 0;
        Ok(true)
    }
}
