//! ELF files: header, segments, sections, dynamic table, relocations, symbols, versions, notes.
//!
//! Everything is read in place from bytes in memory, and nothing is trusted: every offset, size and count is checked
//! against the available bytes before use. A hostile file gives an error with the position, and never a panic or an
//! allocation of its choosing. The `object` crate knows the layout of the format's records; its types stay internal.
//!
//! # Example
//!
//! ```
//! use coldstart_elf::{ElfFile, Tag};
//!
//! let bytes = std::fs::read(std::env::current_exe()?)?;
//! let file = ElfFile::parse(&bytes)?;
//! let dynamic = file.dynamic()?.ok_or("a static program")?;
//! let strings = file.dynamic_strings(&dynamic)?;
//! let needed: Vec<_> = dynamic.all(Tag::NEEDED).filter_map(|name| strings.get(name)).collect();
//! assert!(needed.iter().any(|name| name.starts_with(b"libc.")));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(not(test), warn(clippy::indexing_slicing, clippy::arithmetic_side_effects))]

mod address;
mod address_map;
mod android_packed;
mod debug_file;
mod debug_link;
mod dynamic;
mod dynamic_relocations;
mod encoding;
mod error;
mod file;
mod gnu_hash;
mod gnu_notes;
mod hash_chains;
mod header;
mod kind;
mod mini_debug;
mod notes;
mod readable_name;
mod relocation;
mod relr;
mod section;
mod segment;
mod span;
mod strings;
mod symbol;
mod symbol_lookup;
mod sysv_hash;
#[cfg(test)]
mod test_file;
mod unwind;
mod unwind_entries;
mod unwind_search;
mod version_records;
mod versions;
mod words;

pub use address::{FileOffset, Vaddr};
pub use android_packed::{PackedForm, PackedRelocation, PackedRelocationIter, PackedRelocations};
pub use debug_file::is_debug_file;
pub use debug_link::{DEFAULT_DEBUG_ROOT, DebugLink, crc_matches, debug_file_candidates};
pub use dynamic::{DynamicEntry, DynamicTable, Tag};
pub use dynamic_relocations::DynamicRelocations;
pub use encoding::{ByteOrder, Class, Encoding, Table, TableRecord};
pub use error::{ElfError, Result};
pub use file::ElfFile;
pub use gnu_hash::{BloomQuality, GnuHashTable, gnu_hash};
pub use gnu_notes::{AbiTag, BuildId, Properties, Property, abi_tag, build_id};
pub use hash_chains::ChainLengths;
pub use header::{FileType, Header};
pub use kind::FileKind;
pub use mini_debug::{MiniDebugError, MiniDebugLimits, unpack_mini_debug};
pub use notes::{Note, Notes, notes};
pub use readable_name::readable_name;
pub use relocation::{
    RelRecord, RelaRecord, Relocation, RelocationClass, RelocationClasses, RelocationForm, RelocationTable,
    relocation_type_name,
};
pub use relr::{NotRelr, RelrEncoder, RelrTable, RelrWord};
pub use section::{Section, SectionHeader, SectionKind};
pub use segment::{Segment, SegmentKind};
pub use span::{FileSpan, Position, PositionError, Span, VaddrSpan};
pub use strings::{NameRoom, Strings};
pub use symbol::{Symbol, SymbolBinding, SymbolKind, SymbolTable, SymbolVisibility};
pub use symbol_lookup::SymbolLookup;
pub use sysv_hash::{SysvHashTable, sysv_hash};
pub use unwind::UnwindTable;
pub use unwind_entries::UnwindEntry;
pub use versions::{DefinedVersion, NeededFile, NeededVersion, SymbolVersion, VersionName, VersionTable};
