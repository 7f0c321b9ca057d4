//! What each file cost, in figures.

use coldstart_profile::PAGE_SIZE;
use coldstart_profile::trace::{EventKind, FileId, FillCause, Trace};

/// Sums of one file over a trace. All bytes are those of whole pages of 4096, also of a file's last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSums {
    /// The file.
    pub file: FileId,
    /// Bytes from the disk that somebody waited for, and what the kernel read with them.
    pub demanded: u64,
    /// Bytes from the disk that were read ahead.
    pub read_ahead: u64,
    /// Bytes from the disk that others asked for.
    pub by_others: u64,
    /// Bytes from the disk, it is not known why.
    pub for_unknown: u64,
    /// Requests to the disk.
    pub requests: u64,
    /// Bytes that were read through `read(2)` or its kin, each counted once.
    pub read: u64,
    /// Bytes that were touched in memory, each counted once.
    pub touched: u64,
    /// Bytes from the disk that were neither read nor touched.
    pub wasted: u64,
}

impl FileSums {
    /// Bytes from the disk, for whatever reason.
    pub fn from_disk(&self) -> u64 {
        [self.demanded, self.read_ahead, self.by_others, self.for_unknown].into_iter().fold(0, u64::saturating_add)
    }
}

/// Sums of each file that something happened to, in the order of the trace's files.
///
/// `wasted` is an upper bound where the trace has no page touches, or not each (see `Run::pages`), and where reads are not recorded.
/// Blocks of a file system's metadata are never wasted: what the kernel uses of them is not seen.
pub fn file_sums(trace: &Trace) -> Vec<FileSums> {
    let mut gathered: Vec<Gathered> = Vec::new();
    gathered.resize_with(trace.files.len(), Gathered::default);
    for event in &trace.events {
        let Some(index) = event.file.and_then(|file| usize::try_from(file.0).ok()) else { continue };
        let Some(of_file) = gathered.get_mut(index) else { continue };
        let range = (event.page, event.page.saturating_add(u64::from(event.pages)));
        let bytes = u64::from(event.pages).saturating_mul(PAGE_SIZE);
        match event.kind {
            EventKind::Touch(touch) if !touch.zero_filled => of_file.touched.push(range),
            EventKind::Read => of_file.read.push(range),
            EventKind::Fill(cause) => {
                let sum = match cause {
                    FillCause::Demand => &mut of_file.demanded,
                    FillCause::Readahead => &mut of_file.read_ahead,
                    FillCause::Other => &mut of_file.by_others,
                    FillCause::Unknown => &mut of_file.for_unknown,
                };
                *sum = sum.saturating_add(bytes);
                of_file.requests = of_file.requests.saturating_add(1);
                of_file.filled.push(range);
            }
            EventKind::Touch(_) | EventKind::Function => {}
        }
    }
    let with_file = gathered.into_iter().zip(&trace.files).zip(0u32..);
    with_file
        .filter(|((of_file, _), _)| !of_file.is_empty())
        .map(|((of_file, file), index)| {
            of_file.sums(FileId(index), file.category == coldstart_profile::trace::FileCategory::Metadata)
        })
        .collect()
}

/// First page and first page behind.
type Range = (u64, u64);

#[derive(Debug, Default)]
struct Gathered {
    demanded: u64,
    read_ahead: u64,
    by_others: u64,
    for_unknown: u64,
    requests: u64,
    filled: Vec<Range>,
    read: Vec<Range>,
    touched: Vec<Range>,
}

impl Gathered {
    fn is_empty(&self) -> bool {
        self.filled.is_empty() && self.read.is_empty() && self.touched.is_empty()
    }

    fn sums(self, file: FileId, is_metadata: bool) -> FileSums {
        let (read, touched, filled) = (union(self.read), union(self.touched), union(self.filled));
        let used = union(read.iter().chain(&touched).copied().collect());
        let bytes = |ranges: &[Range]| length(ranges).saturating_mul(PAGE_SIZE);
        let wasted = length(&filled).saturating_sub(common(&filled, &used)).saturating_mul(PAGE_SIZE);
        FileSums {
            file,
            demanded: self.demanded,
            read_ahead: self.read_ahead,
            by_others: self.by_others,
            for_unknown: self.for_unknown,
            requests: self.requests,
            read: bytes(&read),
            touched: bytes(&touched),
            wasted: if is_metadata { 0 } else { wasted },
        }
    }
}

/// The same pages as ranges that neither overlap nor adjoin, ascending.
fn union(mut ranges: Vec<Range>) -> Vec<Range> {
    ranges.sort_unstable();
    let mut merged: Vec<Range> = Vec::new();
    for (from, to) in ranges {
        match merged.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => merged.push((from, to)),
        }
    }
    merged
}

fn length(ranges: &[Range]) -> u64 {
    ranges.iter().fold(0, |sum, (from, to)| sum.saturating_add(to.saturating_sub(*from)))
}

/// How many pages two unions share.
fn common(one: &[Range], other: &[Range]) -> u64 {
    let (mut one, mut other) = (one.iter().peekable(), other.iter().peekable());
    let mut sum = 0u64;
    while let (Some(&&(from, to)), Some(&&(other_from, other_to))) = (one.peek(), other.peek()) {
        sum = sum.saturating_add(to.min(other_to).saturating_sub(from.max(other_from)));
        if to <= other_to {
            one.next()
        } else {
            other.next()
        };
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use coldstart_profile::trace::{Event, FileCategory, Moment, ThreadId, Touch, TracedFile};
    use proptest::prelude::*;

    fn trace(events: &[(u32, u64, u32, EventKind)]) -> Trace {
        let file = |category| TracedFile { path: "/x".into(), device: 1, inode: 2, identity: None, category };
        let event = |&(file, page, pages, kind): &(u32, u64, u32, EventKind)| Event {
            at: Moment(0),
            thread: ThreadId(0),
            kind,
            file: Some(FileId(file)),
            page,
            pages,
            code: None,
        };
        let files = vec![file(FileCategory::Data), file(FileCategory::Metadata), file(FileCategory::Data)];
        Trace { files, events: events.iter().map(event).collect(), ..Trace::default() }
    }

    #[test]
    fn what_is_neither_read_nor_touched_is_wasted() {
        let fill = EventKind::Fill;
        let touch = EventKind::Touch(Touch::default());
        let zero_filled = EventKind::Touch(Touch { zero_filled: true, ..Touch::default() });
        let sums = file_sums(&trace(&[
            (0, 0, 4, fill(FillCause::Demand)),
            (0, 4, 16, fill(FillCause::Readahead)),
            (0, 30, 1, fill(FillCause::Other)),
            (0, 0, 2, EventKind::Read),
            (0, 1, 2, EventKind::Read),
            (0, 2, 1, touch),
            (0, 30, 1, touch),
            (0, 40, 1, touch),
            (0, 5, 1, zero_filled),
            (1, 7, 1, fill(FillCause::Unknown)),
            (9, 7, 1, fill(FillCause::Demand)),
        ]));
        let page = PAGE_SIZE;
        let first = FileSums {
            file: FileId(0),
            demanded: 4 * page,
            read_ahead: 16 * page,
            by_others: page,
            for_unknown: 0,
            requests: 3,
            read: 3 * page,
            touched: 3 * page,
            wasted: 17 * page,
        };
        assert_eq!(sums.first(), Some(&first));
        assert_eq!(first.from_disk(), 21 * page);
        let metadata = sums.get(1).unwrap();
        assert_eq!((metadata.file, metadata.for_unknown, metadata.wasted), (FileId(1), page, 0));
        assert_eq!(sums.len(), 2, "a file that nothing happened to has no sums");
    }

    proptest! {
        #[test]
        fn ranges_are_counted_as_sets_are(
            one in proptest::collection::vec((0u64..100, 1u64..10), 0..10),
            other in proptest::collection::vec((0u64..100, 1u64..10), 0..10),
        ) {
            let ranges = |pairs: &[(u64, u64)]| union(pairs.iter().map(|(from, count)| (*from, from + count)).collect());
            let set = |pairs: &[(u64, u64)]| -> std::collections::BTreeSet<u64> {
                pairs.iter().flat_map(|(from, count)| *from..from + count).collect()
            };
            prop_assert_eq!(length(&ranges(&one)), set(&one).len() as u64);
            prop_assert_eq!(common(&ranges(&one), &ranges(&other)), set(&one).intersection(&set(&other)).count() as u64);
        }
    }
}
