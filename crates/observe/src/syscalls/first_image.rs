//! A program's facts from `/proc` right after its `execve`.

use std::fs;
use std::path::{Path, PathBuf};

use coldstart_host::process::{AT_ENTRY, ProcessFiles};
use coldstart_host::rights::AskedRights;
use rustix::thread::CapabilitySet;

/// The program's entry point, where the loader goes when it is done.
pub(super) fn entry_point(process: u32, is_64_bit: bool) -> Option<u64> {
    ProcessFiles::of(process).auxiliary_vector(is_64_bit).get(AT_ENTRY)
}

/// Whether tracing a program changes its privileges: not for a tracer with `CAP_SYS_PTRACE`.
pub(super) fn we_take_rights() -> bool {
    rustix::thread::capabilities(None).map_or(true, |sets| !sets.effective.contains(CapabilitySet::SYS_PTRACE))
}

/// The file that a process executes, if it would have other privileges than its caller's.
pub(super) fn file_with_rights(process: u32) -> Option<PathBuf> {
    let link = ProcessFiles::of(process).at("exe");
    has_other_rights(&link).then(|| fs::read_link(&link).unwrap_or(link))
}

/// Whether a program's file has other privileges than ours: set-user-ID, set-group-ID, or file capabilities.
pub(crate) fn has_other_rights(program: &Path) -> bool {
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    AskedRights::of(program).is_ok_and(|asked| asked.differ_from(user, group))
}
