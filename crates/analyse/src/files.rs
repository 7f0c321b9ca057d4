//! The files of mappings: which mappings have one, and its properties.
//!
//! What a newcomer would not guess: a path in a mapping record is a name from the kernel's own bookkeeping. It may
//! end with ` (deleted)`, may refer to a device, and for anonymous shared memory it is a file that never existed
//! (`/dev/zero (deleted)`, `mm/shmem.c`, `shmem_zero_setup`).

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use coldstart_host::block_device::DeviceNumber;
use coldstart_host::process;
use coldstart_profile::FileIdentity;
use coldstart_profile::trace::{FileCategory, FileId, TracedFile};
use coldstart_sys::fault_recorder::Mapped;

const DELETED: &[u8] = b" (deleted)";

/// The file system's data for a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSeen {
    /// The path without symbolic links.
    pub path: PathBuf,
    /// `st_dev` in the kernel's numbering: `major << 20 | minor`.
    pub device: u64,
    /// `st_ino`.
    pub inode: u64,
    /// Size and modification time.
    pub identity: FileIdentity,
}

/// The kind of a mapping's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Backing {
    /// Pages of a file on a disk.
    File,
    /// Pages of a named object in memory.
    Memory,
    /// Nothing that could be read from a disk: anonymous memory, the kernel's own pages, devices.
    None,
}

/// The kind of a mapping.
pub(super) fn backing(mapped: &Mapped) -> Backing {
    let path = mapped.path.as_bytes();
    let starts = |prefix: &str| path.starts_with(prefix.as_bytes());
    if mapped.inode == 0 || !starts("/") || starts("//") {
        // `//anon`, `[heap]`, `[vdso]`, `anon_inode:[perf_event]`, `socket:[1]`, `pipe:[1]`.
        return Backing::None;
    }
    if starts("/memfd:")
        || starts("/SYSV")
        || starts("/dev/shm/")
        || starts("/sys/")
        || Path::new(&mapped.path).starts_with(process::ALL)
    {
        return Backing::Memory;
    }
    // Huge pages without a name, and the memory of graphics drivers, which are files of file systems that nobody can
    // mount.
    if starts("/dev/")
        || starts("/anon_hugepage")
        || starts("/[aio]")
        || starts("/dmabuf:")
        || starts("/i915")
        || starts("/drm")
    {
        return Backing::None;
    }
    Backing::File
}

/// The files of a trace, as they become known.
#[derive(Clone, Debug, Default)]
pub(super) struct Files {
    pub(super) list: Vec<TracedFile>,
    pub(super) deleted: Vec<FileId>,
    by_number: HashMap<(u64, u64), FileId>,
    by_path: HashMap<PathBuf, FileId>,
}

impl Files {
    /// The file of a mapping; `None` if it has none.
    pub(super) fn of_mapping(&mut self, mapped: &Mapped) -> Option<FileId> {
        let category = match backing(mapped) {
            Backing::File => FileCategory::System,
            Backing::Memory => FileCategory::Memory,
            Backing::None => return None,
        };
        if let Some(&known) = self.by_number.get(&(mapped.device, mapped.inode)) {
            return Some(known);
        }
        let (path, deleted) = without_deleted(&mapped.path);
        let id = self.add(TracedFile { path, device: mapped.device, inode: mapped.inode, identity: None, category })?;
        self.by_number.insert((mapped.device, mapped.inode), id);
        // A memfd always has this suffix, and was not deleted.
        if deleted && category != FileCategory::Memory {
            self.deleted.push(id);
        }
        Some(id)
    }

    /// The file of a path reported by the loader or the kernel; `seen` is the file system's data for it.
    pub(super) fn of_path(&mut self, path: &Path, seen: Option<FileSeen>) -> Option<FileId> {
        if let Some(&known) = self.by_path.get(path) {
            return Some(known);
        }
        let id = match seen {
            Some(seen) => match self.by_number.get(&(seen.device, seen.inode)) {
                Some(&known) => known,
                None => {
                    let id = self.add(TracedFile {
                        path: seen.path,
                        device: seen.device,
                        inode: seen.inode,
                        identity: Some(seen.identity),
                        category: FileCategory::System,
                    })?;
                    self.by_number.insert((seen.device, seen.inode), id);
                    id
                }
            },
            None => self.add(TracedFile {
                path: path.to_owned(),
                device: 0,
                inode: 0,
                identity: None,
                category: FileCategory::System,
            })?,
        };
        self.by_path.insert(path.to_owned(), id);
        Some(id)
    }

    fn add(&mut self, file: TracedFile) -> Option<FileId> {
        let id = FileId(u32::try_from(self.list.len()).ok()?);
        self.list.push(file);
        Some(id)
    }
}

/// Gives each file its identity if its path still refers to it, and its category. Files in memory keep theirs.
///
/// `seen` asks the file system about a path; `category` classifies a file by its path.
pub fn identify(
    files: &mut [TracedFile],
    seen: &dyn Fn(&Path) -> Option<FileSeen>,
    category: &dyn Fn(&Path) -> FileCategory,
) {
    for file in files.iter_mut() {
        if file.category == FileCategory::Memory {
            continue;
        }
        file.category = category(&file.path);
        file.identity = seen(&file.path)
            .filter(|seen| (seen.device, seen.inode) == (file.device, file.inode))
            .map(|seen| seen.identity);
    }
}

/// `st_dev` or `st_rdev` in the kernel's own numbering, as tracepoints print it: `major << 20 | minor`.
pub fn kernel_number(number: u64) -> u64 {
    DeviceNumber::of_stat(number).to_kernel()
}

fn without_deleted(path: &OsStr) -> (PathBuf, bool) {
    match path.as_bytes().strip_suffix(DELETED) {
        Some(path) => (OsString::from_vec(path.to_vec()).into(), true),
        None => (path.into(), false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(path: &str, inode: u64) -> Mapped {
        let (address, length, offset, device) = (0x1000, 0x1000, 0, 8 << 20);
        Mapped { address, length, offset, device, inode, protection: 1, flags: 2, path: path.into() }
    }

    #[test]
    fn what_has_a_file() {
        let of = |path, inode| backing(&mapped(path, inode));
        assert_eq!(of("/usr/lib/libc.so.6", 7), Backing::File);
        assert_eq!(of("/usr/lib/libc.so.6 (deleted)", 7), Backing::File);
        for memory in ["/memfd:jit (deleted)", "/SYSV00000000 (deleted)", "/dev/shm/x", process::own::MAPS] {
            assert_eq!(of(memory, 7), Backing::Memory, "{memory}");
        }
        for none in ["//anon", "[heap]", "[vdso]", "anon_inode:[perf_event]", "/dev/zero (deleted)", "/dev/dri/card0"] {
            assert_eq!(of(none, 7), Backing::None, "{none}");
        }
        assert_eq!(of("/usr/lib/libc.so.6", 0), Backing::None);
    }

    #[test]
    fn a_file_is_known_by_its_number_and_loses_the_kernels_suffix() {
        let mut files = Files::default();
        let first = files.of_mapping(&mapped("/opt/a (deleted)", 7));
        assert_eq!(files.of_mapping(&mapped("/opt/hard-link", 7)), first);
        assert_ne!(files.of_mapping(&mapped("/opt/a", 8)), first);
        assert_eq!(files.list.first().map(|file| file.path.clone()), Some("/opt/a".into()));
        assert_eq!(files.deleted, [FileId(0)]);
        files.of_mapping(&mapped("/memfd:x (deleted)", 9));
        assert_eq!(files.deleted, [FileId(0)]);
    }

    #[test]
    fn paths_lead_to_files_that_are_known_by_number() {
        let mut files = Files::default();
        let first = files.of_mapping(&mapped("/usr/lib/a", 7));
        let identity = FileIdentity { size: 1, modified: 2 };
        let seen = FileSeen { path: "/usr/lib/a".into(), device: 8 << 20, inode: 7, identity };
        assert_eq!(files.of_path(Path::new("/lib/a"), Some(seen)), first);
        let unknown = files.of_path(Path::new("/lib/b"), None);
        assert_ne!(unknown, first);
        assert_eq!(files.of_path(Path::new("/lib/b"), None), unknown);
    }

    #[test]
    fn identity_only_of_what_is_still_there() {
        let mut files = Files::default();
        files.of_mapping(&mapped("/a", 7));
        files.of_mapping(&mapped("/b", 8));
        files.of_mapping(&mapped("/memfd:c", 9));
        let identity = FileIdentity { size: 1, modified: 2 };
        let seen = |path: &Path| Some(FileSeen { path: path.into(), device: 8 << 20, inode: 7, identity });
        identify(&mut files.list, &seen, &|_| FileCategory::Data);
        let facts: Vec<_> = files.list.iter().map(|file| (file.identity.is_some(), file.category)).collect();
        assert_eq!(facts, [(true, FileCategory::Data), (false, FileCategory::Data), (false, FileCategory::Memory)]);
    }
}
