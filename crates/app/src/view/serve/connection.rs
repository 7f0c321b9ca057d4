//! One connection: a head is read, one answer written, and that is all.
//!
//! What a newcomer would not guess: closing with unread bytes would make the kernel send a reset, which may overtake the answer
//! (RFC 9112, section 9.6). So what is left is read and thrown away, within limits.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use super::Site;
use super::answer::Answer;
use super::request::{LONGEST_HEAD, Verdict};

/// How long a head may take as a whole, and a write without progress.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long what follows the answer may take.
const PATIENCE_AFTERWARDS: Duration = Duration::from_secs(2);
/// How many bytes may follow the answer: more than lies in the kernel's buffers when a head was too long.
const LONGEST_REST: usize = 256 * 1024;
/// Bytes of one read.
const CHUNK: usize = 4096;

/// Serves one connection. Its errors are its end, and nobody else's.
pub(super) fn serve(mut stream: TcpStream, site: &Site) {
    let _ = answered(&mut stream, site);
}

fn answered(stream: &mut TcpStream, site: &Site) -> io::Result<()> {
    // Who sends nothing gets no answer: browsers open connections ahead of their needs.
    let Some(verdict) = verdict(stream, site)? else { return Ok(()) };
    let answer = Answer::to(verdict, &site.page);
    // The head need not wait for the body.
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(answer.head.as_bytes())?;
    stream.write_all(answer.body)?;
    stream.shutdown(Shutdown::Write)?;
    drop_rest(stream)
}

/// What becomes of the request that comes. `None` if the other side ends before it is whole.
fn verdict(stream: &mut TcpStream, site: &Site) -> io::Result<Option<Verdict>> {
    let end = Instant::now() + PATIENCE;
    let mut head = Vec::new();
    let mut chunk = [0; CHUNK];
    loop {
        let room = LONGEST_HEAD.saturating_sub(head.len()).min(CHUNK);
        let read = read_until(stream, chunk.get_mut(..room).unwrap_or_default(), end)?;
        if read == 0 {
            return Ok(None);
        }
        head.extend_from_slice(chunk.get(..read).unwrap_or_default());
        if let Some(verdict) = Verdict::of(&head, &site.address) {
            return Ok(Some(verdict));
        }
    }
}

/// Throws away what still comes.
fn drop_rest(stream: &mut TcpStream) -> io::Result<()> {
    let end = Instant::now() + PATIENCE_AFTERWARDS;
    let mut chunk = [0; CHUNK];
    let mut dropped = 0usize;
    while dropped < LONGEST_REST {
        match read_until(stream, &mut chunk, end)? {
            0 => break,
            read => dropped = dropped.saturating_add(read),
        }
    }
    Ok(())
}

/// Reads some bytes; an error after `end`, however slowly they drip.
fn read_until(stream: &mut TcpStream, bytes: &mut [u8], end: Instant) -> io::Result<usize> {
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(bytes) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}
