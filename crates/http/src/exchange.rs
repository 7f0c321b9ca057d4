//! The requests of one connection, in pieces or several at once, and their answers.
//!
//! No I/O here, so hostile bytes can be tested directly.

use std::time::Instant;

use crate::address::Address;
use crate::answer::Answer;
use crate::{Request, Site, Status};

/// The limit of a head. Cookies ignore ports: all cookies of other programs for 127.0.0.1 are sent along.
const LONGEST_HEAD: usize = 64 * 1024;

#[derive(Debug, Default)]
pub(crate) struct Exchange {
    input: Vec<u8>,
    /// Something came that may have made a request complete, or showed that there is none.
    worth_reading: bool,
    finished: bool,
}

impl Exchange {
    /// Takes received bytes.
    pub(crate) fn receive(&mut self, chunk: &[u8]) {
        if self.finished {
            return;
        }
        // A head is complete at a line's end. One that arrives byte by byte is not parsed again at each byte.
        self.worth_reading |= self.input.is_empty() || chunk.contains(&b'\n');
        self.input.extend_from_slice(chunk);
    }

    /// How many bytes are kept of an incomplete request.
    pub(crate) fn held(&self) -> usize {
        self.input.len()
    }

    /// Whether no more requests are answered.
    pub(crate) fn is_finished(&self) -> bool {
        self.finished
    }

    /// The answer to the next request, if that is complete.
    pub(crate) fn answer_next<S: Site>(&mut self, site: &mut S, address: &Address, now: Instant) -> Option<Answer> {
        if self.finished {
            return None;
        }
        let parsed = if self.worth_reading { Request::parse(&self.input) } else { Ok(None) };
        let (status, head_only, length) = match parsed {
            Ok(Some((request, length))) => {
                // Content is not read, so the start of the next request would be unknown.
                self.finished = !S::IS_PERSISTENT || request.is_last || request.has_content;
                let head_only = request.method == "HEAD";
                (status(request, site, address, now), head_only, length)
            }
            Ok(None) if self.input.len() < LONGEST_HEAD => {
                self.worth_reading = false;
                return None;
            }
            refused => {
                self.finished = true;
                (refused.err().unwrap_or(Status::HeadTooLarge), false, 0)
            }
        };
        if self.finished {
            self.input = Vec::new();
        } else {
            self.input.drain(..length.min(self.input.len()));
        }
        Some(Answer::new(site, status, head_only, self.finished))
    }
}

/// The site's decision, if the request knows our name and directory.
fn status(request: Request<'_>, site: &mut impl Site, address: &Address, now: Instant) -> Status {
    if !request.host.is_some_and(|host| address.names(host)) {
        return Status::Misdirected;
    }
    let Some(target) = request.target.strip_prefix(&address.directory) else { return Status::NotFound };
    site.answer(&Request { target, ..request }, now)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::fuzzing::{Outcome, exchange};

    /// Has a page, and takes what is posted to `ready`; counts.
    #[derive(Default)]
    struct Counting<const IS_PERSISTENT: bool>(usize);

    impl<const IS_PERSISTENT: bool> Site for Counting<IS_PERSISTENT> {
        const IS_PERSISTENT: bool = IS_PERSISTENT;
        const FIELDS: &'static [(&'static str, &'static str)] = &[("X-Ours", "1")];

        fn page(&self) -> Arc<[u8]> {
            b"<!DOCTYPE html></html>\n".as_slice().into()
        }

        fn answer(&mut self, request: &Request<'_>, _now: Instant) -> Status {
            self.0 += 1;
            match (request.method, request.target.split('?').next()) {
                ("GET" | "HEAD", Some("")) => Status::Page,
                ("POST", Some("ready")) => Status::Taken,
                (_, Some("")) => Status::MethodNotAllowed("GET, HEAD"),
                _ => Status::NotFound,
            }
        }
    }

    fn answers<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (String, Outcome) {
        let outcome = exchange(&mut Counting::<true>::default(), pieces);
        (String::from_utf8(outcome.answers.clone()).unwrap(), outcome)
    }

    fn statuses(answers: &str) -> Vec<&str> {
        answers.lines().filter_map(|line| line.strip_prefix("HTTP/1.1 ")).filter_map(|line| line.get(..3)).collect()
    }

    const START: &[u8] = b"HEAD /t/ HTTP/1.1\r\nHost: a\r\n\r\nGET /t/ HTTP/1.1\r\nHost: A\r\n\r\n\
        POST /t/ready?shown=5 HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\nGET /favicon.ico HTTP/1.1\r\nHost: a\r\n\r\n";

    #[test]
    fn requests_are_answered_in_order_however_they_come() {
        for size in [1, 2, 7, 60, 1000] {
            let (answers, outcome) = answers(START.chunks(size));
            assert_eq!(statuses(&answers), ["200", "200", "204", "404"]);
            assert_eq!(answers.matches("<!DOCTYPE").count(), 1, "the answer to HEAD has no content");
            assert!(!outcome.is_finished);
        }
    }

    #[test]
    fn some_sites_answer_once() {
        let outcome = exchange(&mut Counting::<false>::default(), START.chunks(7));
        let answers = String::from_utf8(outcome.answers).unwrap();
        assert_eq!((statuses(&answers), outcome.is_finished, outcome.held), (vec!["200"], true, 0));
        assert!(answers.contains("\r\nConnection: close\r\n"), "{answers}");
    }

    #[test]
    fn lengths_and_fields_are_right() {
        let (text, _) = answers([&b"GET /t/ HTTP/1.0\r\nHost: a\r\n\r\nGET /t/"[..]]);
        let (head, content) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("\r\nContent-Length: {}", content.len())), "{head}");
        assert!(head.contains("\r\nConnection: close") && head.contains("text/html; charset=utf-8"), "{head}");
        assert!(
            head.contains("\r\nX-Ours: 1\r\n") && head.contains("\r\nDate: ") && head.contains(" GMT\r\n"),
            "{head}"
        );
        assert!(content.ends_with("</html>\n"));
        let (text, _) = answers([&b"DELETE /t/ HTTP/1.1\r\nHost: a\r\n\r\n"[..]]);
        assert!(text.contains("\r\nAllow: GET, HEAD\r\n") && text.ends_with("no page here\n"), "{text}");
    }

    #[test]
    fn only_who_knows_our_name_and_directory_reaches_the_site() {
        for (request, status) in [
            ("GET /t/ HTTP/1.1\r\n\r\n", "421"),
            ("GET /t/ HTTP/1.1\r\nHost: b\r\n\r\n", "421"),
            ("GET /t/ HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", "421"),
            ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", "404"),
            ("GET /t HTTP/1.1\r\nHost: a\r\n\r\n", "404"),
            ("GET /T/ HTTP/1.1\r\nHost: a\r\n\r\n", "404"),
            ("POST http://a/t/ready HTTP/1.1\r\nHost: a\r\n\r\n", "404"),
        ] {
            let mut site = Counting::<true>::default();
            let outcome = exchange(&mut site, [request.as_bytes()]);
            assert_eq!(statuses(&String::from_utf8(outcome.answers).unwrap()), [status], "{request}");
            assert_eq!(site.0, 0, "{request}");
        }
    }

    #[test]
    fn garbage_content_and_endless_heads_end_the_connection() {
        let piece = [b'a'; 1000];
        let endless = std::iter::once(&b"GET / HTTP/1.1\r\nx: "[..]).chain(std::iter::repeat_n(&piece[..], 200));
        let content = [&b"POST /t/ready HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n"[..], START];
        for (pieces, status) in
            [(endless.collect(), "431"), (vec![&b"\x16\x03\x01"[..], START], "400"), (content.to_vec(), "204")]
        {
            let (text, outcome) = answers(pieces);
            assert_eq!((statuses(&text), outcome.is_finished, outcome.held), (vec![status], true, 0));
        }
    }

    proptest! {
        #[test]
        fn bytes_of_any_kind_are_survived(
            mut chunks in prop::collection::vec(prop_oneof![
                prop::collection::vec(any::<u8>(), 0..300),
                "(GET|POST|HEAD|[A-Z]{1,4}) (/t/|/t/ready\\?shown=.{0,20}|/.{0,9}) HTTP/1.[012]\r\n".prop_map(String::into_bytes),
                "(Host: a|Content-Length: .{0,9}|Connection: .{0,9}|.{0,20})\r?\n(\r?\n)?".prop_map(String::into_bytes),
                prop::sample::select(vec![START.to_vec()]),
            ], 0..12),
            size in 1usize..500,
        ) {
            // In pieces, what is no request is noticed at the next line's end, unless its first piece shows it.
            chunks.push(b"\n".to_vec());
            let bytes: Vec<u8> = chunks.concat();
            let (whole, _) = answers([&bytes[..]]);
            let (pieces, outcome) = answers(bytes.chunks(size));
            prop_assert!(outcome.held <= LONGEST_HEAD + size);
            prop_assert_eq!(statuses(&whole), statuses(&pieces));
        }
    }
}
