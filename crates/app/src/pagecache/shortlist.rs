//! The first N of millions of files in some order, with memory for a few times N.

use std::cmp::Ordering;

/// Keeps the first `limit` items in the order of `compare`, or all.
pub(super) struct Shortlist<T, C> {
    items: Vec<T>,
    limit: usize,
    compare: C,
    /// Number of dropped items.
    omitted: u64,
}

impl<T, C: Fn(&T, &T) -> Ordering> Shortlist<T, C> {
    /// `limit` 0 keeps everything. Items that compare equal stay in the order they came.
    pub(super) fn new(limit: usize, compare: C) -> Self {
        Self { items: Vec::new(), limit, compare, omitted: 0 }
    }

    pub(super) fn push(&mut self, item: T) {
        self.items.push(item);
        if self.limit > 0 && self.items.len() >= self.limit.saturating_mul(2).saturating_add(64) {
            self.cut();
        }
    }

    /// The items in order, and how many were left out.
    pub(super) fn finish(mut self) -> (Vec<T>, u64) {
        self.cut();
        (self.items, self.omitted)
    }

    fn cut(&mut self) {
        // A stable sort: what came earlier stays in front of its equals, however often this is done.
        self.items.sort_by(&self.compare);
        if self.limit > 0 && self.items.len() > self.limit {
            self.omitted += (self.items.len() - self.limit) as u64;
            self.items.truncate(self.limit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn is_what_sorting_everything_and_cutting_gives(items in prop::collection::vec(0u8..20, 0..600), limit in 0usize..50) {
            let numbered: Vec<_> = items.into_iter().enumerate().collect();
            let mut shortlist = Shortlist::new(limit, |left: &(usize, u8), right: &(usize, u8)| left.1.cmp(&right.1));
            for &item in &numbered {
                shortlist.push(item);
            }
            let mut wanted = numbered.clone();
            wanted.sort_by_key(|item| item.1);
            wanted.truncate(if limit == 0 { usize::MAX } else { limit });
            let omitted = numbered.len() - wanted.len();
            prop_assert_eq!(shortlist.finish(), (wanted, omitted as u64));
        }
    }
}
