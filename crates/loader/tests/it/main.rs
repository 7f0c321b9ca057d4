//! Our answers against those of the real loaders and of ldconfig, and rules that no trace can show.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod account;
mod cache;
mod cache_nix_note;
mod cache_write;
mod common;
mod facts;
mod glances;
mod recipe;
mod rules;
mod scale;
mod starts;
mod system;
mod tree;
mod trees;
mod worlds;
