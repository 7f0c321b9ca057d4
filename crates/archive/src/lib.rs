//! Archives in the order of a start.
//!
//! | what | file |
//! |---|---|
//! | a zip file as it lies: records, directory, end records | `zip/read.rs`, `zip/end.rs` |
//! | what a signature covers | `zip/signed.rs` |
//! | which entries a start used | `zip/used.rs`, `used.rs` |
//! | the resources of a Java run time | `jimage.rs` |
//! | the new file as pieces of the old one | `zip/plan.rs` |
//! | the proof that both hold the same | `zip/same.rs` |
//! | lists of files in the forms of archivers | `list.rs` |
//!
//! Not obvious: no general zip crate is used, because they hide what must be kept here: data descriptors, extra fields, entries of one
//! name, bytes in front of the archive. Nothing is decompressed.

mod fields;
pub mod jimage;
pub mod list;
mod used;
pub mod zip;
