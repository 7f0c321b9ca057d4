//! The exchange on one connection, for fuzz targets and the tests of sites.

use std::time::Instant;

use crate::address::Address;
use crate::exchange::Exchange;
use crate::site::Site;

/// The result of one connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// All answers, concatenated.
    pub answers: Vec<u8>,
    /// Bytes kept of an incomplete request.
    pub held: usize,
    /// No more requests are answered.
    pub is_finished: bool,
}

/// Answers requests that come in pieces, to the host `a`, in the directory `/t/`.
pub fn exchange<'a>(site: &mut impl Site, pieces: impl IntoIterator<Item = &'a [u8]>) -> Outcome {
    let address = Address { hosts: ["a".into(), "localhost".into()], directory: "/t/".into() };
    let mut exchange = Exchange::default();
    let mut answers = Vec::new();
    for piece in pieces {
        exchange.receive(piece);
        while let Some(answer) = exchange.answer_next(site, &address, Instant::now()) {
            answers.extend_from_slice(answer.head.as_bytes());
            answers.extend_from_slice(&answer.content);
        }
    }
    Outcome { answers, held: exchange.held(), is_finished: exchange.is_finished() }
}
