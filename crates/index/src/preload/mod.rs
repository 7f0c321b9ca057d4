//! The index for any program: names that were absent, answered by a library that is preloaded.
//!
//! Not obvious: only names that a recorded start asked for are in it, although all names of each directory are known. The kernel itself said
//! of them that they are absent, so case-folding and automounting directories need no rules of ours. A path is absent because one of its
//! components is; the directory in which that one was looked for is its guard.
//!
//! | step | where |
//! |---|---|
//! | which names are absent, and what guards them | this file |
//! | the library with its table, as read by `stubs/preload/table.h` | `library.rs` |

mod library;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use coldstart_host::mounts::Mounts;

use crate::directories::Directories;
use crate::guard::Guard;
use crate::identity::Identity;
use crate::listing::Times;
use crate::log::Event;

pub use library::{LibraryError, empty_library, is_supported, other_library};

/// The variable that names the log of a recorded start.
pub const LOG_VARIABLE: &str = "COLDSTART_INDEX_LOG_PRELOAD";

/// Names of the files in the index's directory for any program.
///
/// `ld.so` puts its own directory of libraries in place of `$LIB` (`ld.so(8)`): `lib64` or `lib`, on Debian with the architecture behind it. So
/// programs of 32 bits, for which our library would cost an error line, find one of their own, which does nothing.
pub mod files {
    /// The library.
    pub const LIBRARY: &str = "preload/lib64/libcoldstart-absent.so";
    /// Where a link below `preload/lib/` leads to it.
    pub const FROM_BELOW: &str = "../../lib64/libcoldstart-absent.so";
    /// Where a link in `preload/lib/` leads to it.
    pub const FROM_BESIDE: &str = "../lib64/libcoldstart-absent.so";
    /// A link to it on Debian.
    pub const MULTIARCH: &str = if cfg!(target_arch = "aarch64") {
        "preload/lib/aarch64-linux-gnu/libcoldstart-absent.so"
    } else if cfg!(target_arch = "riscv64") {
        "preload/lib/riscv64-linux-gnu/libcoldstart-absent.so"
    } else {
        "preload/lib/x86_64-linux-gnu/libcoldstart-absent.so"
    };
    /// The library for programs of 32 bits, which does nothing, on Debian.
    pub const OTHER_MULTIARCH: &str = "preload/lib/i386-linux-gnu/libcoldstart-absent.so";
    /// On Fedora that library; where there is no directory `/usr/lib64` of its own, a link to the first one.
    pub const LIB: &str = "preload/lib/libcoldstart-absent.so";
    /// What `LD_PRELOAD` names, below the index's content.
    pub const NAMED: &str = "preload/$LIB/libcoldstart-absent.so";
}

/// File systems on which a directory tells of every new name: by the time of its last change, as of inodes on disks and their servers.
/// Others, such as `proc` and most of FUSE, may not.
const TELLING: [&str; 20] = [
    "ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "bcachefs", "zfs", "jfs", "reiserfs", "tmpfs", "overlay", "nfs",
    "nfs4", "ceph", "lustre", "gpfs", "beegfs", "squashfs", "erofs",
];
/// Those on which no file of a program is looked for, so that nothing need be said of them.
const OF_THE_KERNEL: [&str; 8] = ["proc", "sysfs", "devtmpfs", "devpts", "cgroup", "cgroup2", "mqueue", "debugfs"];

/// Absent names of one program.
#[derive(Debug)]
pub struct PreloadIndex {
    /// The program that asked for most of them.
    pub executable: PathBuf,
    /// Directories that are left to the kernel, with the reasons.
    pub unknown: Vec<(PathBuf, String)>,
    programs: Vec<Identity>,
    guards: Vec<Guard>,
    absences: BTreeMap<Vec<u8>, usize>,
}

/// The directory in which a component of an absolute path is looked for and absent, and that component.
fn missing_component(path: &[u8]) -> Option<(PathBuf, Vec<u8>)> {
    let mut start = 0;
    while let Some(&byte) = path.get(start) {
        if byte == b'/' {
            start += 1;
            continue;
        }
        let end = path.get(start..)?.iter().position(|&byte| byte == b'/').map_or(path.len(), |length| start + length);
        let known = Path::new(OsStr::from_bytes(path.get(..end)?));
        match std::fs::symlink_metadata(known) {
            Ok(_) => start = end,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let before = path.get(..start)?;
                let length = before.iter().rposition(|&byte| byte != b'/').map_or(1, |last| last + 1);
                let directory = PathBuf::from(OsStr::from_bytes(before.get(..length)?));
                // The component before may be a link that leads nowhere.
                let is_directory = std::fs::metadata(&directory).is_ok_and(|found| found.is_dir());
                return is_directory.then(|| (directory, path.get(start..end).unwrap_or_default().to_vec()));
            }
            Err(_) => return None,
        }
    }
    None
}

impl PreloadIndex {
    /// From the log of a recorded start. `None` if no program wrote into it. Waits for directories that have just changed.
    pub fn new(events: &[Event]) -> Option<Self> {
        let programs: BTreeMap<u32, &[u8]> =
            events.iter().filter(|event| event.kind == b'P').map(|event| (event.process, event.field(0))).collect();
        let mut asked: BTreeMap<&[u8], u64> = programs.values().map(|program| (*program, 0)).collect();
        for program in events.iter().filter(|event| event.kind == b'M').filter_map(|event| programs.get(&event.process))
        {
            asked.entry(program).and_modify(|count| *count += 1);
        }
        let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
        let executable = asked.iter().max_by_key(|(_, count)| **count).map(|(program, _)| path(program))?;
        let identities = asked.keys().filter_map(|program| Identity::of(&path(program)).ok()).collect();
        let names: BTreeSet<&[u8]> =
            events.iter().filter(|event| event.kind == b'M').map(|event| event.field(0)).collect();
        let missing: Vec<(&[u8], PathBuf, Vec<u8>)> = names
            .into_iter()
            .filter_map(|name| missing_component(name).map(|(directory, component)| (name, directory, component)))
            .collect();
        let mounts = Mounts::here().unwrap_or_default();
        let mut unknown = Vec::new();
        let mut telling = Vec::new();
        for directory in missing.iter().map(|(_, directory, _)| directory).collect::<BTreeSet<_>>() {
            match silent_file_system(directory, &mounts) {
                None => telling.push(directory.as_path()),
                Some(kind) if OF_THE_KERNEL.contains(&kind.as_str()) => {}
                Some(kind) => {
                    unknown.push((directory.clone(), format!("a directory of {kind} may not tell of new names")));
                }
            }
        }
        let directories = Directories::list(telling, Times::Nanoseconds);
        unknown.extend(directories.unknown().map(|(path, reason)| (path.to_owned(), reason.to_owned())));
        let mut absences = BTreeMap::new();
        for (name, directory, component) in &missing {
            let Some((listing, guard)) = directories.listing(directory) else { continue };
            if listing.kind(component).is_none() && !name.contains(&0) {
                absences.insert(name.to_vec(), guard);
            }
        }
        let mut index =
            Self { executable, unknown, programs: identities, guards: directories.guards().to_vec(), absences };
        index.leave_out_unused_guards();
        Some(index)
    }

    /// Names that are absent no more have left guards behind.
    fn leave_out_unused_guards(&mut self) {
        let used: BTreeSet<usize> = self.absences.values().copied().collect();
        let numbers: BTreeMap<usize, usize> = used.iter().enumerate().map(|(new, old)| (*old, new)).collect();
        self.guards = used.iter().filter_map(|old| self.guards.get(*old).cloned()).collect();
        for guard in self.absences.values_mut() {
            *guard = numbers.get(guard).copied().unwrap_or(0);
        }
    }

    /// Number of absent names.
    pub fn absence_count(&self) -> usize {
        self.absences.len()
    }

    /// All guards.
    pub fn guards(&self) -> &[Guard] {
        &self.guards
    }

    /// The library with these names.
    ///
    /// # Errors
    /// [`LibraryError`].
    pub fn library(&self) -> Result<Vec<u8>, LibraryError> {
        library::with_table(&self.programs, &self.guards, &self.absences)
    }
}

/// The type of a directory's file system, if that does not promise to tell of every new name.
fn silent_file_system(directory: &Path, mounts: &Mounts) -> Option<String> {
    let kind = directory.canonicalize().ok().and_then(|real| mounts.of(&real).map(|mount| mount.file_system.clone()));
    match kind {
        Some(kind) if TELLING.iter().any(|telling| kind == OsStr::new(telling)) => None,
        Some(kind) => Some(kind.to_string_lossy().into_owned()),
        None => Some("an unknown file system".to_owned()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_path_is_absent_because_of_its_first_missing_component() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::create_dir(at("a")).unwrap();
        fs::write(at("a/file"), "").unwrap();
        symlink("a", at("link")).unwrap();
        symlink("nowhere", at("dangling")).unwrap();
        let missing = |name: &str| {
            let (directory, component) = missing_component(at(name).as_os_str().as_bytes())?;
            let directory = directory.strip_prefix(root.path()).unwrap().to_str().unwrap().to_owned();
            Some((directory, String::from_utf8(component).unwrap()))
        };
        let is = |directory: &str, component: &str| Some((directory.to_owned(), component.to_owned()));
        assert_eq!(missing("a/x"), is("a", "x"));
        assert_eq!(missing("a//x/y/"), is("a", "x"));
        assert_eq!(missing("link/x"), is("link", "x"));
        assert_eq!(missing("a/../x"), is("a/..", "x"));
        for other in ["a/file", "dangling", "dangling/x", "a/file/x", "a"] {
            assert_eq!(missing(other), None, "{other}");
        }
    }

    #[test]
    fn absent_names_have_the_guard_of_their_directory_and_others_are_left_out() {
        let root = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR").to_owned() + "/../../target").unwrap();
        let at = |name: &str| root.path().join(name).to_str().unwrap().to_owned();
        fs::create_dir(at("a")).unwrap();
        fs::write(at("a/there"), "").unwrap();
        let log = format!(
            "P\t1\t/bin/sh\nP\t2\t/bin/cat\nM\t2\t{}\nM\t2\t{}\nM\t1\t{}\nM\t1\t/proc/no/such\n",
            at("a/x.lua"),
            at("a/y/z.lua"),
            at("a/there")
        );
        let index = PreloadIndex::new(&crate::log::parse(log.as_bytes())).unwrap();
        assert_eq!(index.absence_count(), 2);
        let [guard] = index.guards() else { panic!("{index:?}") };
        assert_eq!(guard.path.to_str(), Some(&*at("a")));
        assert_eq!(guard.change(), None);
        assert!(index.unknown.is_empty(), "{:?}", index.unknown);
        assert!(PreloadIndex::new(&[]).is_none());
    }
}
