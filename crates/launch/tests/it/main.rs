//! Real launches by the tests themselves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

// Some of it is for the tests that have another process launch.
#[allow(dead_code)]
mod common;
mod counts;
mod file;
mod http;
mod launches;
mod notify;
mod page;
