//! The cost of relocation: records to read, words to change, pages to make private, symbols to look up.
//!
//! The tables follow those that M. Hommey made for libxul in November 2010, for comparison.

mod kinds;
mod packing;
mod pages;
mod references;
mod waste;

use coldstart_elf::{PackedRelocations, RelocationForm};
use serde::Serialize;

use crate::object::Object;

pub use kinds::KindCount;
pub use packing::Packing;
pub use pages::{DirtiedPages, Runs};
pub use references::References;
pub use waste::Waste;

/// The relocations of an object.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Relocations {
    /// Number of relocated words, including packed ones.
    pub count: u64,
    /// Total size of all relocation tables.
    pub bytes: u64,
    /// The tables that the dynamic table refers to.
    pub tables: Vec<RelocationTableFacts>,
    /// Records by type, most frequent first.
    pub by_type: Vec<KindCount>,
    /// Records with a symbol lookup.
    pub with_symbol: u64,
    /// Records without one.
    pub without_symbol: u64,
    /// Words in `DT_RELR`, and its size.
    pub packed: Option<PackedFacts>,
    /// Words in Android's packed tables (`APS2`), and their size.
    pub android_packed: Option<PackedFacts>,
    /// Redundant bytes in the records.
    pub waste: Waste,
    /// The saving of packing the relative ones as RELR.
    pub packing: Packing,
    /// How adjacent the relocated words are.
    pub runs: Runs,
    /// Pages of memory that relocation makes private.
    pub dirtied_pages: DirtiedPages,
    /// File pages with relocation tables.
    pub table_pages: u64,
    /// Symbols to be looked up, and avoidable lookups.
    pub references: References,
}

/// One table of relocation records.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RelocationTableFacts {
    /// `DT_REL`, `DT_RELA` or `DT_JMPREL`.
    pub name: &'static str,
    /// Whether addends are in the records.
    pub has_addends: bool,
    /// Number of records.
    pub count: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// Its file offset.
    pub file_offset: u64,
}

/// Packed relocations.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PackedFacts {
    /// Number of words to change.
    pub count: u64,
    /// Size of the table in bytes.
    pub bytes: u64,
}

/// Counts and weighs the relocations of an object.
pub fn relocations(object: &Object<'_>) -> Relocations {
    let tables = tables(object);
    let packed =
        object.relocations.relr.as_ref().map(|relr| PackedFacts { count: relr.relocation_count(), bytes: relr.size() });
    let android = &object.relocations.android;
    let android_packed = (!android.is_empty()).then(|| PackedFacts {
        count: android.iter().map(PackedRelocations::count).fold(0, u64::saturating_add),
        bytes: android.iter().map(PackedRelocations::size).fold(0, u64::saturating_add),
    });
    let in_packed =
        |of: fn(&PackedFacts) -> u64| packed.iter().chain(&android_packed).map(of).fold(0, u64::saturating_add);
    let by_type = kinds::count(object);
    let records: u64 = tables.iter().map(|table| table.count).sum();
    let with_symbol = by_type.iter().map(|kind| kind.with_symbol).sum();
    Relocations {
        count: records.saturating_add(in_packed(|packed| packed.count)),
        bytes: tables.iter().map(|table| table.bytes).fold(in_packed(|packed| packed.bytes), u64::saturating_add),
        table_pages: pages::of_tables(object),
        with_symbol,
        without_symbol: records.saturating_sub(with_symbol),
        waste: waste::measure(object),
        packing: packing::estimate(object),
        runs: pages::runs(object),
        dirtied_pages: pages::dirtied(object),
        references: references::count(object),
        tables,
        by_type,
        packed,
        android_packed,
    }
}

fn tables(object: &Object<'_>) -> Vec<RelocationTableFacts> {
    let relocations = &object.relocations;
    let named = [("DT_REL", &relocations.rel), ("DT_RELA", &relocations.rela), ("DT_JMPREL", &relocations.plt)];
    let facts = named.into_iter().filter_map(|(name, table)| {
        let table = table.as_ref()?;
        Some(RelocationTableFacts {
            name,
            has_addends: table.form() == RelocationForm::Rela,
            count: table.len() as u64,
            bytes: table.size(),
            file_offset: table.file_offset().0,
        })
    });
    facts.collect()
}
