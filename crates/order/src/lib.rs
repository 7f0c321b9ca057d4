//! The order of functions in a program: from the first calls of starts to a list that a linker takes, and what it saves.
//!
//! A linker places functions in the order of its input files. Those that a start calls are then scattered over all pages of
//! the code, and each page is read for a few of them. What a newcomer would not guess: pages do not tell which functions ran.
//! A list of all functions on touched pages is mostly functions that never ran; only recorded calls give a useful one.

pub mod balanced;
mod calls;
mod compare;
mod error;
pub mod first_use;
mod functions;
mod layout;
mod link_map;
mod list;
mod object_sections;
mod random;
mod script;
mod section_list;

pub use calls::{DataTouch, ObjectCalls, TouchedCode};
pub use compare::{SymbolChanges, longest_run, symbol_changes};
pub use error::OrderError;
pub use functions::{Function, FunctionTable};
pub use layout::{CodeUse, Extent, Placement, pages_of};
pub use link_map::link_map;
pub use list::{ListEntry, ListFormat, MARK, MARK_OF_SCRIPTS, ReadList, read_list, write_list};
pub use object_sections::object_sections;
pub use random::shuffled;
pub use script::{InputSections, insert_into_script, section_fragment};
