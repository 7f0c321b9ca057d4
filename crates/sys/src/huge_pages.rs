//! Preventing huge-page mappings of files.
//!
//! Where a file is in the page cache in folios of 2 MiB, one fault maps all of it, and the first touches of 511 pages are not seen. Not
//! obvious: the setting for anonymous memory has no effect on this, and neither has forbidding huge pages
//! except for advised memory (`PR_THP_DISABLE_EXCEPT_ADVISED`, Linux 6.18): `do_set_pmd` in `mm/memory.c` checks only whether all are forbidden.

use std::os::unix::process::CommandExt;
use std::process::Command;

/// Whether files are mapped by small pages only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SmallPages {
    /// Yes; and memory for which the program requests huge pages (`MADV_HUGEPAGE`) gets none either.
    Always,
    /// No: where all anonymous memory may have huge pages (`always`), forbidding them would change the program's behaviour.
    NotHere,
}

/// Makes `command` and all that it starts map files by small pages (`PR_SET_THP_DISABLE`, which forks and programs inherit).
pub fn map_files_by_small_pages(command: &mut Command) -> SmallPages {
    let setting = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    if setting.contains("[always]") {
        return SmallPages::NotHere;
    }
    let hook = || {
        // SAFETY: prctl with integer arguments touches no memory of ours. Kernels without huge pages refuse; they need no change.
        unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1 as libc::c_ulong, 0, 0, 0) };
        Ok(())
    };
    // SAFETY: the hook runs between fork and exec and only makes a system call; it allocates nothing and takes no lock.
    unsafe { command.pre_exec(hook) };
    SmallPages::Always
}
