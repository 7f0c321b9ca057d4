//! Facts of the running system: mounts, processes, block devices, kernel settings.
//!
//! The kernel shows them as files below `/proc` and `/sys`. Only this crate names files of `/proc`, and each format has one parser,
//! here. Parsers take bytes and accept any input: users choose much of the content (mount points, program names), so text is decoded
//! as UTF-8 only where needed, and a line that cannot be parsed is skipped. Parsers and paths are separate, so that `doctor` can read
//! a fake system in tests.
//!
//! Why this is not the `procfs` crate: `docs/decisions/0024-facts-of-the-running-system.md`.

pub mod backing_device;
pub mod block_device;
pub mod descriptor;
pub mod kernel;
pub mod machine;
pub mod mounts;
pub mod power;
pub mod pressure;
pub mod process;
pub mod rights;
pub mod script_line;
pub mod service_manager;
pub mod text;
