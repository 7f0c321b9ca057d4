//! From files of this machine to entries of an image.
//!
//! | what | file |
//! |---|---|
//! | one file: attributes, kind, extended attributes, holes | `describe.rs` |
//! | whole trees, single files with all that leads to them | `collect.rs` |

mod collect;
mod describe;

pub use collect::{CollectError, CollectProblem, Collector};
pub use describe::{Described, DescribedKind, describe};
