//! Whether an image is what was written, and whether it equals its originals.
//!
//! | question | file |
//! |---|---|
//! | is each byte as it was written? | `soundness.rs` |
//! | is each file of the image equal to the one of a directory tree? | `compare.rs`, `difference.rs` |
//! | does the kernel see the same? | `mounted.rs` |
//!
//! All of it goes through the reader or the kernel, and nothing through the writer.

mod compare;
mod difference;
mod mounted;
mod soundness;

pub use compare::{CompareError, Comparison, Scope, compare};
pub use difference::{Aspect, Difference};
pub use mounted::{compare_mounted, compare_trees};
pub use soundness::{Flaw, Soundness, check};
