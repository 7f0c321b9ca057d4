//! Processes and threads, by the files in which the kernel tells about them (`proc(5)`).
//!
//! A process may end between any two reads, so each answer stands for its moment. A number alone does not name a process for long: it
//! may be given away again; together with the start time ([`Stat::started`]) it does, until the next boot.

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

/// Where processes are shown, a directory for each by its number.
pub const ALL: &str = "/proc";
/// The process that looks.
pub const SELF: &str = "/proc/self";
/// The thread that looks.
pub const THREAD_SELF: &str = "/proc/thread-self";

/// Files about the process that looks, by their paths.
pub mod own {
    /// As [`Status`](super::Status) reads it.
    pub const STATUS: &str = "/proc/self/status";
    /// What is mapped where; see [`parse_maps`](super::parse_maps).
    pub const MAPS: &str = "/proc/self/maps";
    /// The same with figures; see [`parse_smaps`](super::parse_smaps).
    pub const SMAPS: &str = "/proc/self/smaps";
    /// Control groups (`cgroups(7)`).
    pub const CONTROL_GROUPS: &str = "/proc/self/cgroup";
    /// How the user namespace maps users (`user_namespaces(7)`).
    pub const USER_MAP: &str = "/proc/self/uid_map";
    /// Resource limits (`proc_pid_limits(5)`).
    pub const LIMITS: &str = "/proc/self/limits";
    /// What was read and written (`proc_pid_io(5)`); not there without `CONFIG_TASK_IO_ACCOUNTING`.
    pub const IO: &str = "/proc/self/io";
    /// A link to the program's file.
    pub const PROGRAM: &str = "/proc/self/exe";
}

/// The directory in which the kernel shows one process or thread. That it is named here does not mean that it exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessFiles {
    directory: PathBuf,
}

impl ProcessFiles {
    /// Of the process with this number, or of the thread: any thread's number leads to its process's files.
    pub fn of(number: u32) -> Self {
        Self { directory: PathBuf::from(format!("/proc/{number}")) }
    }

    /// Of the process that looks.
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

    /// Whether there is such a process or thread, be it a zombie.
    pub fn exist(&self) -> bool {
        self.directory.exists()
    }

    /// `stat`; `None` for a process that is gone.
    pub fn stat(&self) -> Option<Stat> {
        Stat::parse(&std::fs::read(self.at("stat")).ok()?)
    }

    /// `status`; without any field for a process that is gone.
    pub fn status(&self) -> Status {
        Status::new(std::fs::read(self.at("status")).unwrap_or_default())
    }

    /// `maps`: what is mapped where.
    ///
    /// # Errors
    /// `PermissionDenied` without the right to trace it, `NotFound` for a process that is gone.
    pub fn maps(&self) -> io::Result<Vec<Mapping>> {
        Ok(parse_maps(&std::fs::read(self.at("maps"))?))
    }

    /// `smaps`: what is mapped where, and how much of it is in the page table. Slow: the kernel walks all page tables.
    ///
    /// # Errors
    /// As [`maps`](Self::maps).
    pub fn smaps(&self) -> io::Result<Vec<(Mapping, MappingUse)>> {
        Ok(parse_smaps(&std::fs::read(self.at("smaps"))?))
    }

    /// `auxv`: what the kernel told the program at its start. Empty for a process that is gone or may not be looked at.
    pub fn auxiliary_vector(&self, is_64_bit: bool) -> AuxiliaryVector {
        AuxiliaryVector::new(std::fs::read(self.at("auxv")).unwrap_or_default(), is_64_bit)
    }

    /// `cmdline`: the program's arguments, its own name first. None for a zombie and for a process that is gone.
    pub fn arguments(&self) -> Vec<OsString> {
        parse_arguments(&std::fs::read(self.at("cmdline")).unwrap_or_default())
    }

    /// `environ`: the environment as it was at the program's start, `NAME=VALUE` each. None for a process that is gone or may not be
    /// looked at.
    pub fn environment(&self) -> Vec<OsString> {
        parse_arguments(&std::fs::read(self.at("environ")).unwrap_or_default())
    }

    /// `comm`: the name that it gave itself, at most 15 bytes. Empty for a process that is gone.
    pub fn name(&self) -> OsString {
        let mut name = std::fs::read(self.at("comm")).unwrap_or_default();
        if name.last() == Some(&b'\n') {
            name.pop();
        }
        OsString::from_vec(name)
    }

    /// The path of the program's file, as its own file system shows it. A removed file's ends with ` (deleted)`.
    ///
    /// # Errors
    /// `PermissionDenied` without the right to trace it, `NotFound` for a process that is gone.
    pub fn program(&self) -> io::Result<PathBuf> {
        std::fs::read_link(self.at("exe"))
    }

    /// `read_bytes` of `io`: what it and the children it has waited for had read from disks. `None` where it may not be asked.
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

/// The numbers of all processes that we may see, in the kernel's order.
///
/// # Errors
/// The kernel's answer; `NotFound` without `/proc`.
pub fn numbers() -> io::Result<Vec<u32>> {
    let mut numbers = Vec::with_capacity(256);
    for entry in std::fs::read_dir(ALL)? {
        let name = entry?.file_name().into_vec();
        // The directory has other files, too.
        if name.iter().all(u8::is_ascii_digit) {
            numbers.extend(decimal::<u32>(&name));
        }
    }
    Ok(numbers)
}

/// Whether there is a process or thread with this number, be it a zombie.
pub fn exists(number: u32) -> bool {
    ProcessFiles::of(number).exist()
}

/// The number by which `/proc` shows this process: another one than its own, or none, where `/proc` belongs to another pid
/// namespace. `None` where it cannot be read.
pub fn own_number_shown() -> Option<OsString> {
    std::fs::read_link(SELF).ok().map(PathBuf::into_os_string)
}

/// The words of `cmdline` and `environ`, each of which ends with a zero. A program may have written anything there.
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
