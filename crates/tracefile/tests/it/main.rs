//! Traces written to files and read again, asked in SQL, cut off and made to harm.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod asking;
mod common;
mod figures;
mod full_disk;
mod refused;
mod round_trip;
