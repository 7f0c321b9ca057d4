//! The URL of a request, plain HTTP.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};

use url::{Host, Position, Url};

use super::super::ReadinessError;
use crate::error::LaunchError;

const DEFAULT_PORT: u16 = 80;

/// The URL of an `http` readiness: plain HTTP, with a host, without user name or password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpUrl(Url);

impl HttpUrl {
    /// Parses a URL: `http://HOST:PORT/PATH?QUERY`, or the part from `//` on, as after the `http:` of a readiness.
    ///
    /// # Errors
    /// [`ReadinessError::Url`] for anything but a URL, for `https`, and for a user name or password: the URL is stored with the
    /// results, where a password should not be.
    pub fn parse(text: &str) -> Result<Self, ReadinessError> {
        let wrong = |reason: String| ReadinessError::Url { url: text.to_owned(), reason };
        let whole = if text.starts_with("//") { format!("http:{text}") } else { text.to_owned() };
        let scheme = whole.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
        if !matches!(scheme.as_deref(), Some("http" | "https")) {
            return Err(wrong("it does not begin with http://".into()));
        }
        let url = Url::parse(&whole).map_err(|error| wrong(error.to_string()))?;
        if url.scheme() != "http" {
            let port = url.port_or_known_default().unwrap_or(443);
            return Err(wrong(format!(
                "only plain HTTP is supported, not TLS; wait for port:{port} or stdout:REGEX instead"
            )));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong(
                "a name and password would be stored with the results; use a path that needs none, or wait for port:N"
                    .into(),
            ));
        }
        if url.port() == Some(0) {
            return Err(wrong("port 0 is not valid".into()));
        }
        Ok(Self(url))
    }

    /// The addresses to try. `localhost` is both loopback addresses, whatever the resolver says (RFC 6761, 6.3): the program may
    /// listen at either.
    pub(super) fn addresses(&self) -> Result<Vec<SocketAddr>, LaunchError> {
        let port = self.0.port().unwrap_or(DEFAULT_PORT);
        let unknown = |source| LaunchError::HostUnknown { host: self.0.host_str().unwrap_or_default().into(), source };
        let mut addresses: Vec<SocketAddr> = match self.0.host() {
            Some(Host::Ipv4(address)) => vec![(address, port).into()],
            Some(Host::Ipv6(address)) => vec![(address, port).into()],
            Some(Host::Domain(name)) if is_localhost(name) => {
                vec![(Ipv4Addr::LOCALHOST, port).into(), (Ipv6Addr::LOCALHOST, port).into()]
            }
            Some(Host::Domain(name)) => (name, port).to_socket_addrs().map_err(unknown)?.collect(),
            None => Vec::new(),
        };
        addresses.dedup();
        if addresses.is_empty() {
            return Err(unknown(io::ErrorKind::NotFound.into()));
        }
        Ok(addresses)
    }

    /// The bytes to send. The connection closes after the response, so that a server that ends gracefully does not
    /// wait for us.
    pub(super) fn request(&self) -> Vec<u8> {
        let target = &self.0[Position::BeforePath..Position::AfterQuery];
        let host = &self.0[Position::BeforeHost..Position::AfterPort];
        let version = env!("CARGO_PKG_VERSION");
        format!(
            "GET {target} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: coldstart/{version}\r\nAccept: */*\r\nConnection: close\r\n\r\n"
        )
        .into_bytes()
    }
}

fn is_localhost(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    name == "localhost" || name.ends_with(".localhost")
}

impl fmt::Display for HttpUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn request(text: &str) -> String {
        String::from_utf8(HttpUrl::parse(text).unwrap().request()).unwrap()
    }

    #[test]
    fn both_ways_of_writing_mean_the_same() {
        let url = HttpUrl::parse("http://localhost:8080/up?a=b").unwrap();
        assert_eq!(HttpUrl::parse("//localhost:8080/up?a=b").unwrap(), url);
        assert_eq!(url.to_string(), "http://localhost:8080/up?a=b");
        assert_eq!(HttpUrl::parse("HTTP://localhost").unwrap().to_string(), "http://localhost/");
    }

    #[test]
    fn the_request_names_host_and_target() {
        let sent = request("http://[::1]:8080/up and/é?a=b c#fragment");
        assert!(sent.starts_with("GET /up%20and/%C3%A9?a=b%20c HTTP/1.1\r\nHost: [::1]:8080\r\n"), "{sent}");
        assert!(sent.ends_with("\r\nConnection: close\r\n\r\n"), "{sent}");
        assert!(request("http://localhost:80").starts_with("GET / HTTP/1.1\r\nHost: localhost\r\n"));
    }

    #[test]
    fn addresses_are_found_without_asking_a_name_server() {
        let addresses = |text: &str| {
            HttpUrl::parse(text).unwrap().addresses().unwrap().iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(addresses("http://127.0.0.1/"), ["127.0.0.1:80"]);
        assert_eq!(addresses("http://[::1]:81/"), ["[::1]:81"]);
        assert_eq!(addresses("http://localhost:82/"), ["127.0.0.1:82", "[::1]:82"]);
        assert_eq!(addresses("http://app.localhost.:82/"), ["127.0.0.1:82", "[::1]:82"]);
        let error = HttpUrl::parse("http://no-such-name.invalid/").unwrap().addresses().unwrap_err();
        assert!(error.to_string().contains("no-such-name.invalid") && error.hint().is_some(), "{error}");
    }

    #[test]
    fn what_cannot_be_asked_is_refused_with_the_reason() {
        let refusal = |text: &str| HttpUrl::parse(text).unwrap_err().to_string();
        assert!(refusal("https://localhost:8443/").contains("wait for port:8443 or stdout:REGEX"));
        assert!(refusal("https://localhost/").contains("port:443"));
        assert!(refusal("http://name:secret@localhost/").contains("stored with the results"));
        assert!(refusal("http://name@localhost/").contains("stored with the results"));
        for text in ["", "localhost:8080/", "8080", "127.0.0.1:80", "ftp://localhost/", "/path", "http:localhost"] {
            assert!(refusal(text).contains("does not begin with http://"), "{text}: {}", refusal(text));
        }
        for text in
            ["http://", "http://:80/", "http://localhost:0/", "http://localhost:65536/", "http://[::1/", "http://a b/"]
        {
            refusal(text);
        }
    }

    proptest! {
        #[test]
        fn whatever_is_typed_is_read_or_refused(text in "(http:)?//[ -~é]{0,40}") {
            if let Ok(url) = HttpUrl::parse(&text) {
                prop_assert_eq!(&HttpUrl::parse(&url.to_string()).unwrap(), &url);
                let sent = url.request();
                // Nothing typed can add a line to the request.
                prop_assert_eq!(sent.iter().filter(|&&byte| byte == b'\n').count(), 6);
            }
        }
    }
}
