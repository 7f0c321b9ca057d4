//! The map of an object: what is decided, and that the picture is one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, unreachable_pub)]

mod choosing;
mod drawing;
mod planning;
mod scene;

use coldstart_profile::trace::figures::Figures;
use coldstart_profile::trace::{FileId, Trace};
use coldstart_view::map::{MapOptions, ObjectMap};

/// The map of the first file.
pub fn map(trace: &Trace) -> ObjectMap {
    map_with(trace, &MapOptions { width: 720, height: 480, ..MapOptions::default() })
}

pub fn map_with(trace: &Trace, options: &MapOptions<'_>) -> ObjectMap {
    ObjectMap::of(trace, &Figures::of(trace), FileId(0), options).unwrap()
}
