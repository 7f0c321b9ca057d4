//! Surveys of small directories, packages and images, made by the tools that make them for distributions.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod formats;
mod hostile;
mod restart;
mod root;
mod scene;
mod tables;
