//! Any bytes as a message of `sd_notify(3)`: the sign is found where a line is it, and what is shown is short and harmless.

#![no_main]

use coldstart_launch::fuzzing::notification;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let (is_ready, shown) = notification(bytes, false);
    harmless(&shown);
    let without_zero = bytes.strip_suffix(b"\0").unwrap_or(bytes);
    assert_eq!(is_ready, [b"\n", without_zero, b"\n"].concat().windows(9).any(|line| line == b"\nREADY=1\n"));

    let (is_ready_when_cut, shown) = notification(bytes, true);
    harmless(&shown);
    let lines = bytes.iter().rposition(|&byte| byte == b'\n').map_or(&[][..], |last| &bytes[..last]);
    assert_eq!(is_ready_when_cut, notification(&[lines, b"\n"].concat(), false).0);
});

/// No escape sequence of a terminal, on one line, and not longer than 200 bytes can become when each is escaped.
fn harmless(shown: &str) {
    assert!(!shown.chars().any(char::is_control), "{shown:?}");
    assert!(shown.len() <= 200 * "\\u{10ffff}".len() + "...".len(), "{}", shown.len());
}
