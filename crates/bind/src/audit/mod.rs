//! The library that gives the loader each library's path, for `bind --mode audit`: generic machine code, followed by
//! a table for one program.
//!
//! | step | file |
//! |---|---|
//! | requesters, names, files | `table.rs` |
//! | a table from lists of directories | `of_search.rs` |
//! | a table that moves with its program | `relative.rs` |
//! | its encoding, as read by `stubs/audit/table.h` | `layout.rs`, `encode.rs` |
//! | the whole library | `architecture.rs`, `build.rs` |
//! | reading a library back | `read.rs` |
//!
//! A newcomer would not guess that the code is not linked with the table: the table is appended to the last segment,
//! so the loader maps it together with the code, and locating it costs nothing.

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

/// The library's `DT_SONAME`; also a good file name for it.
pub const SONAME: &str = "libcoldstart-audit.so";

/// The variable that disables the table, unless it is empty or `0`.
pub const DISABLE_VARIABLE: &str = "COLDSTART_DISABLE";
