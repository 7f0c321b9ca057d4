//! Any bytes as a server's answer: a status or a refusal, the same one wherever the pieces end.

#![no_main]

use coldstart_fuzz::pieces::stream;
use coldstart_launch::fuzzing::http_answer;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((bytes, size)) = stream(input) else { return };
    let whole = http_answer([&bytes[..]]);
    assert_eq!(http_answer(bytes.chunks(size)), whole);
    if let Ok(Some(status)) = whole {
        assert!(status == 101 || (200..1000).contains(&status), "{status}");
        assert!(bytes.windows(3).any(|digits| digits == status.to_string().as_bytes()), "{status} stands there");
    }
});
