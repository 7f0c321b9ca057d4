//! Whether the caller gets reliable residency for a file.
//!
//! Since Linux 5.2 `mincore` reports "all resident" to callers who could not open the file for writing, so that no user can
//! watch another user's reads (`can_do_mincore` in `mm/mincore.c`). It gives no error, so the same rule is checked here
//! beforehand: own the file or have `CAP_FOWNER` over it (`inode_owner_or_capable`), or have write permission.

use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags, Stat, accessat, open};

/// Whether `mincore` is reliable for an open file. If in doubt, no.
pub(crate) fn may_see_pages(file: impl AsFd, stat: &Stat) -> bool {
    let own_name = coldstart_host::descriptor::path(file);
    owns_or_is_capable(&own_name, stat) || accessat(CWD, &own_name, Access::WRITE_OK, AtFlags::EACCESS).is_ok()
}

/// The kernel's `inode_owner_or_capable`, user namespaces and all.
///
/// Opening with `O_NOATIME` is permitted to exactly those (`may_open` in `fs/namei.c`), which is more reliable than comparing
/// user IDs and capabilities. A new open, because changing the flags of the caller's descriptor would affect all that
/// share it.
fn owns_or_is_capable(own_name: &Path, stat: &Stat) -> bool {
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
    use coldstart_sys::mincore::mincore;
    use rustix::fs::{Gid, Uid};
    use std::fs::{File, Permissions};
    use std::os::unix::fs::{PermissionsExt, chown};

    #[test]
    fn an_owner_may() {
        let file = File::open(std::env::current_exe().unwrap()).unwrap();
        assert!(may_see_pages(&file, &rustix::fs::fstat(&file).unwrap()));
    }

    /// What this says and what `mincore` says of a file that is nowhere in memory, asked by a thread that is `nobody`.
    fn as_nobody(file: File) -> (bool, Vec<bool>) {
        let nobody = std::thread::spawn(move || {
            // The system call changes this thread alone, and with the effective user id go the capabilities.
            let (root, nobody) = (Uid::ROOT, Uid::from_raw(65534));
            rustix::thread::set_thread_res_uid(root, nobody, root).unwrap();
            let said = may_see_pages(&file, &rustix::fs::fstat(&file).unwrap());
            (said, mincore(&file, 0, 4096 * 4).unwrap())
        });
        nobody.join().unwrap()
    }

    #[test]
    fn says_no_exactly_where_mincore_lies() {
        if !rustix::process::geteuid().is_root() {
            return coldstart_testing::skip("only root can become nobody");
        }
        let directory = tempfile::TempDir::new().unwrap();
        std::fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
        let path = directory.path().join("file");
        for (owner, mode, may) in [(0, 0o644, false), (0, 0o666, true), (65534, 0o444, true), (65534, 0o644, true)] {
            // One large hole: nothing of it is resident on any file system.
            File::create(&path).unwrap().set_len(1 << 20).unwrap();
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            chown(&path, Some(owner), Some(Gid::ROOT.as_raw())).unwrap();
            let (said, listed) = as_nobody(File::open(&path).unwrap());
            assert_eq!(said, may, "owner {owner}, mode {mode:o}");
            assert_eq!(listed.iter().all(|&resident| resident), !may, "owner {owner}, mode {mode:o}: mincore");
            std::fs::remove_file(&path).unwrap();
        }
    }
}
