//! Programs for which some system calls fail, as on an older kernel or in a container.

use std::path::Path;
use std::process::{Command, Output};

/// A Python program: `filtered.py NUMBER[:ARGUMENT]=ERROR... -- PROGRAM [ARGUMENT...]`.
pub(crate) const FILTERED: &str = include_str!("filtered.py");

/// `cachestat` fails as before Linux 6.5 (`ENOSYS`).
pub(crate) const WITHOUT_CACHESTAT: &str = "451=38";

/// `process_vm_readv` fails as where a security module forbids it (`EPERM`).
pub(crate) const WITHOUT_OTHERS_MEMORY: &str = if cfg!(target_arch = "aarch64") { "270=1" } else { "310=1" };

/// `memfd_create` fails (`EPERM`).
pub(crate) const WITHOUT_FILES_IN_MEMORY: &str = if cfg!(target_arch = "aarch64") { "279=1" } else { "319=1" };

/// What `coldstart` says in this directory, into which the filter's program is written.
pub(crate) fn coldstart(directory: &Path, rule: &str, arguments: &[&str]) -> Output {
    std::fs::write(directory.join("filtered.py"), FILTERED).unwrap();
    let mut command = Command::new("python3");
    command.current_dir(directory).args(["filtered.py", rule, "--", env!("CARGO_BIN_EXE_coldstart")]).args(arguments);
    command.output().unwrap()
}
