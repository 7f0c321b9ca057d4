//! What we answer to a request, as bytes of HTTP/1.1 (RFC 9112).
//!
//! What a newcomer would not guess: each connection gets one answer. Bodies of requests are not read, so we would not know where
//! the next request begins.

use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use jiff::fmt::StdFmtWrite;
use jiff::fmt::rfc2822::DateTimePrinter;

use super::request::{Status, Verdict};

/// Of every answer. The page itself says what it may do.
const HEADERS: [(&str, &str); 7] = [
    ("Connection", "close"),
    ("Cache-Control", "no-store"),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("X-Frame-Options", "DENY"),
];

/// An answer, to be sent head first.
#[derive(Debug)]
pub(super) struct Answer<'a> {
    pub(super) head: String,
    pub(super) body: &'a [u8],
}

impl<'a> Answer<'a> {
    /// The page, or why not. The answer to `HEAD` tells the length of what it leaves out (RFC 9110, section 8.6).
    pub(super) fn to(verdict: Verdict, page: &'a [u8]) -> Self {
        let (kind, body) = match verdict.status {
            Status::Page => ("text/html; charset=utf-8", page),
            _ => ("text/plain; charset=UTF-8", &b"no page here\n"[..]),
        };
        let mut head = format!("HTTP/1.1 {}\r\n", line(verdict.status));
        let mut field = |name: &str, value: &str| {
            // Writing to a string cannot fail.
            let _ = write!(head, "{name}: {value}\r\n");
        };
        HEADERS.iter().for_each(|(name, value)| field(name, value));
        if let Some(date) = date() {
            field("Date", &date);
        }
        if verdict.status == Status::MethodNotAllowed {
            field("Allow", "GET, HEAD");
        }
        field("Content-Type", kind);
        field("Content-Length", &body.len().to_string());
        head.push_str("\r\n");
        Self { head, body: if verdict.head_only { &[] } else { body } }
    }
}

/// The time of day as answers tell it (RFC 9110, section 5.6.7).
fn date() -> Option<String> {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    let now = Timestamp::from_second(i64::try_from(since_1970.as_secs()).ok()?).ok()?;
    let mut date = String::new();
    DateTimePrinter::new().print_timestamp_rfc9110(&now, StdFmtWrite(&mut date)).ok()?;
    Some(date)
}

fn line(status: Status) -> &'static str {
    match status {
        Status::Page => "200 OK",
        Status::BadRequest => "400 Bad Request",
        Status::NotFound => "404 Not Found",
        Status::MethodNotAllowed => "405 Method Not Allowed",
        Status::Misdirected => "421 Misdirected Request",
        Status::HeadTooLarge => "431 Request Header Fields Too Large",
    }
}
