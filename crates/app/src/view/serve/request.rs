//! What becomes of a request, decided by the bytes of its head alone: they are anybody's who may connect.
//!
//! What a newcomer would not guess: bodies are never looked at, so the lengths that requests tell have no say here.

use std::net::SocketAddr;

use httparse::{EMPTY_HEADER, Error, Header};

/// The longest head that is read, in bytes. Cookies know no ports: those that other servers of this machine have set come along.
pub(super) const LONGEST_HEAD: usize = 16 * 1024;
/// Fields of one head. Browsers send about 15.
const FIELDS: usize = 100;

/// Where the page is.
#[derive(Debug)]
pub(super) struct Address {
    /// Where we listen.
    pub(super) at: SocketAddr,
    /// `/WORD/`.
    pub(super) folder: String,
}

/// What is answered to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) status: Status,
    /// The answer's head is asked for and no body: `HEAD` (RFC 9110, section 9.3.2).
    pub(super) head_only: bool,
}

/// The status of an answer (RFC 9110, section 15; RFC 6585, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    /// The page follows.
    Page,
    /// Not HTTP.
    BadRequest,
    /// Only the page's own address has something.
    NotFound,
    /// The page can be read and nothing else.
    MethodNotAllowed,
    /// Asked for by a name that is not ours, as by DNS rebinding.
    Misdirected,
    /// The head is longer than we read.
    HeadTooLarge,
}

impl Verdict {
    /// Decides by the first bytes of a connection. `None` while more must come.
    pub(super) fn of(bytes: &[u8], address: &Address) -> Option<Self> {
        let mut fields = [EMPTY_HEADER; FIELDS];
        let mut head = httparse::Request::new(&mut fields);
        let status = match head.parse(bytes) {
            Ok(httparse::Status::Partial) if bytes.len() < LONGEST_HEAD => return None,
            Ok(httparse::Status::Partial) | Err(Error::TooManyHeaders) => Status::HeadTooLarge,
            Ok(httparse::Status::Complete(_)) => status(&head, address),
            Err(_) => Status::BadRequest,
        };
        Some(Self { status, head_only: head.method == Some("HEAD") })
    }
}

fn status(head: &httparse::Request<'_, '_>, address: &Address) -> Status {
    match head.method {
        _ if !names_us(head.headers, address.at) => Status::Misdirected,
        _ if head.path != Some(address.folder.as_str()) => Status::NotFound,
        Some("GET" | "HEAD") => Status::Page,
        _ => Status::MethodNotAllowed,
    }
}

/// Whether there is one `Host`, and it is ours. Names of hosts are the same in capitals (RFC 9110, section 4.2.3).
fn names_us(fields: &[Header<'_>], at: SocketAddr) -> bool {
    let mut hosts = fields.iter().filter(|field| field.name.eq_ignore_ascii_case("Host"));
    let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
    let ours = [at.to_string(), format!("localhost:{}", at.port())];
    ours.iter().any(|name| host.value.trim_ascii().eq_ignore_ascii_case(name.as_bytes()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn address() -> Address {
        Address { at: SocketAddr::from(([127, 0, 0, 1], 80)), folder: "/t/".to_owned() }
    }

    fn told(bytes: &[u8]) -> Option<Status> {
        Verdict::of(bytes, &address()).map(|verdict| verdict.status)
    }

    #[test]
    fn the_page_is_for_who_names_us_and_it() {
        let verdict = |text: &str| Verdict::of(text.as_bytes(), &address()).unwrap();
        for host in ["127.0.0.1:80", "localhost:80", "LOCALHOST:80", "LocalHost:80 "] {
            let page = Verdict { status: Status::Page, head_only: false };
            assert_eq!(verdict(&format!("GET /t/ HTTP/1.1\r\nhOST: {host}\r\n\r\n")), page, "{host}");
            let head = Verdict { status: Status::Page, head_only: true };
            assert_eq!(verdict(&format!("HEAD /t/ HTTP/1.0\r\nHost: {host}\r\n\r\n")), head, "{host}");
        }
        for (text, status) in [
            ("GET /t/ HTTP/1.1\r\n\r\n", Status::Misdirected),
            ("GET /t/ HTTP/1.1\r\nHost: localhost:8\r\n\r\n", Status::Misdirected),
            ("GET /t/ HTTP/1.1\r\nHost: localhost:80\r\nHost: localhost:80\r\n\r\n", Status::Misdirected),
            ("GET /T/ HTTP/1.1\r\nHost: localhost:80\r\n\r\n", Status::NotFound),
            ("get /t/ HTTP/1.1\r\nHost: localhost:80\r\n\r\n", Status::MethodNotAllowed),
        ] {
            assert_eq!(verdict(text).status, status, "{text}");
        }
    }

    #[test]
    fn what_is_none_is_told_early_and_heads_have_an_end() {
        for bytes in [b"\x16\x03\x01\x02", &b"PRI * HTTP/2.0\r\n\r\n"[..], b"GET / HTTP/1.1\r\n\0: a\r\n"] {
            assert_eq!(told(bytes), Some(Status::BadRequest), "{}", bytes.escape_ascii());
        }
        for bytes in [&b""[..], b"GE", b"GET / HTTP/1.1\r\nHost: a\r\n"] {
            assert_eq!(told(bytes), None);
        }
        let many = format!("GET /t/ HTTP/1.1\r\n{}", "a: b\r\n".repeat(FIELDS + 1));
        assert_eq!(told(many.as_bytes()), Some(Status::HeadTooLarge));
        let mut long = format!("GET /t/ HTTP/1.1\r\na: {}", "a".repeat(LONGEST_HEAD)).into_bytes();
        long.truncate(LONGEST_HEAD - 1);
        assert_eq!(told(&long), None);
        long.push(b'a');
        assert_eq!(told(&long), Some(Status::HeadTooLarge));
    }

    proptest! {
        #[test]
        fn bytes_of_any_kind_are_survived_and_never_get_the_page(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert_ne!(told(&bytes), Some(Status::Page));
            let mut bytes = bytes;
            bytes.splice(0..0, *b"GET /t/ HTTP/1.1\r\n");
            prop_assert_ne!(told(&bytes), Some(Status::Page));
        }
    }
}
