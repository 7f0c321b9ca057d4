//! The library that tells the loader where each library is, for `bind --mode audit`: machine code that is the same for
//! all, and a table for one program behind it.
//!
//! | step | file |
//! |---|---|
//! | who asks, which names, which files | `table.rs` |
//! | such a table from lists of directories | `of_search.rs` |
//! | a table that may move with its program | `relative.rs` |
//! | its bytes, as `stubs/audit/table.h` reads them | `layout.rs`, `encode.rs` |
//! | the whole library | `architecture.rs`, `build.rs` |
//! | a library read again | `read.rs` |
//!
//! A newcomer would not guess that the code is not linked with the table: the table becomes the end of the last segment,
//! so the loader maps it together with the code, and finding it costs nothing.

mod architecture;
mod build;
mod encode;
mod error;
mod layout;
mod of_search;
mod read;
mod relative;
mod table;

pub use architecture::Architecture;
pub use build::build;
pub use error::{BuildError, ReadError};
pub use of_search::{Listing, Names, Search};
pub use read::read;
pub use table::{Found, Group, Place, Requester, Table};

/// The name that the library gives itself (`DT_SONAME`); a good name for its file, too.
pub const SONAME: &str = "libcoldstart-audit.so";

/// The variable that switches the table off when it is set to something other than nothing or `0`.
pub const DISABLE_VARIABLE: &str = "COLDSTART_DISABLE";
