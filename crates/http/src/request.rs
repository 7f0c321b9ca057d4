//! The head of one request, as far as needed: untrusted bytes.
//!
//! Not obvious: bodies are never read, so of the length that a request states it matters only whether there is one.

use httparse::{EMPTY_HEADER, Error, Header};

use crate::Status;

/// Fields of one head. Browsers send about 15.
const FIELDS: usize = 100;

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// `GET` and the like, in capitals as sent.
    pub method: &'a str,
    /// What is requested; for a [`Site`](crate::Site), what follows its directory: nothing for the page itself.
    pub target: &'a str,
    /// The host the request was meant for, if exactly one is named.
    pub host: Option<&'a [u8]>,
    /// The page that sent it, where the browser states it.
    pub origin: Option<&'a [u8]>,
    /// Content follows.
    pub has_content: bool,
    /// No further request will follow on this connection.
    pub is_last: bool,
}

impl<'a> Request<'a> {
    /// The request at the beginning of some bytes, and how many bytes it has. `None` if it is incomplete.
    ///
    /// # Errors
    /// There is none, whatever follows.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Option<(Self, usize)>, Status> {
        let mut fields = [EMPTY_HEADER; FIELDS];
        let mut head = httparse::Request::new(&mut fields);
        let length = match head.parse(bytes) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(Error::TooManyHeaders) => return Err(Status::HeadTooLarge),
            Err(_) => return Err(Status::BadRequest),
        };
        let (Some(method), Some(target), Some(version)) = (head.method, head.path, head.version) else {
            return Err(Status::BadRequest);
        };
        let fields: &[Header<'a>] = head.headers;
        let values = |name: &'static str| {
            let named = fields.iter().filter(move |field| field.name.eq_ignore_ascii_case(name));
            named.map(|field| field.value.trim_ascii())
        };
        let mut hosts = values("host");
        let request = Self {
            method,
            target,
            host: hosts.next().filter(|_| hosts.next().is_none()),
            origin: values("origin").next_back(),
            has_content: values("content-length").any(|length| length != b"0")
                || values("transfer-encoding").next().is_some(),
            // Persistent by default since HTTP/1.1: RFC 9112, section 9.3.
            is_last: version == 0 || values("connection").any(|options| holds_option(options, b"close")),
        };
        Ok(Some((request, length)))
    }

    /// Whether it was sent by our own page, as far as the browser states that.
    pub fn is_same_origin(&self) -> bool {
        let is_ours = |origin: &[u8]| origin.strip_prefix(b"http://").is_some_and(|host| Some(host) == self.host);
        self.origin.is_none_or(is_ours)
    }
}

/// Whether a list such as `keep-alive, Upgrade` contains an option.
fn holds_option(list: &[u8], option: &[u8]) -> bool {
    list.split(|&byte| byte == b',').any(|entry| entry.trim_ascii().eq_ignore_ascii_case(option))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete(bytes: &[u8]) -> (Request<'_>, usize) {
        Request::parse(bytes).unwrap().unwrap()
    }

    #[test]
    fn heads_are_read() {
        let bytes =
            b"POST /a/ready?shown=1 HTTP/1.1\r\nhOST: x:1 \r\nOrigin: http://x:1\r\nContent-Length: 0\r\n\r\nGET";
        let (request, length) = complete(bytes);
        let expected = Request {
            method: "POST",
            target: "/a/ready?shown=1",
            host: Some(b"x:1"),
            origin: Some(b"http://x:1"),
            has_content: false,
            is_last: false,
        };
        assert_eq!((&request, &bytes[length..]), (&expected, &b"GET"[..]));
        assert!(request.is_same_origin() && Request { origin: None, ..request.clone() }.is_same_origin());
        for origin in [&b"null"[..], b"http://x:2", b"https://x:1"] {
            assert!(!Request { origin: Some(origin), ..request.clone() }.is_same_origin());
        }
    }

    #[test]
    fn the_ends_of_connections_and_content_are_seen() {
        for (fields, is_last, has_content) in [
            ("1\r\nConnection: keep-alive, Close", true, false),
            ("0", true, false),
            ("1\r\nConnection: closed", false, false),
            ("1\r\nContent-Length: 1", false, true),
            ("1\r\nContent-Length: 0\r\nContent-Length: 1", false, true),
            ("1\r\nTransfer-Encoding: chunked", false, true),
        ] {
            let text = format!("GET / HTTP/1.{fields}\r\n\r\n");
            let (request, _) = complete(text.as_bytes());
            assert_eq!((request.is_last, request.has_content), (is_last, has_content), "{fields}");
        }
    }

    #[test]
    fn only_one_host_counts() {
        for hosts in ["", "Host: a\r\nHost: a\r\n", "Host: a\r\nOrigin: b\r\nHost: c\r\n"] {
            assert_eq!(complete(format!("GET / HTTP/1.1\r\n{hosts}\r\n").as_bytes()).0.host, None, "{hosts}");
        }
    }

    #[test]
    fn what_is_no_request_is_refused_early() {
        // A TLS handshake, HTTP/2, a name that is none.
        for bytes in [b"\x16\x03\x01\x02", &b"PRI * HTTP/2.0\r\n\r\n"[..], b"GET / HTTP/1.1\r\n\0: a\r\n"] {
            assert_eq!(Request::parse(bytes), Err(Status::BadRequest), "{}", bytes.escape_ascii());
        }
        let many = format!("GET / HTTP/1.1\r\n{}", "a: b\r\n".repeat(FIELDS + 1));
        assert_eq!(Request::parse(many.as_bytes()), Err(Status::HeadTooLarge));
        for bytes in [&b""[..], b"GE", b"GET / HTTP/1.1\r\nHost: a\r\n"] {
            assert_eq!(Request::parse(bytes), Ok(None));
        }
    }
}
