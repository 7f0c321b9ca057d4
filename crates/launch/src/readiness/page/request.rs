//! The head of one request, as far as needed: untrusted bytes.

use httparse::{EMPTY_HEADER, Status};

/// Fields of one head. Browsers send about 15.
const FIELDS: usize = 100;

/// A request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request<'a> {
    pub(super) method: &'a str,
    /// Without what follows the question mark.
    pub(super) path: &'a str,
    /// What follows the question mark.
    pub(super) query: &'a str,
    /// The authority the request was meant for.
    pub(super) host: Option<&'a [u8]>,
    /// The page that sent it, where the browser states it.
    pub(super) origin: Option<&'a [u8]>,
    /// Content follows, which is never used.
    pub(super) has_content: bool,
    /// No further request will follow on this connection.
    pub(super) is_last: bool,
}

/// The result of parsing some bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Parsed<'a> {
    /// A request, and how many bytes it has.
    Complete(Request<'a>, usize),
    /// An incomplete request.
    Partial,
    /// Invalid, whatever follows.
    Wrong,
}

/// Parses the request at the beginning of some bytes.
pub(super) fn parse(bytes: &[u8]) -> Parsed<'_> {
    let mut fields = [EMPTY_HEADER; FIELDS];
    let mut head = httparse::Request::new(&mut fields);
    let length = match head.parse(bytes) {
        Ok(Status::Complete(length)) => length,
        Ok(Status::Partial) => return Parsed::Partial,
        Err(_) => return Parsed::Wrong,
    };
    let (Some(method), Some(target), Some(version)) = (head.method, head.path, head.version) else {
        return Parsed::Wrong;
    };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut request = Request {
        method,
        path,
        query,
        host: None,
        origin: None,
        has_content: false,
        // Persistent by default since HTTP/1.1: RFC 9112, section 9.3.
        is_last: version == 0,
    };
    for field in head.headers.iter() {
        let is = |name: &str| field.name.eq_ignore_ascii_case(name);
        if is("host") {
            if request.host.replace(field.value).is_some() {
                // RFC 9112, section 3.2.
                return Parsed::Wrong;
            }
        } else if is("origin") {
            request.origin = Some(field.value);
        } else if is("content-length") {
            request.has_content |= field.value != b"0";
        } else if is("transfer-encoding") {
            request.has_content = true;
        } else if is("connection") {
            request.is_last |= holds_option(field.value, b"close");
        }
    }
    Parsed::Complete(request, length)
}

/// Whether a list such as `keep-alive, Upgrade` contains an option.
fn holds_option(list: &[u8], option: &[u8]) -> bool {
    list.split(|&byte| byte == b',').any(|entry| entry.trim_ascii().eq_ignore_ascii_case(option))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete(bytes: &[u8]) -> (Request<'_>, usize) {
        match parse(bytes) {
            Parsed::Complete(request, length) => (request, length),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn heads_are_read() {
        let bytes =
            b"POST /a/ready?shown=1 HTTP/1.1\r\nhOST: x:1\r\nOrigin: http://x:1\r\nContent-Length: 0\r\n\r\nGET";
        let (request, length) = complete(bytes);
        let expected = Request {
            method: "POST",
            path: "/a/ready",
            query: "shown=1",
            host: Some(b"x:1"),
            origin: Some(b"http://x:1"),
            has_content: false,
            is_last: false,
        };
        assert_eq!((request, &bytes[length..]), (expected, &b"GET"[..]));
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
    fn what_is_none_is_told_early() {
        // A TLS handshake, HTTP/2, two hosts, too many fields.
        let fields = format!("GET / HTTP/1.1\r\n{}", "a: b\r\n".repeat(FIELDS + 1));
        let two_hosts = b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n";
        for bytes in [b"\x16\x03\x01\x02", &b"PRI * HTTP/2.0\r\n\r\n"[..], two_hosts, fields.as_bytes()] {
            assert_eq!(parse(bytes), Parsed::Wrong, "{}", bytes.escape_ascii());
        }
        for bytes in [&b""[..], b"GE", b"GET / HTTP/1.1\r\nHost: a\r\n"] {
            assert_eq!(parse(bytes), Parsed::Partial);
        }
    }
}
