//! Pages of one file with the number of recordings that have them.

use super::recording::RecordedPages;

/// Pages that the same recordings have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CountedRun {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) count: u32,
    /// Sum of the places of first use.
    at: u64,
    /// When it was recorded where the pages are, and where: the latest counts.
    origin: Option<(i64, u64)>,
}

impl CountedRun {
    /// Mean place of the first use.
    pub(super) fn at(&self) -> u64 {
        self.at / u64::from(self.count.max(1))
    }

    /// See [`RecordedPages::origin`].
    pub(super) fn origin(&self) -> Option<u64> {
        self.origin.map(|(_, origin)| origin)
    }
}

/// Ascending, disjoint runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CountedPages {
    runs: Vec<CountedRun>,
}

impl CountedPages {
    pub(super) fn runs(&self) -> &[CountedRun] {
        &self.runs
    }

    /// Counts a recording's pages (ascending and disjoint). Takes time proportional to both.
    pub(super) fn add(&mut self, pieces: &[RecordedPages], recorded_at: i64, same_disk: bool) {
        let as_run = |piece: &RecordedPages| CountedRun {
            start: piece.start,
            end: piece.end,
            count: 1,
            at: piece.at,
            origin: piece.origin.filter(|_| same_disk).map(|origin| (recorded_at, origin)),
        };
        let mut merged = Vec::with_capacity(self.runs.len() + pieces.len());
        let mut old = std::mem::take(&mut self.runs).into_iter().peekable();
        let mut new = pieces.iter().map(as_run).peekable();
        loop {
            match (old.peek_mut(), new.peek_mut()) {
                (Some(a), Some(b)) => {
                    if a.start < b.start {
                        push(&mut merged, take_until(a, b.start));
                    } else if b.start < a.start {
                        push(&mut merged, take_until(b, a.start));
                    } else {
                        let end = a.end.min(b.end);
                        let (a, b) = (take_until(a, end), take_until(b, end));
                        let origin = a.origin.max(b.origin);
                        push(&mut merged, CountedRun { count: a.count + b.count, at: a.at + b.at, origin, ..a });
                    }
                }
                (Some(run), None) => push(&mut merged, take_until(run, u64::MAX)),
                (None, Some(run)) => push(&mut merged, take_until(run, u64::MAX)),
                (None, None) => break,
            }
            old.next_if(|run| run.start >= run.end);
            new.next_if(|run| run.start >= run.end);
        }
        self.runs = merged;
    }
}

/// Cuts off the part of a run before `end`, or all of it.
fn take_until(run: &mut CountedRun, end: u64) -> CountedRun {
    let taken = CountedRun { end: run.end.min(end), ..*run };
    run.start = taken.end;
    taken
}

/// Appends a run, to the last one if that differs in nothing but its pages.
fn push(runs: &mut Vec<CountedRun>, run: CountedRun) {
    match runs.last_mut() {
        Some(last) if *last == (CountedRun { start: last.start, end: last.end, ..run }) && last.end == run.start => {
            last.end = run.end;
        }
        _ => runs.push(run),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pieces(ranges: &[(u64, u64)], at: u64) -> Vec<RecordedPages> {
        let mut end = 0;
        let mut pieces = Vec::new();
        for &(gap, count) in ranges {
            pieces.push(RecordedPages { start: end + gap, end: end + gap + count, at, origin: None });
            end += gap + count;
        }
        pieces
    }

    #[test]
    fn pages_are_counted_where_recordings_overlap() {
        let mut counted = CountedPages::default();
        counted.add(&pieces(&[(0, 10)], 4), 0, true);
        counted.add(&pieces(&[(5, 10)], 8), 0, true);
        let runs: Vec<_> = counted.runs().iter().map(|run| (run.start, run.end, run.count, run.at())).collect();
        assert_eq!(runs, [(0, 5, 1, 4), (5, 10, 2, 6), (10, 15, 1, 8)]);
    }

    proptest! {
        #[test]
        fn each_page_has_the_number_of_recordings_that_read_it(
            recordings in prop::collection::vec(prop::collection::vec((0u64..9, 1u64..9), 0..8), 1..8),
        ) {
            let mut counted = CountedPages::default();
            let all: Vec<_> = recordings.iter().zip(1u64..).map(|(ranges, at)| pieces(ranges, at)).collect();
            for recording in &all {
                counted.add(recording, 0, true);
            }
            let mut backwards = CountedPages::default();
            for recording in all.iter().rev() {
                backwards.add(recording, 0, true);
            }
            prop_assert_eq!(&counted, &backwards);
            for page in 0..140 {
                let having = all.iter().flatten().filter(|piece| (piece.start..piece.end).contains(&page));
                let (wanted, sum) = having.fold((0, 0), |(count, sum), piece| (count + 1, sum + piece.at));
                let found = counted.runs().iter().find(|run| (run.start..run.end).contains(&page));
                prop_assert_eq!(found.map_or((0, 0), |run| (run.count, run.at)), (wanted, sum));
            }
            prop_assert!(counted.runs().windows(2).all(|pair| pair[0].end <= pair[1].start));
        }
    }
}
