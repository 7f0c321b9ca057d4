//! Parsers of untrusted bytes, for the fuzz targets of `fuzz/` only.
//!
//! Hidden, and not part of the public API. The parsers' own types stay private; the functions return values
//! that a target can check against a rule.

use coldstart_http::fuzzing::{Outcome, exchange};

use crate::readiness::http::answer::{Answer, Status};
use crate::readiness::notify::message::Message;
use crate::readiness::page::site::ReadySite;

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

/// Serves requests for the readiness page that come in pieces, to the host `a`, with the page at `/t/` and its report at `/t/ready`.
/// Also returns whether the page was requested, and then reported that it is shown.
pub fn page_connection<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Outcome, bool) {
    let mut site = ReadySite::default();
    let outcome = exchange(&mut site, pieces);
    (outcome, site.report().is_some())
}

/// Whether a notification says that the program is ready, and its beginning as it is shown. `is_truncated`: the end of the
/// message is missing.
pub fn notification(bytes: &[u8], is_truncated: bool) -> (bool, String) {
    let message = Message::new(bytes, is_truncated);
    (message.is_ready(), message.excerpt())
}
