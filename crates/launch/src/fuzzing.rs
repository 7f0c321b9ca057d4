//! Parsers of untrusted bytes, for the fuzz targets of `fuzz/` only.
//!
//! Hidden, and not part of the public API. The parsers' own types stay private; the functions return values
//! that a target can check against a rule.

use std::time::Instant;

use crate::readiness::http::answer::{Answer, Status};
use crate::readiness::notify::message::Message;
use crate::readiness::page::address::Address;
use crate::readiness::page::exchange::Exchange;
use crate::readiness::page::site::Site;

/// The status of an HTTP response that arrives in pieces; `None` when its status line is not complete.
///
/// # Errors
/// It is not HTTP/1, or has no end.
pub fn http_answer<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Option<u16>, &'static str> {
    let mut answer = Answer::default();
    for piece in pieces {
        match answer.take(piece) {
            Status::Incomplete => {}
            Status::Final(status) => return Ok(Some(status)),
            Status::Garbage => return Err("not an answer in HTTP/1"),
        }
    }
    Ok(None)
}

/// The result of one connection to the server of the readiness page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageConnection {
    /// All responses, concatenated.
    pub answers: Vec<u8>,
    /// Bytes kept of an incomplete request.
    pub held: usize,
    /// No more requests are answered.
    pub is_finished: bool,
    /// The page was requested, and then reported that it is shown.
    pub is_ready: bool,
}

/// Serves requests that come in pieces, to the host `a`, with the page at `/t/` and its report at `/t/ready`.
pub fn page_connection<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> PageConnection {
    let mut site = Site::new(&Address { authority: "a".into(), directory: "/t/".into() });
    let mut exchange = Exchange::default();
    let mut answers = Vec::new();
    for piece in pieces {
        exchange.receive(piece);
        while exchange.answer_next(&mut site, Instant::now(), &mut answers) {}
    }
    let (held, is_finished, is_ready) = (exchange.held(), exchange.is_finished(), site.report().is_some());
    PageConnection { answers, held, is_finished, is_ready }
}

/// Whether a notification says that the program is ready, and its beginning as it is shown. `is_truncated`: the end of the
/// message is missing.
pub fn notification(bytes: &[u8], is_truncated: bool) -> (bool, String) {
    let message = Message::new(bytes, is_truncated);
    (message.is_ready(), message.excerpt())
}
