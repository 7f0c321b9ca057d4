//! Processes and threads, from the kernel's files about them (`proc(5)`).
//!
//! A process may end between any two reads, so each answer holds for one moment. A PID alone does not identify a process, because
//! it is reused; together with the start time ([`Stat::started`]) it does, until the next boot.

mod auxiliary_vector;
mod maps;
mod stat;
mod status;

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

pub use auxiliary_vector::{AT_BASE, AT_ENTRY, AT_PAGESZ, AuxiliaryVector};
pub use maps::{Mapping, MappingUse, parse_maps, parse_smaps};
pub use stat::Stat;
pub use status::Status;

use crate::text::{decimal, field};

/// The directory of all processes, with a subdirectory per PID.
pub const ALL: &str = "/proc";
/// The calling process.
pub const SELF: &str = "/proc/self";
/// The calling thread.
pub const THREAD_SELF: &str = "/proc/thread-self";

/// Files about the calling process, by their paths.
pub mod own {
    /// As [`Status`](super::Status) reads it.
    pub const STATUS: &str = "/proc/self/status";
    /// Its mappings; see [`parse_maps`](super::parse_maps).
    pub const MAPS: &str = "/proc/self/maps";
    /// The same with figures; see [`parse_smaps`](super::parse_smaps).
    pub const SMAPS: &str = "/proc/self/smaps";
    /// Control groups (`cgroups(7)`).
    pub const CONTROL_GROUPS: &str = "/proc/self/cgroup";
    /// How the user namespace maps users (`user_namespaces(7)`).
    pub const USER_MAP: &str = "/proc/self/uid_map";
    /// How the user namespace maps groups.
    pub const GROUP_MAP: &str = "/proc/self/gid_map";
    /// Whether processes of the user namespace may change their supplementary groups.
    pub const SET_GROUPS: &str = "/proc/self/setgroups";
    /// The mount namespace of the calling thread, which may be another than that of the other threads (`mount_namespaces(7)`).
    pub const MOUNT_NAMESPACE: &str = "/proc/thread-self/ns/mnt";
    /// Resource limits (`proc_pid_limits(5)`).
    pub const LIMITS: &str = "/proc/self/limits";
    /// I/O counters (`proc_pid_io(5)`); missing without `CONFIG_TASK_IO_ACCOUNTING`.
    pub const IO: &str = "/proc/self/io";
    /// A link to the program's file.
    pub const PROGRAM: &str = "/proc/self/exe";
}

/// The `/proc` directory of a process or thread. It need not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessFiles {
    directory: PathBuf,
}

impl ProcessFiles {
    /// Of the process with this PID; a thread's TID gives the files of its process.
    pub fn of(number: u32) -> Self {
        Self { directory: PathBuf::from(format!("/proc/{number}")) }
    }

    /// Of the calling process.
    pub fn own() -> Self {
        Self { directory: PathBuf::from(SELF) }
    }

    /// Of one thread of a process.
    pub fn of_thread(process: u32, thread: u32) -> Self {
        Self { directory: PathBuf::from(format!("/proc/{process}/task/{thread}")) }
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The path of one of its files.
    pub fn at(&self, name: impl AsRef<Path>) -> PathBuf {
        self.directory.join(name)
    }

    /// Whether the process or thread exists; zombies count.
    pub fn exist(&self) -> bool {
        self.directory.exists()
    }

    /// `stat`; `None` for a process that has ended.
    pub fn stat(&self) -> Option<Stat> {
        Stat::parse(&std::fs::read(self.at("stat")).ok()?)
    }

    /// The children of its first thread, which starts them in most programs. None where the kernel does not list them.
    pub fn children_of_first_thread(&self) -> Vec<u32> {
        let Some(number) = self.directory().file_name() else { return Vec::new() };
        let listed = std::fs::read(self.at("task").join(number).join("children")).unwrap_or_default();
        crate::text::words(&listed).filter_map(crate::text::decimal).collect()
    }

    /// `status`; without any field for a process that has ended.
    pub fn status(&self) -> Status {
        Status::new(std::fs::read(self.at("status")).unwrap_or_default())
    }

    /// `maps`: its mappings.
    ///
    /// # Errors
    /// `PermissionDenied` without the right to trace it, `NotFound` for a process that has ended.
    pub fn maps(&self) -> io::Result<Vec<Mapping>> {
        Ok(parse_maps(&std::fs::read(self.at("maps"))?))
    }

    /// `smaps`: its mappings, and how much of each is in the page table. Slow: the kernel walks all page tables.
    ///
    /// # Errors
    /// As [`maps`](Self::maps).
    pub fn smaps(&self) -> io::Result<Vec<(Mapping, MappingUse)>> {
        Ok(parse_smaps(&std::fs::read(self.at("smaps"))?))
    }

    /// `auxv`: the auxiliary vector. Empty for a process that has ended or may not be inspected.
    pub fn auxiliary_vector(&self, is_64_bit: bool) -> AuxiliaryVector {
        AuxiliaryVector::new(std::fs::read(self.at("auxv")).unwrap_or_default(), is_64_bit)
    }

    /// `cmdline`: the program's arguments, starting with its name. Empty for a zombie and for a process that has ended.
    pub fn arguments(&self) -> Vec<OsString> {
        parse_arguments(&std::fs::read(self.at("cmdline")).unwrap_or_default())
    }

    /// `environ`: the environment at the program's start, each entry as `NAME=VALUE`. Empty for a process that has ended or may not
    /// be inspected.
    pub fn environment(&self) -> Vec<OsString> {
        parse_arguments(&std::fs::read(self.at("environ")).unwrap_or_default())
    }

    /// `comm`: the process's name, at most 15 bytes. Empty for a process that has ended.
    pub fn name(&self) -> OsString {
        let mut name = std::fs::read(self.at("comm")).unwrap_or_default();
        if name.last() == Some(&b'\n') {
            name.pop();
        }
        OsString::from_vec(name)
    }

    /// The path of the program's file, as its own file system shows it. A removed file's path ends with ` (deleted)`.
    ///
    /// # Errors
    /// `PermissionDenied` without the right to trace it, `NotFound` for a process that has ended.
    pub fn program(&self) -> io::Result<PathBuf> {
        std::fs::read_link(self.at("exe"))
    }

    /// `read_bytes` of `io`: bytes read from disks for the process and its reaped children. `None` where that is not permitted.
    pub fn bytes_read(&self) -> Option<u64> {
        decimal(field(&std::fs::read(self.at("io")).ok()?, "read_bytes")?)
    }

    /// The name of one of its namespaces, such as `pid:[4026531836]` for `pid`.
    ///
    /// # Errors
    /// As [`program`](Self::program).
    pub fn namespace(&self, kind: &str) -> io::Result<PathBuf> {
        std::fs::read_link(self.directory.join("ns").join(kind))
    }
}

/// The PIDs of all visible processes, in the kernel's order.
///
/// # Errors
/// The kernel's error; `NotFound` without `/proc`.
pub fn numbers() -> io::Result<Vec<u32>> {
    let mut numbers = Vec::with_capacity(256);
    for entry in std::fs::read_dir(ALL)? {
        let name = entry?.file_name().into_vec();
        // The directory also contains other files.
        if name.iter().all(u8::is_ascii_digit) {
            numbers.extend(decimal::<u32>(&name));
        }
    }
    Ok(numbers)
}

/// Whether a process or thread with this number exists; zombies count.
pub fn exists(number: u32) -> bool {
    ProcessFiles::of(number).exist()
}

/// This process's PID as `/proc` shows it. It differs from `getpid`, or is missing, where `/proc` belongs to another PID
/// namespace. `None` where it cannot be read.
pub fn own_number_shown() -> Option<OsString> {
    std::fs::read_link(SELF).ok().map(PathBuf::into_os_string)
}

/// The NUL-terminated words of `cmdline` and `environ`. A program may have overwritten them.
pub fn parse_arguments(bytes: &[u8]) -> Vec<OsString> {
    if bytes.is_empty() {
        return Vec::new();
    }
    let bytes = bytes.strip_suffix(&[0]).unwrap_or(bytes);
    bytes.split(|&byte| byte == 0).map(|word| OsString::from_vec(word.to_vec())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_end_with_zeros() {
        let words = |bytes: &[u8]| parse_arguments(bytes).into_iter().map(OsString::into_vec).collect::<Vec<_>>();
        assert_eq!(words(b"sh\0-c\0\0\xff\0"), [&b"sh"[..], b"-c", b"", b"\xff"]);
        assert_eq!(words(b"\0"), [b""]);
        assert_eq!(words(b"renamed itself"), [b"renamed itself"]);
        assert!(words(b"").is_empty());
    }

    #[test]
    fn this_process_is_told() {
        let (own, number) = (ProcessFiles::own(), std::process::id());
        assert!(numbers().unwrap().contains(&number) && exists(number) && !exists(u32::MAX));
        assert_eq!(own.arguments(), std::env::args_os().collect::<Vec<_>>());
        assert_eq!(own.program().unwrap(), std::fs::read_link(own::PROGRAM).unwrap());
        assert_eq!(own_number_shown().unwrap(), *number.to_string());
        assert!(ProcessFiles::of_thread(number, number).exist() && !ProcessFiles::of_thread(number, 1).exist());
        assert!(own.namespace("mnt").unwrap().to_str().unwrap().starts_with("mnt:["));
        let name = std::fs::read(own.at("comm")).unwrap();
        assert_eq!(own.name().into_vec(), name[..name.len() - 1]);
        assert_eq!(own.bytes_read().is_some(), Path::new(own::IO).exists());
        let gone = ProcessFiles::of(u32::MAX);
        assert!(gone.stat().is_none() && gone.arguments().is_empty() && gone.name().is_empty() && gone.maps().is_err());
    }
}
