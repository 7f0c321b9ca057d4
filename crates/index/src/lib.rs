//! Indexes of module directories, from which interpreters find their modules at the first try.
//!
//! An interpreter with a long module path asks for every name in every directory. An index remembers which directory has which name. The
//! interpreter still opens each file itself, so only a wrong "absent" could do harm, and absences are bound to the identity of
//! every directory that could have held the name.
//!
//! | step | where |
//! |---|---|
//! | which interpreter a program is | `language.rs` |
//! | what the interpreter's own search found: the log of a recorded start | `log.rs` |
//! | entries and names in it, for languages that search for relative names | `searches.rs` |
//! | a directory's names with its identity; directories that are still changing | `listing.rs`, `directories.rs` |
//! | what is checked at a start: directories, immutable stores | `identity.rs`, `guard.rs`, `store.rs` |
//! | which entries of a path have a name | `providers.rs` |
//! | the data for one language | `python/`, `perl.rs`, `guile.rs`, `ruby.rs`, `node.rs` |
//! | names that are absent, for programs of any language | `preload/` |
//! | sources whose code is kept | `sources.rs` |
//! | what all languages have in common, in one file | `manifest.rs` |
//! | content that appears whole or not at all | `place.rs` |
//! | the variables that make an interpreter use it; what is asked and read before a start | `variables.rs`, `start.rs` |
//!
//! The code that runs inside the interpreters is in `shims/`, that of the preloaded library in `stubs/preload/`.

mod ahead;
pub mod directories;
mod guard;
pub mod guile;
mod identity;
mod language;
mod listing;
pub mod log;
mod manifest;
pub mod node;
pub mod perl;
mod place;
pub mod preload;
pub mod providers;
pub mod python;
pub mod ruby;
mod searches;
mod sources;
mod start;
mod store;
mod variables;

pub use ahead::RemoteNames;
pub use guard::{Change, Guard, changes, in_parallel};
pub use identity::Identity;
pub use language::{Language, Recognised};
pub use listing::{Listing, Name, NameKind, Times};
pub use manifest::{LanguageIndex, MANIFEST, Manifest, ManifestError, SourceFile};
pub use place::{CURRENT, IndexPlace, PlaceError};
pub use start::{OpenIndex, PreparedStart, StartError, prepare, variables_of};
pub use store::store_item;
pub use variables::{Syntax, Variable};
