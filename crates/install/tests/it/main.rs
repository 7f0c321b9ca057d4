//! Installations in directories of their own: written, killed, edited, undone.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod killed;
mod places;
mod scene;
mod shared;
mod undone;
mod upkeep;
