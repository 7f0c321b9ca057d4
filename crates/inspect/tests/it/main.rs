//! What is said of files that are built here and of those of this machine, against readelf and against programs that run.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod built;
mod by_hand;
mod changed;
mod compared;
mod findings;
mod found;
mod initialisers;
mod layout;
mod loader_reads;
mod odd_files;
mod owners;
mod printed;
mod readelf;
mod relocation_names;
mod rust_vtables;
