//! The processes that keep a file's pages in memory.
//!
//! A page in some process's page table cannot be evicted. A mapping alone does not matter: only mappings with touched
//! pages are listed. With large folios one touched page keeps its
//! neighbours. One pass over `/proc` serves any number of files, because reading every process's maps costs tens of
//! milliseconds.
//!
//! Pitfall: `maps` gives the super block's device number; `stat` gives another one on btrfs (one for each subvolume)
//! and overlayfs. So a mapping also counts when the inode number and the path agree.
//!
//! Source: `proc_pid_maps(5)`, `proc_pid_smaps(5)`; `fs/proc/task_mmu.c`, `mm/truncate.c` (`mapping_evict_folio`).

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use coldstart_host::process::{Mapping, MappingUse, ProcessFiles, numbers};
use rustix::fs::stat;

use crate::error::Error;

/// A file's identity on this machine, and its path as mappings show it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FileKey {
    device: u64,
    inode: u64,
    path: PathBuf,
}

impl FileKey {
    /// The key of the file at `path`; symbolic links are followed.
    ///
    /// # Errors
    /// [`Error::Open`] when it does not exist any more.
    pub fn of(path: &Path) -> Result<Self, Error> {
        let error = |source| Error::Open { path: path.to_owned(), source };
        let found = stat(path).map_err(|errno| error(errno.into()))?;
        let path = fs::canonicalize(path).map_err(error)?;
        Ok(Self { device: found.st_dev, inode: found.st_ino, path })
    }
}

/// A process with pages of a file in its page table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Process id.
    pub pid: u32,
    /// The process's name (`comm`), at most 15 bytes, chosen by the process: untrusted.
    pub name: String,
    /// How much of the file is in its page table, in bytes.
    pub bytes: u64,
    /// Whether the mapping is locked into memory (`mlock(2)`).
    pub locked: bool,
}

/// The processes that keep files in memory.
#[derive(Clone, Debug, Default)]
pub struct Holders {
    /// For each queried file with any: the processes, by PID.
    pub by_file: HashMap<FileKey, Vec<Holder>>,
    /// Processes whose maps this caller may not read; they may be holders, too.
    pub unreadable_processes: u64,
}

impl Holders {
    /// The processes that keep a file in memory.
    pub fn of(&self, file: &FileKey) -> &[Holder] {
        self.by_file.get(file).map_or(&[], Vec::as_slice)
    }
}

/// Searches all processes for those with pages of `files` in their page tables.
///
/// Processes that end meanwhile are skipped. Where `/proc` cannot be read, none is found.
pub fn find_holders(files: &[FileKey]) -> Holders {
    let mut holders = Holders::default();
    if files.is_empty() {
        return holders;
    }
    let mut by_inode: HashMap<u64, Vec<&FileKey>> = HashMap::new();
    for file in files {
        by_inode.entry(file.inode).or_default().push(file);
    }
    let wanted = |mapping: &Mapping| {
        by_inode.get(&mapping.inode).is_some_and(|files| files.iter().any(|file| shows(mapping, file)))
    };

    let mut pids = numbers().unwrap_or_default();
    pids.sort_unstable();
    for pid in pids {
        let process = ProcessFiles::of(pid);
        // `maps` is cheap and rules out nearly every process; `smaps` walks the page tables.
        let maps = match process.maps() {
            Ok(maps) => maps,
            Err(error) => {
                if error.kind() == io::ErrorKind::PermissionDenied {
                    holders.unreadable_processes += 1;
                }
                continue;
            }
        };
        if !maps.iter().any(wanted) {
            continue;
        }
        let Ok(smaps) = process.smaps() else {
            holders.unreadable_processes += 1;
            continue;
        };
        add_process(&mut holders, pid, &smaps, &by_inode);
    }
    holders
}

fn add_process(
    holders: &mut Holders,
    pid: u32,
    smaps: &[(Mapping, MappingUse)],
    by_inode: &HashMap<u64, Vec<&FileKey>>,
) {
    let name = || ProcessFiles::of(pid).name().to_string_lossy().into_owned();
    for (mapping, use_of) in smaps {
        if file_bytes(use_of) == 0 {
            continue;
        }
        for &file in by_inode.get(&mapping.inode).into_iter().flatten().filter(|file| shows(mapping, file)) {
            let of_file = holders.by_file.entry(file.clone()).or_default();
            match of_file.last_mut() {
                Some(last) if last.pid == pid => {
                    last.bytes = last.bytes.saturating_add(file_bytes(use_of));
                    last.locked |= use_of.locked > 0;
                }
                _ => of_file.push(Holder { pid, name: name(), bytes: file_bytes(use_of), locked: use_of.locked > 0 }),
            }
        }
    }
}

/// Whether a mapping is of a file.
fn shows(mapping: &Mapping, file: &FileKey) -> bool {
    mapping.inode == file.inode
        && mapping.inode != 0
        && (mapping.device.to_stat() == file.device || mapping.path == file.path)
}

/// Pages of the file itself: copied-on-write pages are the process's own.
fn file_bytes(use_of: &MappingUse) -> u64 {
    use_of.in_page_table.saturating_sub(use_of.anonymous)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn this_process_holds_its_own_program() {
        let key = FileKey::of(&std::env::current_exe().unwrap()).unwrap();
        let holders = find_holders(std::slice::from_ref(&key));
        let me = holders.of(&key).iter().find(|holder| holder.pid == std::process::id()).expect("this process");
        assert!(me.bytes > 0 && !me.locked);
    }

    #[test]
    fn the_path_decides_where_device_numbers_differ() {
        let mapping = Mapping::parse(b"1-2 r--p 0 00:09 5 /a").unwrap();
        let file = |device, path: &str| FileKey { device, inode: 5, path: PathBuf::from(path) };
        assert!(shows(&mapping, &file(9, "/b")) && shows(&mapping, &file(1, "/a")) && !shows(&mapping, &file(1, "/b")));
    }

    #[test]
    fn pages_that_were_copied_on_write_are_not_the_files() {
        let use_of = MappingUse { in_page_table: 24 << 10, anonymous: 8 << 10, locked: 0 };
        assert_eq!(file_bytes(&use_of), 16 << 10);
    }
}
