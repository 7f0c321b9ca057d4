//! What is read of files that are built here, against other readers of ELF; damaged files.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod android_packed;
mod built;
mod debug_files;
#[allow(unreachable_pub, reason = "the fuzz targets use it, too")]
mod exercise;
mod hash;
mod hostile;
mod notes;
mod unwind;
mod versions;
