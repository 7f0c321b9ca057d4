//! `{ready_url}` in the program's arguments, the placeholder for the page's address.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::command_line::CommandLine;

const PLACEHOLDER: &[u8] = b"{ready_url}";

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
}
