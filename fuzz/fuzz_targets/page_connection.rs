//! Any bytes sent to the server of the readiness page: answers in HTTP/1.1 that tell their lengths, the same ones wherever
//! the pieces end, and no memory kept for what will never be a request.

#![no_main]

use coldstart_fuzz::pieces::stream;
use coldstart_launch::fuzzing::page_connection;
use libfuzzer_sys::fuzz_target;

/// A head may not be longer.
const LONGEST_HEAD: usize = 64 * 1024;

fuzz_target!(|input: &[u8]| {
    let Some((mut bytes, size)) = stream(input) else { return };
    // Only a line's end makes the server look at what came: without one, what the last piece shows is not seen yet.
    bytes.push(b'\n');
    let (pieces, is_ready) = page_connection(bytes.chunks(size));
    assert!(pieces.held <= LONGEST_HEAD + size);
    assert!(!pieces.is_finished || pieces.held == 0);
    let statuses = statuses(&pieces.answers);
    if is_ready {
        assert!(bytes.windows(8).any(|word| word == b"/t/ready"));
    }
    // A head that comes whole may be longer than one whose beginning alone is too long.
    if bytes.len() < LONGEST_HEAD {
        let (whole, is_ready_whole) = page_connection([&bytes[..]]);
        let end = (whole.held, whole.is_finished, is_ready_whole);
        assert_eq!(end, (pieces.held, pieces.is_finished, is_ready));
        // Not the bytes: the time of day may go on.
        assert_eq!(self::statuses(&whole.answers), statuses);
    }
});

/// Reads answers one by one, as a browser does that has sent no HEAD; a HEAD's answer has no content. Returns their first lines.
fn statuses(mut rest: &[u8]) -> Vec<&str> {
    let mut statuses = Vec::new();
    while !rest.is_empty() {
        assert!(rest.starts_with(b"HTTP/1.1 "), "{}", rest.escape_ascii());
        let end = rest.windows(4).position(|window| window == b"\r\n\r\n").expect("a head ends");
        let head = std::str::from_utf8(&rest[..end]).expect("it is ASCII");
        statuses.extend(head.lines().next());
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        let length: usize = length.map_or(0, |digits| digits.parse().expect("a length is a number"));
        rest = &rest[end + 4..];
        if !rest.is_empty() && !rest.starts_with(b"HTTP/1.1 ") {
            rest = rest.get(length..).expect("the content is as long as told");
        }
    }
    statuses
}
