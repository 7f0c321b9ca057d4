//! Facts of the running system: mounts, processes, block devices, kernel settings.
//!
//! The kernel shows them as files below `/proc` and `/sys`. This crate is the only one that names files of `/proc`, and each of
//! their formats has its one parser here. Parsers take bytes and are total: users choose much of what stands in these files
//! (mount points, program names), so nothing is decoded as UTF-8 that need not be, and a line that is not understood is
//! skipped without losing the others. Parsers and paths are separate, so that `doctor` can read a made-up machine.
//!
//! Why this is not the `procfs` crate: `docs/decisions/0024-facts-of-the-running-system.md`.

pub mod block_device;
pub mod descriptor;
pub mod kernel;
pub mod machine;
pub mod mounts;
pub mod process;
pub mod rights;
pub mod script_line;
pub mod text;
