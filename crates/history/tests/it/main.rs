//! Measurements that are kept: what comes back, and what happens to files that are damaged, full or in use.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;
mod hard_cases;
mod keeping;
