//! Shared data types and file formats.
//!
//! Recorders write these types, planners and viewers read them, without knowing each other.
//! No I/O here: formats are encoded to and decoded from the caller's bytes.

mod file_identity;
pub mod measurement;
mod pages;
pub mod pattern;
pub mod plan;
mod shell_word;
mod shown_path;
mod split_mix;
pub mod trace;
mod unseen;
mod working_set;

pub use file_identity::FileIdentity;
pub use pages::{PAGE_SIZE, PageIndex, PageRange, merge_ranges, page_count};
pub use shell_word::{shell_command, shell_word};
pub use shown_path::{JsonPath, escaped, printable};
pub use split_mix::SplitMix64;
pub use unseen::is_unseen;
pub use working_set::{DiskExtent, FileKind, FileUse, NameKind, NameUse, PageSource, Touched, WorkingSet};
