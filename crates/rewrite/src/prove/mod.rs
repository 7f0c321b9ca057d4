//! The proof: that to the dynamic loader a rewritten file is the same object as its original.
//!
//! It reads both files anew, by another library than the planner does, and asks what a process would see: at several load
//! biases, after relocation, all memory is the same, byte for byte. What only loaders read (tables, headers, notes) is
//! compared by what it means. Which memory that is, is told by the original's own dynamic table and program headers, never by
//! the writer; so a writer's mistake cannot excuse itself.
//!
//! Nothing here knows what an edit wanted, but for `expected.rs`: most edits want the same object, and then the same proof
//! holds for their reverse, and for no edit at all. An edit of the search for libraries changes what the file means, so that
//! it is asked for exactly that, and for nothing else.

mod added;
mod dynamic;
mod entries;
mod expected;
mod hash_tables;
mod header;
mod image;
mod loads;
mod memory;
mod no_op;
mod notes;
mod our_note;
mod payload;
mod places;
mod pointers;
mod profiling;
mod relocations;
mod search_entries;
mod sections;
mod segments;
mod slots;
mod static_symbols;
mod symbols;
mod tables;
mod verdict;
mod versions;

pub use our_note::prove_identity;
pub use verdict::{NotProven, Proof, Which};

use crate::search::SearchEdit;
use crate::source::Source;
use expected::Expected;
use image::Image;
use memory::Loaded;
use places::Places;
use slots::Slots;
use tables::Tables;
use verdict::broken;

/// Proves that to the dynamic loader `output` is the same object as `original`.
///
/// # Errors
/// The first thing that differs or breaks a rule of loaders, with its place in both files. An error does not mean that the
/// files differ for certain: what the proof does not understand, it does not accept.
pub fn prove(original: Source<'_>, output: Source<'_>) -> Result<Proof, NotProven> {
    prove_expected(original, output, None)
}

/// Proves that to the dynamic loader `output` is the same object as `original`, but for what `edit` says: the libraries it
/// needs, where they are searched, its auditors, and notes that are loaded.
///
/// The output may have up to two more `PT_LOAD` behind all others (or a longer last one), that hold the dynamic strings, the
/// dynamic table and the loaded note, and nothing else. Everything that the edit does not name is compared as by [`prove`],
/// and where that one lets entries of the dynamic table come and go that say nothing, this one does not. A program that is
/// linked to a place (`ET_EXEC`) is loaded there only.
///
/// # Errors
/// As for [`prove`]. Some edits cannot be proven, whoever makes them: a dynamic table must not move when a relocated word
/// (in `ET_EXEC`, any aligned word outside of tables) or a dynamic symbol names a place in it, when its entries tell offsets from their own
/// place (`DT_MIPS_RLD_MAP_REL`), or in a file without `PT_INTERP`, which may look for it by its own code.
pub fn prove_search(original: Source<'_>, output: Source<'_>, edit: &SearchEdit) -> Result<Proof, NotProven> {
    prove_expected(original, output, Some(edit))
}

fn prove_expected(original: Source<'_>, output: Source<'_>, search: Option<&SearchEdit>) -> Result<Proof, NotProven> {
    let mut proof = Proof::default();
    let original = Image::read(Which::Original, original)?;
    let output = Image::read(Which::Output, output)?;
    header::check(&original, &output)?;
    let expected = match search {
        Some(edit) => Expected::of_search(edit, &original, &output)?,
        None => Expected::nothing(),
    };
    loads::check(&original, &output, &expected)?;
    segments::check(&original, &output, &expected, &mut proof)?;
    segments::check_dynamic_mapped(&output)?;
    let (old_tables, new_tables) = (Tables::read(&original)?, Tables::read(&output)?);
    let (old, new) = ((&original, &old_tables), (&output, &new_tables));
    entries::check(old, new, &expected, &mut proof)?;
    symbols::check_tables(old, new, &mut proof)?;
    versions::check(old, new, &mut proof)?;
    symbols::check_lookups(old, new, &mut proof)?;
    relocations::check(old, new, &mut proof)?;
    check_memory(old, new, &expected, &mut proof)?;
    let shifts = sections::check(old, new, &expected, &mut proof)?;
    sections::check_contents(&original, &output, &shifts, &expected, &mut proof)?;
    payload::check(&original, &output, &expected, &mut proof)?;
    let size = |image: &Image<'_>| i64::try_from(image.source.bytes.len()).unwrap_or(i64::MAX);
    proof.bytes_freed = size(&original).saturating_sub(size(&output));
    Ok(proof)
}

fn check_memory(
    original: (&Image<'_>, &Tables<'_>),
    output: (&Image<'_>, &Tables<'_>),
    expected: &Expected<'_>,
    proof: &mut Proof,
) -> Result<(), NotProven> {
    let (old_slots, new_slots) = (Slots::read(original.0, original.1)?, Slots::read(output.0, output.1)?);
    let (old_places, new_places) = (Places::find(original.0, original.1), Places::find(output.0, output.1));
    let moved = places::moved(original, output);
    proof.relative_relocations = old_slots.count();
    proof.relr_relocations = new_slots.relr_count;
    entries::check_pointers(output.0, &moved, expected)?;
    check_symbol_pointers(original, &moved)?;
    let old = Loaded { image: original.0, slots: &old_slots, places: &old_places };
    let new = Loaded { image: output.0, slots: &new_slots, places: &new_places };
    memory::check((&old, original.1), (&new, output.1), &moved, expected, proof)
}

/// No dynamic symbol names a place in a table that has changed.
fn check_symbol_pointers(
    (image, tables): (&Image<'_>, &Tables<'_>),
    moved: &[std::ops::Range<u64>],
) -> Result<(), NotProven> {
    // Absolute symbols have section 0xfff1, those of type 6 are offsets into thread-local storage.
    let symbols = (1..tables.symbol_count).map_while(|number| hash_tables::symbol(image, tables.symbols, number));
    for symbol in symbols.filter(|symbol| symbol.section != 0 && symbol.section != 0xfff1 && symbol.info & 0xf != 6) {
        if moved.iter().any(|range| range.contains(&symbol.value)) {
            let name = hash_tables::string(tables.strings, symbol.name).unwrap_or(&[]);
            let place = format!("the dynamic symbol `{}`", String::from_utf8_lossy(name));
            let problem = "it names a place in a table that has changed";
            return Err(broken(image.which, "pointer to a moved table", place, problem));
        }
    }
    Ok(())
}
