//! Proves that to the dynamic loader a rewritten file is the same object as its original.
//!
//! It reads both files again and compares what a process would see: at several load biases, after relocation, all
//! memory is the same, byte for byte. Data that only loaders read (tables, headers, notes) is compared by meaning.
//! Which memory that is follows from the original's own dynamic table and program headers, never from the writer, so
//! a writer's bug cannot hide itself.
//!
//! It shares no code with the planners: it uses neither `coldstart-elf` nor `coldstart-rewrite`, and
//! `xtask/tests/arrows.rs` enforces that. Both sides use the crate `object`: the proof takes from it the constants,
//! the layout of headers and relocation records, the bounds of the header tables, and the two hash functions.
//! Everything else is computed by separate code: memory mappings, table sizes, relocated words and their values,
//! symbol lookup. A wrong constant or field in `object` would mislead both sides; so the tests compare the proof with
//! readelf, patchelf and the machine's own loader on the same files, and start the proven files.
//!
//! Four layers, each using only the ones before it:
//!
//! | layer | contents |
//! |---|---|
//! | `image/` | a file's headers, its memory by address, its dynamic table |
//! | `tables/` | the tables of the dynamic table: hash tables, symbols, versions, relocations; notes |
//! | `loaded/` | words that the loader changes, and memory that only loaders read |
//! | `checks/` | the properties that must be the same, and the changes that an edit may make |
//!
//! Only `checks/expected.rs` knows the purpose of an edit: most edits must give the same object, and then the same
//! proof holds for their reverse, and for no edit at all. A search edit changes the meaning of the file, so exactly
//! that change is required, and no other. A binding edit lets references to the file's own definitions become relative,
//! and `checks/own.rs` says which.

#![cfg_attr(not(test), warn(clippy::indexing_slicing, clippy::arithmetic_side_effects))]

mod checks;
mod edit;
mod image;
mod loaded;
mod ranges;
mod source;
mod stub;
mod tables;
mod verdict;

use checks::Edit;

pub use checks::our_note::prove_identity;
pub use edit::{BindEdit, LoadedNote, PathKind, SearchEdit, SearchPath};
pub use source::Source;
pub use stub::{NUMBERS as STUB_NUMBERS, stub_code};
pub use verdict::{NotProven, Proof, Which};

/// Proves that to the dynamic loader `output` is the same object as `original`.
///
/// # Errors
/// The first thing that differs or breaks a rule of loaders, with its place in both files. An error does not mean
/// that the files differ for certain: what the proof does not understand, it does not accept.
pub fn prove(original: Source<'_>, output: Source<'_>) -> Result<Proof, NotProven> {
    checks::compare(original, output, Edit::None)
}

/// Proves that to the dynamic loader `output` is the same object as `original`, but for what `edit` says: the
/// libraries it needs, where they are searched, its auditors, and notes that are loaded.
///
/// The output may have up to two more `PT_LOAD` after all others (or a longer last one), that hold the dynamic
/// strings, the dynamic table and the loaded note, and nothing else. Everything that the edit does not name is
/// compared as by [`prove`], and where that one lets entries of the dynamic table come and go that say nothing, this
/// one does not. A program that is linked to a place (`ET_EXEC`) is loaded there only.
///
/// # Errors
/// As for [`prove`]. Some edits cannot be proven, whoever makes them: a dynamic table must not move when a relocated
/// word (in `ET_EXEC`, any aligned word outside of tables) or a dynamic symbol names a place in it, when its entries
/// tell offsets from their own place (`DT_MIPS_RLD_MAP_REL`), or in a file without `PT_INTERP`, which may look for it
/// by its own code.
pub fn prove_search(original: Source<'_>, output: Source<'_>, edit: &SearchEdit) -> Result<Proof, NotProven> {
    checks::compare(original, output, Edit::Search(edit))
}

/// Proves that to the dynamic loader `output` is the same object as `original`, but for references to its own
/// definitions that `edit` lets it bind: each of these has the value that a look-up in the object itself gives.
///
/// # Errors
/// As for [`prove`].
pub fn prove_bound(original: Source<'_>, output: Source<'_>, edit: &BindEdit) -> Result<Proof, NotProven> {
    checks::compare(original, output, Edit::Bind(edit))
}
