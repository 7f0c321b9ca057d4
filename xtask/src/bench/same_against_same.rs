//! A command against itself, many times: how often `coldstart measure` claims a false difference.
//!
//! Its verdicts go by 99 % intervals, so of 40 comparisons 0.4 are expected to be wrong; three or more would come
//! about by chance once in 130 series.

use anyhow::Result;
use fs_err as fs;

use super::figure::{Asked, Figure, Unit};
use super::measurement::{Measurement, State, Verdict};
use super::record::Record;
use super::runner::words;
use super::workshop::{Workshop, text};

const COMPARISONS: u32 = 40;
/// Has gzip work for about 10 ms: long enough to be more than a launch, short enough for hundreds of runs.
const INPUT_BYTES: usize = 256 << 10;

pub(super) fn measure(workshop: &Workshop, record: &mut Record) -> Result<()> {
    let input = workshop.directory.join("gzip-input");
    fs::write(&input, letters(INPUT_BYTES))?;
    let command = ["gzip".to_owned(), "-c".to_owned(), text(&input)].to_vec();
    let mut arguments = words(["--state", "hot", "--runs"]);
    arguments.push(record.runs.to_string());
    let compare = [command.clone()];
    let comparisons: Result<Vec<_>> =
        (0..COMPARISONS).map(|_| workshop.measure(&arguments, &compare, &command)).collect();
    record.add("comparisons", comparisons?.into());
    Ok(())
}

pub(super) fn figures(record: &Record) -> Result<Vec<Figure>> {
    let mut times = Vec::new();
    let mut claimed = 0;
    let mut count = 0;
    for comparison in record.list("comparisons")? {
        let measurement = Measurement::from_json(comparison)?;
        times.extend(measurement.times(0, State::Hot));
        count += 1;
        // No verdict at all is no better than a wrong one.
        let verdict = measurement.comparison(1, State::Hot).map(|comparison| comparison.verdict);
        claimed += u32::from(verdict != Some(Verdict::NotShown));
    }
    let mut verdicts = Figure::new(
        "comparisons with another verdict than `not shown`",
        Unit::Count,
        Asked::AtMost(2.0),
        Some(f64::from(claimed)),
    );
    verdicts.count = count;
    Ok(vec![Figure::of_times("`gzip` of 256 KiB, hot", Unit::Milliseconds, Asked::Nothing, &times), verdicts])
}

/// Text that compresses about as well as base64 does: the same bytes on every machine.
fn letters(count: usize) -> Vec<u8> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    // Marsaglia's xorshift64 (2003).
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        ALPHABET[(state >> 58) as usize]
    };
    std::iter::repeat_with(next).take(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::benchmark::Benchmark;
    use crate::bench::measurement::tests::sample;
    use serde_json::json;

    #[test]
    fn every_other_verdict_counts() {
        let verdict = |verdict: &str| {
            let mut json = sample("hot", &[&[0.01, 0.01], &[0.01, 0.01]]);
            json["comparisons"][0]["verdict"] = json!(verdict);
            json
        };
        let mut record = Record::begin(Benchmark::SameAgainstSame, "2025-01-02", 2).unwrap();
        let list =
            json!([verdict("not-shown"), verdict("slower"), verdict("too-few"), sample("hot", &[&[0.01, 0.01]])]);
        record.add("comparisons", list);
        let figures = figures(&record).unwrap();
        assert_eq!((figures[1].value, figures[1].count), (Some(3.0), 4));
        assert_eq!(figures[1].is_met(), Some(false));
        assert_eq!(figures[0].count, 8);
    }

    #[test]
    fn the_input_is_the_same_each_time_and_uses_its_alphabet() {
        let text = letters(4096);
        assert_eq!(text, letters(4096));
        let distinct: std::collections::BTreeSet<u8> = text.into_iter().collect();
        assert_eq!(distinct.len(), 64);
    }
}
