//! Layouts made by hand: layers over layers, all compressions, and layouts that must not be used.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod hostile;
mod layers;
mod scene;
