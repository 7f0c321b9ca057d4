//! Real launches, interrupted ones among them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;
mod interrupts;
mod launches;
mod page;
