//! The worlds for program starts. Each is a function that fills a directory.

pub(super) mod packages;
pub(super) mod store;
pub(super) mod synthetic;
