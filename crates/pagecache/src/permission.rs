//! Who is told the truth about a file's pages.
//!
//! Since Linux 5.2 `mincore` answers "all resident" to those who could not open the file for writing, so that nobody can
//! watch another user's reads (`can_do_mincore` in `mm/mincore.c`). It gives no error, so the same rule is checked here
//! beforehand: own the file or have `CAP_FOWNER` over it (`inode_owner_or_capable`), or be permitted to write.

use std::os::fd::{AsFd, AsRawFd};

use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags, Stat, accessat, open};

/// Whether `mincore` tells this process the truth about an open file. In doubt, no.
pub(crate) fn may_see_pages(file: impl AsFd, stat: &Stat) -> bool {
    let own_name = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
    owns_or_is_capable(&own_name, stat) || accessat(CWD, &own_name, Access::WRITE_OK, AtFlags::EACCESS).is_ok()
}

/// The kernel's `inode_owner_or_capable`, user namespaces and all.
///
/// Opening with `O_NOATIME` is permitted to exactly those (`may_open` in `fs/namei.c`), which is surer than comparing
/// user ids and capability bits here. A new open, because changing the flags of the caller's would change them for all who
/// share it.
fn owns_or_is_capable(own_name: &str, stat: &Stat) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOATIME | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    match open(own_name, flags, Mode::empty()) {
        Ok(_) => true,
        Err(rustix::io::Errno::PERM | rustix::io::Errno::ACCESS) => false,
        // No /proc: an owner is an owner all the same. 65534 also stands for every id this user namespace does not know.
        Err(_) => stat.st_uid == rustix::process::geteuid().as_raw() && stat.st_uid != 65534,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_may() {
        let file = std::fs::File::open(std::env::current_exe().unwrap()).unwrap();
        assert!(may_see_pages(&file, &rustix::fs::fstat(&file).unwrap()));
    }
}
