//! The status of an HTTP response.
//!
//! Headers of the final response are never read: only the status line must be complete, and the server may send anything
//! after it.

/// The limit for a status line, or an interim response with its headers.
const LONGEST_HEAD: usize = 16 * 1024;
/// Headers of an interim answer.
const MOST_HEADERS: usize = 64;

/// The beginning of a response, growing.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    bytes: Vec<u8>,
}

/// The state of a response so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// The status line is not complete.
    Incomplete,
    /// The status of the final answer.
    Final(u16),
    /// Not HTTP/1, or without end.
    Garbage,
}

impl Answer {
    pub(crate) fn take(&mut self, chunk: &[u8]) -> Status {
        let mut rest = chunk;
        loop {
            // What does not fit now is handled once an interim response has been consumed.
            let room = LONGEST_HEAD.saturating_sub(self.bytes.len());
            let (taken, later) = rest.split_at_checked(room).unwrap_or((rest, &[]));
            self.bytes.extend_from_slice(taken);
            rest = later;
            let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
            let mut response = httparse::Response::new(&mut headers);
            let parsed = response.parse(&self.bytes);
            // The parser sets the code before the line is complete; the reason, even if empty, only then.
            let status = response.code.filter(|_| response.reason.is_some());
            return match (status, parsed) {
                // 101 is not interim but a switch to another protocol (RFC 9110, 15.2.2), which we did not request.
                (Some(100 | 102..200), Ok(httparse::Status::Complete(length))) => {
                    self.bytes.drain(..length.min(self.bytes.len()));
                    continue;
                }
                (Some(status @ (101 | 200..)), _) => Status::Final(status),
                (_, Ok(httparse::Status::Partial)) if self.bytes.len() < LONGEST_HEAD => Status::Incomplete,
                _ => Status::Garbage,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn status(answer: &[u8]) -> Status {
        Answer::default().take(answer)
    }

    #[test]
    fn the_status_line_is_enough() {
        assert_eq!(status(b"HTTP/1.1 200 OK\r\n"), Status::Final(200));
        assert_eq!(status(b"HTTP/1.0 204\r\n"), Status::Final(204));
        assert_eq!(status(b"HTTP/1.1 503 \n"), Status::Final(503));
        assert_eq!(status(b"\r\nHTTP/1.1 200 Gr\xfc\xdf Gott\r\n: broken header\r\n"), Status::Final(200));
        for part in [
            "",
            "H",
            "HTTP/1.1 ",
            "HTTP/1.1 20",
            "HTTP/1.1 200",
            "HTTP/1.1 200 ",
            "HTTP/1.1 200 OK",
            "HTTP/1.1 200 OK\r",
        ] {
            assert_eq!(status(part.as_bytes()), Status::Incomplete, "{part}");
        }
    }

    #[test]
    fn interim_answers_are_skipped() {
        let early = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n".to_vec();
        assert_eq!(status(&early), Status::Incomplete);
        assert_eq!(status(&[&early, &b"HTTP/1.1 200 OK\r\n"[..]].concat()), Status::Final(200));
        assert_eq!(status(b"HTTP/1.1 101 Switching Protocols\r\n\r\n"), Status::Final(101));
    }

    #[test]
    fn what_is_not_http_is_told_at_once() {
        for garbage in [
            "SSH-2.0-OpenSSH\r\n",
            "HTTP/2 200\r\n",
            "+PONG\r\n",
            "HTTP/1.1 2000 OK\r\n",
            "HTTP/1.1 abc\r\n",
            "\0",
            "HTTP/1.1 099 x\r\n\r\n",
        ] {
            assert_eq!(status(garbage.as_bytes()), Status::Garbage, "{garbage}");
        }
    }

    #[test]
    fn endless_heads_are_bounded() {
        let endless: [(&[u8], &[u8]); 3] =
            [(b"HTTP/1.1 200 ", b"x"), (b"", b"\r\n"), (b"HTTP/1.1 103 Early Hints\r\n", b"A: b\r\n")];
        for (beginning, repeated) in endless {
            let mut answer = Answer::default();
            let mut last = answer.take(beginning);
            for _ in 0..40 {
                last = answer.take(&repeated.repeat(1000));
                assert!(answer.bytes.len() <= LONGEST_HEAD);
            }
            assert_eq!(last, Status::Garbage);
        }
    }

    #[test]
    fn what_follows_long_interim_answers_is_not_lost() {
        let interim = [b"HTTP/1.1 103 Early Hints\r\nLink: ", &b"x".repeat(10_000)[..], b"\r\n\r\n"].concat();
        let long = [&interim.repeat(3)[..], b"HTTP/1.1 200 OK\r\n"].concat();
        assert_eq!(status(&long), Status::Final(200));
        let mut answer = Answer::default();
        assert_eq!(answer.take(&interim[..6000]), Status::Incomplete);
        assert_eq!(answer.take(&long[6000..]), Status::Final(200));
    }

    proptest! {
        #[test]
        fn hostile_answers_are_harmless(
            prefix in prop::sample::select(vec!["", "HTTP/1.1 ", "HTTP/1.1 200", "HTTP/1.1 103 x\r\n", "HTTP/1.1 100 \r\n\r\n"]),
            rest in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            status(&[prefix.as_bytes(), &rest].concat());
        }

        #[test]
        fn chunk_borders_make_no_difference(
            answer in "(HTTP/1.1 10[0-3] ?[a-z]?\r\n(A: b\r\n)?\r\n){0,3}HTTP/1.[01] [2-5][0-9]{2} ?[a-z]{0,3}\r\n",
            size in 1usize..20,
        ) {
            let mut pieces = Answer::default();
            let mut last = Status::Incomplete;
            for chunk in answer.as_bytes().chunks(size) {
                last = pieces.take(chunk);
                if last != Status::Incomplete {
                    break;
                }
            }
            prop_assert_eq!(last, status(answer.as_bytes()));
        }
    }
}
