//! Pages, pictures, text and other programs' formats: what is made of traces, read again.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code, unused_imports, reason = "shared with the tests of another crate")]
#[path = "../../../tracefile/tests/it/common/mod.rs"]
mod common;
mod decoded;
mod export_viewers;
mod map;
mod million;
mod page;
mod terminal;
