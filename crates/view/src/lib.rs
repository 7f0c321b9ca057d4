//! Traces and measurements as pages, pictures, text and other viewers' files.
//!
//! Deciding what is shown where is done here, on plain data; nothing is read or started. What a newcomer would not guess: the
//! interactive page is TypeScript (`web/` at the root), built into `assets/viewer.js` and `viewer.css`, which are checked in, so that
//! building coldstart needs no Node; `cargo xtask gen` builds them anew. Colours of pages and pictures stand once, in `assets/palette.json`.

mod assets;
pub mod comparison;
pub mod dates;
pub mod drawing;
pub mod export;
pub mod figures;
pub mod map;
pub mod mark;
mod notes;
pub mod numbers;
mod outcome;
pub mod page;
pub mod palette;
mod section_class;
pub mod space;
pub mod terminal;
pub mod trend;
pub mod width;
