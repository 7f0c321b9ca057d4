//! What targets share.

pub mod memory;
pub mod pieces;
pub mod search_edit;
pub mod tar;

/// The functions that call each parser of the ELF crate; its hostile-input test uses the same ones.
#[path = "../../crates/elf/tests/it/exercise/mod.rs"]
pub mod exercise;
