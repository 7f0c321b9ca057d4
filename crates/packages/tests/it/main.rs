//! Files of real packages, built here by dpkg-deb and installed by the real dpkg below a directory of the test.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod killed;
mod life;
mod owners;
mod refused;
mod system;
mod trigger;
