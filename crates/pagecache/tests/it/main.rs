//! Residency, eviction and saved states of real files, by numbers of other tools and of the disk.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;
mod evict;
mod file_systems;
mod fincore;
mod fuse;
mod metadata;
mod saved;
mod walk;
