//! The map of an object: what is decided, and that the picture is one.

mod choosing;
mod drawing;
mod planning;
pub(crate) mod scene;

use coldstart_profile::trace::figures::Figures;
use coldstart_profile::trace::{FileId, Trace};
use coldstart_view::map::{MapOptions, ObjectMap};

/// The map of the first file.
pub(crate) fn map(trace: &Trace) -> ObjectMap {
    map_with(trace, &MapOptions { width: 720, height: 480, ..MapOptions::default() })
}

pub(crate) fn map_with(trace: &Trace, options: &MapOptions<'_>) -> ObjectMap {
    ObjectMap::of(trace, &Figures::of(trace), FileId(0), options).unwrap()
}
