//! How well a hash table distributes its symbols, in the same terms for both kinds of table.

/// The lengths of a hash table's chains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChainLengths {
    /// Buckets, including empty ones.
    pub buckets: u64,
    /// Empty buckets.
    pub empty_buckets: u64,
    /// Symbols in all chains together.
    pub symbols: u64,
    /// Symbols in the longest chain.
    pub longest: u64,
    /// Comparisons to look up every symbol of the table once, walking each chain from its beginning.
    pub comparisons: u64,
}

impl ChainLengths {
    /// Adds a bucket with a chain of this length.
    pub(crate) fn add(&mut self, length: u64) {
        self.buckets = self.buckets.saturating_add(1);
        if length == 0 {
            self.empty_buckets = self.empty_buckets.saturating_add(1);
        }
        self.symbols = self.symbols.saturating_add(length);
        self.longest = self.longest.max(length);
        let pairs = length.saturating_mul(length.saturating_add(1)) / 2;
        self.comparisons = self.comparisons.saturating_add(pairs);
    }

    /// Symbols per chain, averaged over the buckets that are not empty; 0 if all are empty.
    pub fn average(&self) -> f64 {
        share(self.symbols, self.buckets.saturating_sub(self.empty_buckets))
    }

    /// Comparisons to find a symbol of the table, averaged over its symbols; 0 for an empty table.
    pub fn comparisons_per_symbol(&self) -> f64 {
        share(self.comparisons, self.symbols)
    }
}

/// `part` divided by `whole`; 0 if `whole` is 0.
pub(crate) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::ChainLengths;

    #[test]
    fn lengths_are_averaged_over_the_buckets_in_use() {
        let mut chains = ChainLengths::default();
        for length in [0, 3, 1, 0] {
            chains.add(length);
        }
        let expected = ChainLengths { buckets: 4, empty_buckets: 2, symbols: 4, longest: 3, comparisons: 7 };
        assert_eq!(chains, expected);
        assert_eq!(chains.average(), 2.0);
        assert_eq!(chains.comparisons_per_symbol(), 1.75);
        assert_eq!(ChainLengths::default().average(), 0.0);
    }
}
