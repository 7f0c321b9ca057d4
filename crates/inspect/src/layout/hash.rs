//! The symbol hash tables, and their quality.
//!
//! glibc, musl and bionic prefer the GNU table; the older table next to it only takes space.

use coldstart_elf::{ChainLengths, ElfError, GnuHashTable, SysvHashTable};
use serde::Serialize;

use crate::object::Object;

/// The hash tables of a file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HashTables {
    /// `DT_GNU_HASH`.
    pub gnu: Option<GnuHash>,
    /// `DT_HASH`.
    pub sysv: Option<SysvHash>,
    /// Size of the older table if both are present: it is then unused.
    pub unused_bytes: u64,
}

/// How a table distributes its symbols.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HashChains {
    /// Number of buckets.
    pub buckets: u64,
    /// Buckets without a symbol.
    pub empty_buckets: u64,
    /// Symbols in the table.
    pub symbols: u64,
    /// Symbols in the longest chain.
    pub longest_chain: u64,
    /// Symbols per chain, averaged over the buckets that are not empty.
    pub average_chain: f64,
    /// Comparisons to find a symbol of the table, averaged over its symbols.
    pub comparisons_per_symbol: f64,
}

/// The GNU hash table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GnuHash {
    /// Its file offset.
    pub file_offset: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its chains; none if they are malformed.
    pub chains: Option<HashChains>,
    /// Size of the Bloom filter in bytes.
    pub bloom_bytes: u64,
    /// Share of the filter's bits that are set, from 0 to 1.
    pub bloom_set_share: f64,
    /// Probability, from 0 to 1, that the filter passes an absent name.
    pub bloom_false_positives: f64,
}

/// The System V hash table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SysvHash {
    /// Its file offset.
    pub file_offset: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its chains; none if they are malformed.
    pub chains: Option<HashChains>,
}

pub(super) fn hash(object: &Object<'_>, problems: &mut Vec<String>) -> HashTables {
    let mut tables = HashTables { gnu: None, sysv: None, unused_bytes: 0 };
    let Some(dynamic) = &object.dynamic else { return tables };
    let mut noted = Noted(problems);
    let gnu = noted.result(GnuHashTable::parse(&object.file, dynamic)).flatten();
    let sysv = noted.result(SysvHashTable::parse(&object.file, dynamic)).flatten();
    tables.gnu = gnu.map(|table| {
        let bloom = table.bloom_quality();
        GnuHash {
            file_offset: table.file_offset().0,
            bytes: table.size(),
            chains: noted.result(table.chain_lengths()).map(chains),
            bloom_bytes: table.bloom_size(),
            bloom_set_share: bloom.set_share,
            bloom_false_positives: bloom.false_positives,
        }
    });
    tables.sysv = sysv.map(|table| SysvHash {
        file_offset: table.file_offset().0,
        bytes: table.size(),
        chains: noted.result(table.chain_lengths()).map(chains),
    });
    if let (Some(_), Some(sysv)) = (&tables.gnu, &tables.sysv) {
        tables.unused_bytes = sysv.bytes;
    }
    tables
}

/// Records a problem and continues.
struct Noted<'problems>(&'problems mut Vec<String>);

impl Noted<'_> {
    fn result<T>(&mut self, result: Result<T, ElfError>) -> Option<T> {
        result.map_err(|error| self.0.push(error.to_string())).ok()
    }
}

fn chains(lengths: ChainLengths) -> HashChains {
    HashChains {
        buckets: lengths.buckets,
        empty_buckets: lengths.empty_buckets,
        symbols: lengths.symbols,
        longest_chain: lengths.longest,
        average_chain: lengths.average(),
        comparisons_per_symbol: lengths.comparisons_per_symbol(),
    }
}
