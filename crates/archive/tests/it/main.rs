//! Zip files as other programs write them, put into order and read by others.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod zip;
