//! Writing results: which files an output may replace, and how it gets its name. One rule for every output.
//!
//! | step | file |
//! |---|---|
//! | which existing files may be replaced, checked early and again right before the rename | `place.rs` |
//! | the directory on the way to the output, held open; links of other users | `held.rs` |
//! | files that the same command reads or writes | `inputs.rs` |
//! | a file beside the target, invisible until it is complete | `staged.rs` |
//! | the mark on a file with a temporary name, and the removal of abandoned ones | `mark.rs`, `leftovers.rs` |
//! | owner, group, access list and mode of the file that is replaced | `rights.rs` |
//! | names flushed to disk | `directory.rs` |
//! | words and paths in JSON, also those that are not UTF-8 | `stored.rs` |
//!
//! Not obvious: a symbolic link at the output's name is replaced, never followed. A user who can create links in a
//! world-writable directory must not choose which file we replace.

mod directory;
mod error;
mod held;
mod inputs;
mod leftovers;
mod mark;
mod place;
mod rights;
mod staged;
mod stored;

pub use directory::flush_directory;
pub use error::{OutputError, OutputRefusal};
pub use held::HeldDirectory;
pub use inputs::Inputs;
pub use leftovers::{Leftovers, remove_leftovers};
pub use mark::MARK;
pub use place::{OutputKind, OutputTarget};
pub use staged::{StagedFile, link_open_file, still_has};
pub use stored::Stored;
