//! How well a hash table spreads its symbols, said in the same way for both kinds of table.

/// The lengths of a hash table's chains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChainLengths {
    /// Buckets, the empty ones included.
    pub buckets: u64,
    /// Buckets without a symbol.
    pub empty_buckets: u64,
    /// Symbols in all chains together.
    pub symbols: u64,
    /// Symbols in the longest chain.
    pub longest: u64,
    /// Comparisons that looking up every symbol of the table once takes, when each chain is walked from its beginning.
    pub comparisons: u64,
}

impl ChainLengths {
    /// Takes the next bucket into account.
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

    /// Symbols in a chain, averaged over the buckets that have any; 0 when none has.
    pub fn average(&self) -> f64 {
        share(self.symbols, self.buckets.saturating_sub(self.empty_buckets))
    }

    /// Comparisons until a symbol that is in the table is found, averaged over its symbols; 0 when there are none.
    pub fn comparisons_per_symbol(&self) -> f64 {
        share(self.comparisons, self.symbols)
    }
}

/// A part of a whole; 0 of nothing.
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
