//! The parsers that read bytes of programs we do not know, for the fuzz targets of `fuzz/` and for nobody else.
//!
//! Hidden, and no part of what this crate promises: it only opens doors. The parsers' own types stay private; what comes out
//! is what a target can hold against a rule.

use std::time::Instant;

use crate::readiness::http::answer::{Answer, Status};
use crate::readiness::notify::message::Message;
use crate::readiness::page::address::Address;
use crate::readiness::page::exchange::Exchange;
use crate::readiness::page::site::Site;

/// The status of an HTTP answer that comes in pieces; `None` when its status line is not complete.
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

/// What came of one connection to the server of the readiness page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageConnection {
    /// All answers, one behind the other.
    pub answers: Vec<u8>,
    /// Bytes kept of a request that is not complete.
    pub held: usize,
    /// Nothing more is answered.
    pub is_finished: bool,
    /// The page was asked for, and then reported that it is shown.
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
