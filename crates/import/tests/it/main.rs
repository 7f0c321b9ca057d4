//! Recordings of perf, whole and damaged.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod hostile;
mod perf;
mod support;
