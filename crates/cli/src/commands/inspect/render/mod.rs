//! Text output: the report on one object, tables of many, a closure, a comparison, a picture.
//!
//! Nothing is computed here that is not in JSON; these files only select, sort and format.

mod closure;
mod compare;
mod findings;
mod initialisers;
mod layout;
mod loader_names;
mod object;
mod owners;
mod pairs;
mod picture;
mod reads;
mod relocations;
mod several;
mod space;
mod words;

use crate::output::text;

pub(super) use closure::closure;
pub(super) use compare::compare;
pub(super) use object::object;
pub(super) use pairs::pairs;
pub(super) use picture::picture;
pub(super) use several::several;
