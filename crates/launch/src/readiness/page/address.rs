//! The page's address, new and unguessable for each launch, and its placeholder in the program's arguments.

use std::ffi::{OsStr, OsString};
use std::io;
use std::net::TcpListener;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use rustix::rand::{GetRandomFlags, getrandom};

use crate::command_line::CommandLine;

/// The placeholder for the address in arguments.
const PLACEHOLDER: &[u8] = b"{ready_url}";

/// The page's address: the authority that requests must name, and the secret directory.
///
/// The directory keeps web pages and other users from reporting; it is visible in the program's arguments to users who may list the
/// machine's processes.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    /// As in the `Host` field: `127.0.0.1:PORT`.
    pub(crate) authority: String,
    /// `/TOKEN/`.
    pub(crate) directory: String,
}

impl Address {
    /// A new directory at a listener's port.
    pub(super) fn of(listener: &TcpListener) -> io::Result<Self> {
        let mut token = [0u8; 16];
        // Up to 256 bytes are returned at once when the kernel's generator has its seed: getrandom(2).
        if getrandom(&mut token, GetRandomFlags::empty())? != token.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let token = u128::from_ne_bytes(token);
        Ok(Self { authority: listener.local_addr()?.to_string(), directory: format!("/{token:032x}/") })
    }

    /// The address for the browser.
    pub(super) fn url(&self) -> String {
        format!("http://{}{}", self.authority, self.directory)
    }
}

/// The command line with the address in place of `{ready_url}` in its arguments. `None` if there is no `{ready_url}`.
pub(super) fn with_address(given: &CommandLine, url: &str) -> Option<CommandLine> {
    let mut found = false;
    let arguments = given.arguments.iter().map(|argument| {
        let replaced = replaced(argument, url);
        found |= replaced.is_some();
        replaced.unwrap_or_else(|| argument.clone())
    });
    let arguments = arguments.collect();
    found.then(|| CommandLine { program: given.program.clone(), arguments })
}

fn replaced(argument: &OsStr, url: &str) -> Option<OsString> {
    let mut rest = argument.as_bytes();
    let mut replaced = Vec::new();
    while let Some(at) = rest.windows(PLACEHOLDER.len()).position(|window| window == PLACEHOLDER) {
        let (before, after) = rest.split_at(at);
        replaced.extend_from_slice(before);
        replaced.extend_from_slice(url.as_bytes());
        rest = after.get(PLACEHOLDER.len()..).unwrap_or_default();
    }
    if replaced.is_empty() {
        return None;
    }
    replaced.extend_from_slice(rest);
    Some(OsString::from_vec(replaced))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_goes_wherever_it_is_asked_for() {
        let odd = OsString::from_vec(b"\xff{ready_url}#{ready_url}\xfe".to_vec());
        let given = CommandLine::new("b", [OsString::from("--app={ready_url}"), "{ready_url".into(), odd]);
        let replaced = with_address(&given, "http://x/").unwrap();
        assert_eq!(replaced.program, "b");
        let arguments: Vec<_> = replaced.arguments.iter().map(|argument| argument.as_bytes()).collect();
        assert_eq!(arguments, [&b"--app=http://x/"[..], b"{ready_url", b"\xffhttp://x/#http://x/\xfe"]);
    }

    #[test]
    fn a_command_line_that_asks_for_none_gets_none() {
        assert_eq!(with_address(&CommandLine::new("{ready_url}", ["{ready_ur}", ""]), "http://x/"), None);
    }

    #[test]
    fn each_directory_is_new() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let directories: std::collections::HashSet<_> =
            (0..100).map(|_| Address::of(&listener).unwrap().directory).collect();
        assert_eq!(directories.len(), 100);
        assert!(directories.iter().all(|directory| directory.len() == 34));
    }
}
