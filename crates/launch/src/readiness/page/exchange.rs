//! The requests of one connection, in pieces or several at once, and their responses.
//!
//! No I/O here, so hostile bytes can be tested directly.

use std::time::Instant;

use super::answer::{Status, write_answer};
use super::request::{Parsed, parse};
use super::site::Site;

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

    /// Appends the response to the next request, if that is complete.
    pub(crate) fn answer_next(&mut self, site: &mut Site, now: Instant, output: &mut Vec<u8>) -> bool {
        if self.finished {
            return false;
        }
        let parsed = if self.worth_reading { parse(&self.input) } else { Parsed::Partial };
        let (status, head_only, length) = match parsed {
            Parsed::Complete(request, length) => {
                let status = site.answer(&request, now);
                // Content is not read, so the start of the next request would be unknown.
                self.finished = request.is_last || request.has_content;
                (status, request.method == "HEAD", length)
            }
            Parsed::Partial if self.input.len() < LONGEST_HEAD => {
                self.worth_reading = false;
                return false;
            }
            Parsed::Partial => {
                self.finished = true;
                (Status::HeadTooLarge, false, 0)
            }
            Parsed::Wrong => {
                self.finished = true;
                (Status::BadRequest, false, 0)
            }
        };
        write_answer(output, status, head_only, self.finished);
        if self.finished {
            self.input = Vec::new();
        } else {
            self.input.drain(..length.min(self.input.len()));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readiness::page::address::Address;
    use proptest::prelude::*;

    fn site() -> Site {
        Site::new(&Address { authority: "a".into(), directory: "/t/".into() })
    }

    /// All answers to chunks.
    fn answers<'a>(site: &mut Site, chunks: impl IntoIterator<Item = &'a [u8]>) -> (String, Exchange) {
        let mut exchange = Exchange::default();
        let mut output = Vec::new();
        for chunk in chunks {
            exchange.receive(chunk);
            while exchange.answer_next(site, Instant::now(), &mut output) {}
        }
        (String::from_utf8(output).unwrap(), exchange)
    }

    fn statuses(answers: &str) -> Vec<&str> {
        answers.lines().filter_map(|line| line.strip_prefix("HTTP/1.1 ")).filter_map(|line| line.get(..3)).collect()
    }

    const START: &[u8] = b"HEAD /t/ HTTP/1.1\r\nHost: a\r\n\r\nGET /t/ HTTP/1.1\r\nHost: a\r\n\r\n\
        POST /t/ready?shown=5 HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\nGET /favicon.ico HTTP/1.1\r\nHost: a\r\n\r\n";

    #[test]
    fn requests_are_answered_in_order_however_they_come() {
        for size in [1, 2, 7, 60, 1000] {
            let mut site = site();
            let (answers, exchange) = answers(&mut site, START.chunks(size));
            assert_eq!(statuses(&answers), ["200", "200", "204", "404"]);
            assert_eq!(answers.matches("<!DOCTYPE").count(), 1, "the answer to HEAD has no content");
            assert!(site.report().is_some() && !exchange.is_finished());
        }
    }

    #[test]
    fn lengths_are_right() {
        let (answers, _) = answers(&mut site(), [&b"GET /t/ HTTP/1.0\r\nHost: a\r\n\r\nGET /t/"[..]]);
        let (head, content) = answers.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("\r\nContent-Length: {}", content.len())), "{head}");
        assert!(head.contains("\r\nConnection: close") && head.contains("text/html; charset=utf-8"), "{head}");
        assert!(content.ends_with("</html>\n"));
    }

    #[test]
    fn garbage_and_endless_heads_end_the_connection() {
        let endless = vec![b'a'; 1000];
        let endless = std::iter::once(&b"GET / HTTP/1.1\r\nx: "[..]).chain(std::iter::repeat_n(&endless[..], 200));
        let (text, exchange) = answers(&mut site(), endless);
        assert_eq!((statuses(&text), exchange.is_finished()), (vec!["431"], true));
        assert_eq!(exchange.input.capacity(), 0);
        let (text, exchange) = answers(&mut site(), [&b"\x16\x03\x01"[..], START]);
        assert_eq!((statuses(&text), exchange.is_finished()), (vec!["400"], true));
        let (text, _) =
            answers(&mut site(), [&b"POST /t/ HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n"[..], START]);
        assert_eq!(statuses(&text), ["413"]);
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
            let (whole, _) = answers(&mut site(), [&bytes[..]]);
            let (pieces, exchange) = answers(&mut site(), bytes.chunks(size));
            prop_assert!(exchange.held() <= LONGEST_HEAD + size);
            prop_assert_eq!(statuses(&whole), statuses(&pieces));
        }
    }
}
