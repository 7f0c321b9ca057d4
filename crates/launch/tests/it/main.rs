//! Real launches, interrupted ones among them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;
mod file;
mod http;
mod interrupts;
mod launches;
mod namespaces;
mod notify;
mod page;
