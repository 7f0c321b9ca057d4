//! Looking up a name in an object, as loaders do: by the GNU hash table if there is one, else by the System V table.
//!
//! The time is that of the chain of the name's hash; a name in the file is compared only as far as it is equal.

use crate::dynamic::DynamicTable;
use crate::error::Result;
use crate::file::ElfFile;
use crate::gnu_hash::GnuHashTable;
use crate::symbol::{Symbol, SymbolTable};
use crate::sysv_hash::SysvHashTable;

/// The dynamic symbols of an object with the hash table that finds them.
#[derive(Clone, Debug)]
pub struct SymbolLookup<'data> {
    symbols: SymbolTable<'data>,
    hash: Hash<'data>,
}

#[derive(Clone, Debug)]
enum Hash<'data> {
    Gnu(GnuHashTable<'data>),
    Sysv(SysvHashTable<'data>),
}

impl<'data> SymbolLookup<'data> {
    /// The tables that the dynamic table refers to; `None` without a hash table.
    ///
    /// # Errors
    /// If the symbols or the hash table cannot be read.
    pub fn parse(file: &ElfFile<'data>, dynamic: &DynamicTable<'_>) -> Result<Option<Self>> {
        let hash = match GnuHashTable::parse(file, dynamic)? {
            Some(table) => Some(Hash::Gnu(table)),
            None => SysvHashTable::parse(file, dynamic)?.map(Hash::Sysv),
        };
        let symbols = file.dynamic_symbols(dynamic)?;
        Ok(hash.map(|hash| Self { symbols, hash }))
    }

    /// The first symbol with this name that `is_wanted` accepts, and its index.
    pub fn find(&self, name: &[u8], mut is_wanted: impl FnMut(&Symbol) -> bool) -> Option<(u32, Symbol)> {
        let mut found = None;
        let is_it = |index: u32| {
            found = self.symbols.get(index).filter(|symbol| is_wanted(symbol) && self.symbols.is_named(symbol, name));
            found.is_some()
        };
        let index = match &self.hash {
            Hash::Gnu(table) => table.lookup(name, is_it),
            Hash::Sysv(table) => table.lookup(name, is_it),
        };
        index.zip(found)
    }
}
