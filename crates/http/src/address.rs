//! The address: a port of this machine and a directory that nobody can guess.

use std::io;
use std::net::SocketAddr;

use rustix::rand::{GetRandomFlags, getrandom};

/// Where a site is.
///
/// The directory keeps web pages and other users out; where the address is passed as an argument, users who may list the machine's
/// processes see it.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    /// Our names as in the `Host` field: `127.0.0.1:PORT`, `localhost:PORT`.
    pub(crate) hosts: [String; 2],
    /// `/WORD/`.
    pub(crate) directory: String,
}

impl Address {
    /// A new directory.
    pub(crate) fn new(at: SocketAddr) -> io::Result<Self> {
        let mut word = [0u8; 16];
        // Up to 256 bytes are returned at once when the kernel's generator has its seed: getrandom(2).
        if getrandom(&mut word, GetRandomFlags::empty())? != word.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let hosts = [at.to_string(), format!("localhost:{}", at.port())];
        Ok(Self { hosts, directory: format!("/{:032x}/", u128::from_ne_bytes(word)) })
    }

    /// The address for the browser.
    pub(crate) fn url(&self) -> String {
        let [host, _] = &self.hosts;
        format!("http://{host}{}", self.directory)
    }

    /// Whether a `Host` field is ours. Names of hosts ignore case: RFC 9110, section 4.2.3.
    pub(crate) fn names(&self, host: &[u8]) -> bool {
        self.hosts.iter().any(|ours| host.eq_ignore_ascii_case(ours.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address() -> Address {
        Address::new(SocketAddr::from(([127, 0, 0, 1], 80))).unwrap()
    }

    #[test]
    fn each_directory_is_new() {
        let directories: std::collections::HashSet<_> = (0..100).map(|_| address().directory).collect();
        assert_eq!(directories.len(), 100);
        assert!(directories.iter().all(|directory| directory.len() == 34));
    }

    #[test]
    fn other_names_are_not_ours() {
        for (host, ours) in [
            ("127.0.0.1:80", true),
            ("LocalHost:80", true),
            ("", false),
            ("127.0.0.1", false),
            ("localhost:8", false),
            ("localhost:80.evil.example", false),
            ("evil.example:80", false),
        ] {
            assert_eq!(address().names(host.as_bytes()), ours, "{host}");
        }
    }
}
