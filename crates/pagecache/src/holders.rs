//! Which processes hold on to a file's pages.
//!
//! A page that is in some process's page table cannot be evicted. Mapping alone does not matter: what counts is what a
//! process has touched, so only mappings with pages in the table are named. Large folios make one touched page hold its
//! neighbours. One pass over `/proc` serves any number of files, because reading every process's maps costs tens of
//! milliseconds.
//!
//! Trap: `/proc/PID/maps` gives the super block's device number; `stat` gives another one on btrfs (one for each subvolume)
//! and overlayfs. So a mapping also counts when the inode number and the path agree.
//!
//! Source: `proc_pid_maps(5)`, `proc_pid_smaps(5)`; `fs/proc/task_mmu.c`, `mm/truncate.c` (`mapping_evict_folio`).

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{makedev, stat};

use crate::error::Error;

/// What tells a file from others on this machine, and the name by which mappings show it.
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
    /// [`Error::Open`] when it is not there any more.
    pub fn of(path: &Path) -> Result<Self, Error> {
        let error = |source| Error::Open { path: path.to_owned(), source };
        let found = stat(path).map_err(|errno| error(errno.into()))?;
        let path = fs::canonicalize(path).map_err(error)?;
        Ok(Self { device: found.st_dev, inode: found.st_ino, path })
    }
}

/// A process that has pages of a file in its page table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Process id.
    pub pid: u32,
    /// The process's name (`comm`), at most 15 bytes; anyone can choose it, so it may hold anything.
    pub name: String,
    /// How much of the file is in its page table, in bytes.
    pub bytes: u64,
    /// Whether the mapping is locked into memory (`mlock(2)`).
    pub locked: bool,
}

/// Who holds on to which files.
#[derive(Clone, Debug, Default)]
pub struct Holders {
    /// For each file of the question that has any: the processes, by process id.
    pub by_file: HashMap<FileKey, Vec<Holder>>,
    /// Processes whose maps this caller may not read; any of them may be a holder.
    pub unreadable_processes: u64,
}

impl Holders {
    /// The processes that hold a file.
    pub fn of(&self, file: &FileKey) -> &[Holder] {
        self.by_file.get(file).map_or(&[], Vec::as_slice)
    }
}

/// Looks through all processes for those that have pages of `files` in their page tables.
///
/// Processes that end meanwhile are passed over. Where `/proc` cannot be read at all, nobody is found.
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
        by_inode.get(&mapping.inode).is_some_and(|files| files.iter().any(|file| mapping.shows(file)))
    };

    let mut pids: Vec<u32> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str().and_then(|name| name.parse().ok()))
        .collect();
    pids.sort_unstable();
    for pid in pids {
        // `maps` is cheap and rules nearly every process out; `smaps` walks the page tables.
        let maps = match fs::read(format!("/proc/{pid}/maps")) {
            Ok(maps) => maps,
            Err(error) => {
                if error.kind() == io::ErrorKind::PermissionDenied {
                    holders.unreadable_processes += 1;
                }
                continue;
            }
        };
        if !maps.split(|&byte| byte == b'\n').filter_map(Mapping::parse).any(|mapping| wanted(&mapping)) {
            continue;
        }
        let Ok(smaps) = fs::read(format!("/proc/{pid}/smaps")) else {
            holders.unreadable_processes += 1;
            continue;
        };
        add_process(&mut holders, pid, &smaps, &by_inode);
    }
    holders
}

fn add_process(holders: &mut Holders, pid: u32, smaps: &[u8], by_inode: &HashMap<u64, Vec<&FileKey>>) {
    let name = || {
        let name = fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
        String::from_utf8_lossy(name.strip_suffix(b"\n").unwrap_or(&name)).into_owned()
    };
    for (mapping, use_of) in parse_smaps(smaps) {
        if use_of.file_bytes() == 0 {
            continue;
        }
        for &file in by_inode.get(&mapping.inode).into_iter().flatten().filter(|file| mapping.shows(file)) {
            let of_file = holders.by_file.entry(file.clone()).or_default();
            match of_file.last_mut() {
                Some(last) if last.pid == pid => {
                    last.bytes = last.bytes.saturating_add(use_of.file_bytes());
                    last.locked |= use_of.locked > 0;
                }
                _ => of_file.push(Holder { pid, name: name(), bytes: use_of.file_bytes(), locked: use_of.locked > 0 }),
            }
        }
    }
}

/// One line of `maps`, of a mapped file.
#[derive(Debug, PartialEq, Eq)]
struct Mapping {
    device: u64,
    inode: u64,
    path: PathBuf,
}

impl Mapping {
    /// Parses `7f..-7f.. r--p 00000000 fe:00 1234   /usr/lib/libc.so.6`; `None` for anything that is not a mapped file.
    fn parse(line: &[u8]) -> Option<Self> {
        let mut rest = line;
        let mut field = || {
            rest = rest.trim_ascii_start();
            let end = rest.iter().position(|&byte| byte == b' ').unwrap_or(rest.len());
            let (field, after) = rest.split_at(end);
            rest = after;
            std::str::from_utf8(field).ok()
        };
        let addresses = field()?;
        let (_permissions, _offset) = (field()?, field()?);
        let (device, inode) = (field()?, field()?);
        if !addresses.contains('-') {
            return None;
        }
        let (major, minor) = device.split_once(':')?;
        let number = |digits| u32::from_str_radix(digits, 16).ok();
        let inode = inode.parse().ok().filter(|&inode| inode != 0)?;
        let path = unescape(rest.trim_ascii_start());
        Some(Self { device: makedev(number(major)?, number(minor)?), inode, path })
    }

    fn shows(&self, file: &FileKey) -> bool {
        self.inode == file.inode && (self.device == file.device || self.path == file.path)
    }
}

/// Newlines in names are written `\012`; nothing else is escaped, not even the backslash.
fn unescape(path: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((&byte, after)) = rest.split_first() {
        if let Some(after) = rest.strip_prefix(b"\\012") {
            bytes.push(b'\n');
            rest = after;
        } else {
            bytes.push(byte);
            rest = after;
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

/// The figures below a mapping in `smaps`, in bytes.
#[derive(Debug, Default, PartialEq, Eq)]
struct Use {
    in_page_table: u64,
    anonymous: u64,
    locked: u64,
}

impl Use {
    /// Pages of the file itself: those that were copied on write are the process's own.
    fn file_bytes(&self) -> u64 {
        self.in_page_table.saturating_sub(self.anonymous)
    }
}

/// The mapped files of a process with their figures.
fn parse_smaps(smaps: &[u8]) -> Vec<(Mapping, Use)> {
    let mut mappings: Vec<(Mapping, Use)> = Vec::new();
    // Figures below a mapping that is no file must not go to the file before.
    let mut below_file = false;
    for line in smaps.split(|&byte| byte == b'\n') {
        let figure = std::str::from_utf8(line).ok().and_then(|line| {
            let (name, value) = line.split_once(':')?;
            // "7f..-7f.. r--p 0 fe:00 1" has a colon, too, but a space before it.
            (!name.contains(' ')).then_some((name, value.trim()))
        });
        let Some((name, value)) = figure else {
            let mapping = Mapping::parse(line);
            below_file = mapping.is_some();
            mappings.extend(mapping.map(|mapping| (mapping, Use::default())));
            continue;
        };
        let Some((_, use_of)) = mappings.last_mut().filter(|_| below_file) else { continue };
        let bytes = || {
            value.strip_suffix(" kB").and_then(|kib| kib.trim().parse::<u64>().ok()).unwrap_or(0).saturating_mul(1024)
        };
        match name {
            "Rss" => use_of.in_page_table = bytes(),
            "Anonymous" => use_of.anonymous = bytes(),
            "Locked" => use_of.locked = bytes(),
            _ => {}
        }
    }
    mappings
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    const SMAPS: &[u8] = b"\
55d0-55d8 r--p 00000000 fe:00 77                         /opt/a b: c\\012d\xff
Size:                 32 kB
Rss:                  24 kB
Anonymous:             8 kB
Locked:               16 kB
VmFlags: rd mr mw me sd
7ffc-7ffd rw-p 00000000 00:00 0                          [stack]
Rss:                 400 kB
00400000-00401000 r-xp 00001000 08:11 5 /bin/x (deleted)
Rss:                   4 kB
";

    #[test]
    fn figures_go_to_their_mapping() {
        let parsed = parse_smaps(SMAPS);
        let name = OsStr::from_bytes(b"/opt/a b: c\nd\xff");
        assert_eq!(parsed.len(), 2);
        assert_eq!(parsed[0].0, Mapping { device: makedev(0xfe, 0), inode: 77, path: PathBuf::from(name) });
        assert_eq!(parsed[0].1, Use { in_page_table: 24 << 10, anonymous: 8 << 10, locked: 16 << 10 });
        assert_eq!(parsed[0].1.file_bytes(), 16 << 10);
        assert_eq!((parsed[1].0.inode, parsed[1].1.file_bytes()), (5, 4096));
    }

    #[test]
    fn hostile_lines_are_passed_over() {
        for line in
            ["", "a", "1-2 r--p 0 fe:00", "1-2 r--p 0 zz:00 7 /x", "1-2 r--p 0 fe00 7 /x", "1-2 r--p 0 fe:00 -7 /x"]
        {
            assert_eq!(Mapping::parse(line.as_bytes()), None, "{line}");
        }
        assert_eq!(parse_smaps(b"Rss: 99999999999999999999 kB\n:\n\xff\xff:1"), []);
    }

    #[test]
    fn this_process_holds_its_own_program() {
        let key = FileKey::of(&std::env::current_exe().unwrap()).unwrap();
        let holders = find_holders(std::slice::from_ref(&key));
        let me = holders.of(&key).iter().find(|holder| holder.pid == std::process::id()).expect("this process");
        assert!(me.bytes > 0 && !me.locked);
    }

    #[test]
    fn the_path_decides_where_device_numbers_differ() {
        let mapping = Mapping { device: 9, inode: 5, path: PathBuf::from("/a") };
        let file = |device, path: &str| FileKey { device, inode: 5, path: PathBuf::from(path) };
        assert!(mapping.shows(&file(9, "/b")) && mapping.shows(&file(1, "/a")) && !mapping.shows(&file(1, "/b")));
    }
}
