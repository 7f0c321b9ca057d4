//! Where a result is written: which files it may replace, and how it gets its name. One rule for every output.
//!
//! | step | file |
//! |---|---|
//! | what may stand at the name, checked early and again right before the rename | `place.rs` |
//! | files that the same command reads or writes | `inputs.rs` |
//! | a file beside the name, written where nobody sees it | `staged.rs` |
//! | the mark on a file that has a temporary name, and the removal of those left behind | `mark.rs`, `leftovers.rs` |
//! | owner, group, access list and mode of the file that is replaced | `rights.rs` |
//! | names flushed to disk | `directory.rs` |
//!
//! What a newcomer would not guess: a symbolic link at the name is replaced, never followed. Whoever can make links in a
//! directory that many may write to must not choose which file we replace.

mod directory;
mod error;
mod inputs;
mod leftovers;
mod mark;
mod place;
mod rights;
mod staged;

pub use directory::flush_directory;
pub use error::{OutputError, OutputRefusal};
pub use inputs::Inputs;
pub use leftovers::{Leftovers, remove_leftovers};
pub use mark::MARK;
pub use place::{OutputKind, OutputPlace};
pub use staged::{StagedFile, link_open_file, still_has};
