//! Starts that are traced for real, against programs that say what they do and against other tools.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod disk;
mod disk_lost;
mod disk_without_root;
mod private_view;
mod sandbox;
mod start_initialisers;
mod start_layers;
mod start_names;
mod start_odd_programs;
mod start_support;
mod start_truth;
