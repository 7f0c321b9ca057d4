//! How well shapes alone identify vtables and typeinfo, compared with names: for tests, and for the document that
//! states it.

use serde::Serialize;

use super::regions::Regions;
use super::{Owner, ToldBy, tell_all};
use crate::object::Object;

/// Words that names and shapes classify alike, and differently.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ShapeAccuracy {
    /// Vtable or typeinfo by both names and shapes.
    pub both: u64,
    /// By names only.
    pub names_only: u64,
    /// By shapes only; names say otherwise.
    pub shapes_only: u64,
}

/// Compares shapes with names for the words of an object that have a name and are in no classified section.
pub fn shape_accuracy(object: &Object<'_>) -> ShapeAccuracy {
    let regions = Regions::of(object);
    let mut by_name = Vec::new();
    tell_all(object, &regions, object.names.variables(), |slot, owner, told_by, _| {
        if told_by == ToldBy::Name {
            by_name.push((slot.address, owner));
        }
    });
    let mut accuracy = ShapeAccuracy::default();
    let mut by_name = by_name.into_iter().peekable();
    let is_cpp = |owner| matches!(owner, Owner::Vtable | Owner::Typeinfo);
    tell_all(object, &regions, &[], |slot, owner, _, _| {
        if let Some((_, named)) = by_name.next_if(|(address, _)| *address == slot.address) {
            match (is_cpp(named), is_cpp(owner)) {
                (true, true) => accuracy.both += 1,
                (true, false) => accuracy.names_only += 1,
                (false, true) => accuracy.shapes_only += 1,
                (false, false) => {}
            }
        }
    });
    accuracy
}
