//! The worlds that programs are started in. Each is a function from a directory to what stands there afterwards.

pub(super) mod packages;
pub(super) mod store;
pub(super) mod synthetic;
