//! Our responses, as bytes of HTTP/1.1 (RFC 9112).
//!
//! Every response states its length, so that the connection can be reused.

/// The status of a response (RFC 9110, section 15).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    /// The page follows.
    Page,
    /// A report was taken.
    Taken,
    /// Not a valid request.
    BadRequest,
    /// No such path.
    NotFound,
    /// A method other than GET on the page, or other than POST on the report.
    MethodNotAllowed,
    /// A report of a page that was never requested.
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
            Self::MethodNotAllowed => "405 Method Not Allowed",
            Self::Conflict => "409 Conflict",
            Self::ContentTooLarge => "413 Content Too Large",
            Self::Misdirected => "421 Misdirected Request",
            Self::HeadTooLarge => "431 Request Header Fields Too Large",
        }
    }
}

const PAGE: &str = include_str!("page.html");

/// Appends a response. `head_only`: to a HEAD request, with the length of the omitted content.
pub(super) fn write_answer(output: &mut Vec<u8>, status: Status, head_only: bool, closes: bool) {
    let mut push = |text: &str| output.extend_from_slice(text.as_bytes());
    push("HTTP/1.1 ");
    push(status.line());
    push("\r\nCache-Control: no-store\r\n");
    if closes {
        push("Connection: close\r\n");
    }
    match status {
        Status::Page => {
            push("Content-Type: text/html; charset=utf-8\r\nContent-Length: ");
            push(&PAGE.len().to_string());
            push("\r\n\r\n");
            if !head_only {
                push(PAGE);
            }
        }
        // It has none by definition, and must not state a length: RFC 9110, section 8.6.
        Status::Taken => push("\r\n"),
        _ => push("Content-Length: 0\r\n\r\n"),
    }
}
