//! Our answers, as bytes of HTTP/1.1 (RFC 9112).
//!
//! Every answer states its length, so that a connection can be kept.

use std::fmt::Write;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use jiff::fmt::StdFmtWrite;
use jiff::fmt::rfc2822::DateTimePrinter;

use crate::Site;

/// Of every answer. What changes how a browser opens the page, as `Cross-Origin-Opener-Policy` does, is left to the site: the readiness
/// page is timed.
const FIELDS: [(&str, &str); 3] = [
    ("Cache-Control", "no-store"),
    ("X-Content-Type-Options", "nosniff"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
];

/// The content of every refusal.
const REFUSAL: &str = "no page here\n";

/// The status of an answer (RFC 9110, section 15; RFC 6585, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The page follows.
    Page,
    /// What the page's script sent was taken.
    Taken,
    /// Not a valid request.
    BadRequest,
    /// No such target.
    NotFound,
    /// Another method than the given ones.
    MethodNotAllowed(&'static str),
    /// The request does not fit what came before it.
    Conflict,
    /// Content is not accepted.
    ContentTooLarge,
    /// Requested by a name that is not ours, as by DNS rebinding.
    Misdirected,
    /// The head exceeds our limit.
    HeadTooLarge,
}

impl Status {
    fn line(self) -> &'static str {
        match self {
            Self::Page => "200 OK",
            Self::Taken => "204 No Content",
            Self::BadRequest => "400 Bad Request",
            Self::NotFound => "404 Not Found",
            Self::MethodNotAllowed(_) => "405 Method Not Allowed",
            Self::Conflict => "409 Conflict",
            Self::ContentTooLarge => "413 Content Too Large",
            Self::Misdirected => "421 Misdirected Request",
            Self::HeadTooLarge => "431 Request Header Fields Too Large",
        }
    }
}

/// An answer, to be sent head first.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) head: String,
    pub(crate) content: Arc<[u8]>,
}

impl Answer {
    /// `head_only`: to a HEAD request, with the length of the omitted content (RFC 9110, section 8.6).
    pub(crate) fn new<S: Site>(site: &S, status: Status, head_only: bool, closes: bool) -> Self {
        let mut head = format!("HTTP/1.1 {}\r\n", status.line());
        let mut field = |name: &str, value: &str| {
            // Writing to a string cannot fail.
            let _ = write!(head, "{name}: {value}\r\n");
        };
        FIELDS.iter().chain(S::FIELDS).for_each(|(name, value)| field(name, value));
        if let Some(date) = date() {
            field("Date", &date);
        }
        if closes {
            field("Connection", "close");
        }
        if let Status::MethodNotAllowed(methods) = status {
            field("Allow", methods);
        }
        let content = match status {
            Status::Page => Some(("text/html; charset=utf-8", site.page())),
            // It has none by definition, and must not state a length: RFC 9110, section 8.6.
            Status::Taken => None,
            _ => Some(("text/plain; charset=utf-8", REFUSAL.as_bytes().into())),
        };
        if let Some((kind, content)) = &content {
            field("Content-Type", kind);
            field("Content-Length", &content.len().to_string());
        }
        head.push_str("\r\n");
        let content = content.filter(|_| !head_only).map(|(_, content)| content);
        Self { head, content: content.unwrap_or_default() }
    }
}

/// The time of day as answers state it (RFC 9110, section 5.6.7).
fn date() -> Option<String> {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    let now = Timestamp::from_second(i64::try_from(since_1970.as_secs()).ok()?).ok()?;
    let mut date = String::new();
    DateTimePrinter::new().print_timestamp_rfc9110(&now, StdFmtWrite(&mut date)).ok()?;
    Some(date)
}
