//! Finding the resident runs of a file with as few queries as possible.
//!
//! Counting a range is cheap for the kernel when the range is empty or full, listing has a cost per page. So
//! ranges are halved until they are empty, full, or small enough to list. A sparse file of terabytes with a few
//! resident pages takes some dozens of queries.

/// The two queries, in base pages. Results may change at any moment.
pub(crate) trait Pages {
    type Error;
    /// How many of `count` pages from `start` are resident. `None`: cannot be counted here.
    fn count(&mut self, start: u64, count: u64) -> Result<Option<u64>, Self::Error>;
    /// Which of `count` pages from `start` are resident. `None`: cannot be listed here.
    fn list(&mut self, start: u64, count: u64) -> Result<Option<Vec<bool>>, Self::Error>;
}

/// At most this many pages are listed at once: 256 MiB of a file, a list of 64 KiB, about 2 ms.
const MOST_LISTED: u64 = 1 << 16;

/// A run of base pages: first page and number.
pub(crate) type Run = (u64, u64);

/// The resident runs among pages `0 .. total`, in order, not adjacent. Pages that can neither be counted nor listed
/// count as not resident; the caller makes sure one method works.
pub(crate) fn resident_runs<P: Pages>(pages: &mut P, total: u64) -> Result<Vec<Run>, P::Error> {
    let mut runs = Vec::new();
    let mut open = vec![(0, total)];
    while let Some((start, count)) = open.pop() {
        if count == 0 {
            continue;
        }
        match pages.count(start, count)? {
            Some(0) => continue,
            Some(resident) if resident >= count => push(&mut runs, start, count),
            _ if count <= MOST_LISTED => match pages.list(start, count)? {
                Some(list) => push_list(&mut runs, start, &list),
                None => halve(&mut open, start, count),
            },
            _ => halve(&mut open, start, count),
        }
    }
    Ok(runs)
}

/// Puts the two halves on the stack, the front one on top. The cut is at a power of two, as large folios are.
fn halve(open: &mut Vec<Run>, start: u64, count: u64) {
    if count < 2 {
        return;
    }
    let front = 1 << (u64::BITS - 1 - (count - 1).leading_zeros());
    open.push((start.saturating_add(front), count - front));
    open.push((start, front));
}

fn push_list(runs: &mut Vec<Run>, start: u64, list: &[bool]) {
    let mut page = start;
    for run in list.chunk_by(|left, right| left == right) {
        let count = run.len() as u64;
        if run[0] {
            push(runs, page, count);
        }
        page += count;
    }
}

/// Appends a run, joined with the one before if they touch.
fn push(runs: &mut Vec<Run>, start: u64, count: u64) {
    match runs.last_mut() {
        Some((last, length)) if *last + *length == start => *length += count,
        _ => runs.push((start, count)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::convert::Infallible;

    struct Model {
        resident: Vec<Run>,
        can_count: bool,
        can_list: bool,
        questions: usize,
    }

    impl Pages for Model {
        type Error = Infallible;

        fn count(&mut self, start: u64, count: u64) -> Result<Option<u64>, Infallible> {
            self.questions += 1;
            let overlap = |&(from, length): &Run| (from + length).min(start + count).saturating_sub(from.max(start));
            Ok(self.can_count.then(|| self.resident.iter().map(overlap).sum()))
        }

        fn list(&mut self, start: u64, count: u64) -> Result<Option<Vec<bool>>, Infallible> {
            self.questions += 1;
            assert!(count <= MOST_LISTED);
            let resident = |page| self.resident.iter().any(|&(from, length)| (from..from + length).contains(&page));
            Ok(self.can_list.then(|| (start..start + count).map(resident).collect()))
        }
    }

    /// Runs with gaps between them, from lengths of gaps and runs.
    fn runs(lengths: &[(u64, u64)]) -> (Vec<Run>, u64) {
        let mut page = 0;
        let mut runs = Vec::new();
        for &(gap, length) in lengths {
            page += gap;
            runs.push((page, length));
            page += length;
        }
        (runs, page)
    }

    proptest! {
        #[test]
        fn every_way_of_asking_finds_the_same(
            lengths in prop::collection::vec((1u64..300, 1u64..300), 0..12), tail in 0u64..50, ways in 1u8..4,
        ) {
            let (resident, end) = runs(&lengths);
            let mut model = Model { resident: resident.clone(), can_count: ways & 1 != 0, can_list: ways & 2 != 0, questions: 0 };
            prop_assert_eq!(resident_runs(&mut model, end + tail).unwrap(), resident);
        }
    }

    #[test]
    fn a_huge_sparse_file_takes_few_questions() {
        let resident = vec![(0, 4), (1 << 40, 1), ((1 << 50) - 3, 3)];
        let mut model = Model { resident: resident.clone(), can_count: true, can_list: false, questions: 0 };
        assert_eq!(resident_runs(&mut model, 1 << 50).unwrap(), resident);
        assert!(model.questions < 400, "{}", model.questions);
    }

    #[test]
    fn full_and_empty_files_take_one_question() {
        for resident in [vec![], vec![(0, 1 << 30)]] {
            let mut model = Model { resident: resident.clone(), can_count: true, can_list: true, questions: 0 };
            assert_eq!(resident_runs(&mut model, 1 << 30).unwrap(), resident);
            assert_eq!(model.questions, 1);
        }
    }
}
