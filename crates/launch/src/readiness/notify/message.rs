//! One notification: lines of `NAME=VALUE` (`sd_notify(3)`).

/// How much of a message is shown.
const EXCERPT_LENGTH: usize = 200;

/// A notification as received.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message<'a> {
    bytes: &'a [u8],
}

impl<'a> Message<'a> {
    /// `is_truncated`: the end is missing. The incomplete line could look like another one and is ignored.
    pub(crate) fn new(bytes: &'a [u8], is_truncated: bool) -> Self {
        if is_truncated {
            let whole = bytes.iter().rposition(|&byte| byte == b'\n').unwrap_or(0);
            return Self { bytes: bytes.get(..whole).unwrap_or_default() };
        }
        // Some senders count the end of the C string: systemd permits it, too (`manager_dispatch_notify_fd`).
        Self { bytes: bytes.strip_suffix(b"\0").unwrap_or(bytes) }
    }

    /// Whether it says that the program is ready.
    pub(crate) fn is_ready(self) -> bool {
        self.bytes.split(|&byte| byte == b'\n').any(|line| line == b"READY=1")
    }

    /// Its beginning on one line, safe for a terminal.
    pub(crate) fn excerpt(self) -> String {
        let shown = self.bytes.get(..EXCERPT_LENGTH).unwrap_or(self.bytes).trim_ascii();
        let mut text: String = String::from_utf8_lossy(shown).escape_debug().collect();
        if shown.len() < self.bytes.trim_ascii().len() {
            text.push_str("...");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn is_ready(bytes: &[u8]) -> bool {
        Message::new(bytes, false).is_ready()
    }

    #[test]
    fn a_whole_line_is_the_sign() {
        for ready in
            ["READY=1", "READY=1\n", "STATUS=x\nREADY=1", "READY=1\nMAINPID=3", "READY=1\0", "A\n\nREADY=1\n\n"]
        {
            assert!(is_ready(ready.as_bytes()), "{ready:?}");
        }
        assert!(is_ready(b"STATUS=\xff\xfe\nREADY=1"));
        for other in
            ["", "READY=0", "READY=11", "XREADY=1", " READY=1", "STATUS=READY=1", "READY=1\0\nA", "ready=1", "\n"]
        {
            assert!(!is_ready(other.as_bytes()), "{other:?}");
        }
    }

    #[test]
    fn of_a_truncated_message_only_whole_lines_count() {
        assert!(Message::new(b"READY=1\nSTATUS=lo", true).is_ready());
        assert!(!Message::new(b"STATUS=lo\nREADY=1", true).is_ready());
        assert!(!Message::new(b"READY=1", true).is_ready());
    }

    #[test]
    fn what_is_shown_is_short_and_harmless() {
        let shown = |bytes: &[u8]| Message::new(bytes, false).excerpt();
        assert_eq!(shown(b"STATUS=Loading\nX=1\n"), "STATUS=Loading\\nX=1");
        assert_eq!(shown(b"STATUS=\x1b[31m"), "STATUS=\\u{1b}[31m");
        assert!(shown(&[b'x'; 1000]).ends_with("x..."));
    }

    proptest! {
        #[test]
        fn hostile_messages_are_harmless(bytes in prop::collection::vec(any::<u8>(), 0..600), is_truncated: bool) {
            let message = Message::new(&bytes, is_truncated);
            message.is_ready();
            prop_assert!(message.excerpt().chars().all(|character| !character.is_control()));
        }

        #[test]
        fn lines_around_it_make_no_difference(before in "([A-Z=a-z]{0,9}\n){0,3}", after in "(\n[A-Z=a-z]{0,9}){0,3}") {
            let message = format!("{before}READY=1{after}");
            prop_assert!(is_ready(message.as_bytes()));
        }
    }
}
