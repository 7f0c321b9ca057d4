//! Sections, symbols and functions of objects, against readelf, objdump and damaged files.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod access;
mod described;
mod functions;
mod hostile;
mod support;
