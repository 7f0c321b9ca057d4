//! The properties that must be the same in both files: a file for each kind of thing that loaders and tools read.
//!
//! `expected.rs` defines what an edit may change; every other check that depends on the edit asks there.

mod added;
mod entries;
mod expected;
mod header;
mod loads;
mod memory;
mod no_op;
mod notes;
pub(crate) mod our_note;
mod own;
mod payload;
mod pointers;
mod profiling;
mod pure_virtual;
mod relocations;
mod search_entries;
mod sections;
mod segments;
mod static_symbols;
mod stub;
mod symbols;
mod versions;

use self::expected::Expected;
use self::own::Bound;
use self::pure_virtual::Jump;
use self::stub::Stub;
use crate::edit::{BindEdit, SearchEdit};
use crate::image::Image;
use crate::loaded::{Loaded, places};
use crate::source::Source;
use crate::tables::Tables;
use crate::verdict::{NotProven, Proof, Which};

/// Compares `output` with `original`, and with an edit that changes the object's meaning, if any.
pub(crate) fn compare(original: Source<'_>, output: Source<'_>, edit: Edit<'_>) -> Result<Proof, NotProven> {
    let mut proof = Proof::default();
    let original = Image::read(Which::Original, original)?;
    let output = Image::read(Which::Output, output)?;
    header::check(&original, &output)?;
    let mut expected = match edit {
        Edit::Search(edit) => Expected::of_search(edit, &original, &output)?,
        Edit::Bind(edit) => Expected::of_bind(edit),
        Edit::None => Expected::default(),
    };
    loads::check(&original, &output, &expected)?;
    segments::check(&original, &output, &expected, &mut proof)?;
    segments::check_dynamic_mapped(&output)?;
    let (old_tables, mut new_tables) = (Tables::read(&original)?, Tables::read(&output)?);
    if expected.bind.is_some_and(|edit| edit.stub) {
        expected.stub = Stub::find((&original, &old_tables), (&output, &mut new_tables))?;
    }
    let (old, new) = ((&original, &old_tables), (&output, &new_tables));
    entries::check(old, new, &expected, &mut proof)?;
    symbols::check_tables(old, new, &mut proof)?;
    versions::check(old, new, &mut proof)?;
    symbols::check_lookups(old, new, &mut proof)?;
    if expected.bind.is_some_and(|edit| edit.pure_virtual) {
        expected.jump = Jump::find(old, new)?;
    }
    let bound = relocations::check(old, new, &expected, &mut proof)?;
    compare_memory(old, new, &bound, &expected, &mut proof)?;
    let shifts = sections::check(old, new, &expected, &mut proof)?;
    sections::check_contents(&original, &output, &shifts, &expected, &mut proof)?;
    payload::check(&original, &output, &expected, &mut proof)?;
    let size = |image: &Image<'_>| i64::try_from(image.source.bytes.len()).unwrap_or(i64::MAX);
    proof.bytes_freed = size(&original).saturating_sub(size(&output));
    Ok(proof)
}

/// How an output may differ from its original for a loader.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Edit<'e> {
    /// Not at all.
    None,
    Search(&'e SearchEdit),
    Bind(&'e BindEdit),
}

fn compare_memory(
    original: (&Image<'_>, &Tables<'_>),
    output: (&Image<'_>, &Tables<'_>),
    bound: &[Bound],
    expected: &Expected<'_>,
    proof: &mut Proof,
) -> Result<(), NotProven> {
    let (mut old, new) = (Loaded::new(original.0, original.1)?, Loaded::new(output.0, output.1)?);
    let moved = places::moved(original, output);
    proof.relative_relocations = old.slots.count();
    if let Some(jump) = &expected.jump {
        jump.check_pointers(original.0, &old.slots)?;
    }
    old.slots.bind(bound.iter().map(|bound| (bound.address, bound.value)));
    proof.relr_relocations = new.slots.relr.len() as u64;
    if let (Some(_), Some(edit)) = (&expected.stub, expected.bind) {
        Stub::check_words(original, &new.slots, edit)?;
        proof.relocates_itself = true;
    }
    entries::check_pointers(output.0, &moved, expected)?;
    pointers::check_symbols(original, &moved)?;
    memory::check(&old, &new, &moved, expected, proof)
}
