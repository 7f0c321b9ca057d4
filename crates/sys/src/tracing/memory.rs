//! Reading another process's memory (`process_vm_readv(2)`).

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;

use coldstart_host::process::ProcessFiles;

/// Longest name the kernel accepts, in bytes, with its final NUL (`linux/limits.h`).
const PATH_MAX: usize = 4096;
/// The smallest page: a read inside one page either succeeds completely or fails.
const PAGE: u64 = 4096;

/// A NUL-terminated name in another process, at most 4095 bytes, read page by page because the next page may not be
/// mapped.
///
/// # Errors
/// `EFAULT` where nothing is mapped, `EPERM` without permission, `InvalidData` without a NUL; otherwise the kernel's error.
pub fn read_name(thread: u32, address: u64) -> io::Result<OsString> {
    let no_name = || io::Error::from(io::ErrorKind::InvalidData);
    let mut name = Vec::new();
    let mut at = address;
    let mut buffer = [0u8; PATH_MAX];
    while name.len() < PATH_MAX {
        let to_page_end = usize::try_from(PAGE - at % PAGE).unwrap_or(PATH_MAX);
        let part = buffer.get_mut(..to_page_end.min(PATH_MAX - name.len())).ok_or_else(no_name)?;
        let got = read_memory(thread, at, part)?;
        let part = part.get(..got).ok_or_else(no_name)?;
        if let Some(end) = part.iter().position(|&byte| byte == 0) {
            name.extend_from_slice(part.get(..end).ok_or_else(no_name)?);
            return Ok(OsString::from_vec(name));
        }
        name.extend_from_slice(part);
        at = at.checked_add(got as u64).ok_or_else(no_name)?;
    }
    Err(no_name())
}

/// The word at an address.
pub(crate) fn read_word(thread: u32, address: u64) -> io::Result<u64> {
    let mut bytes = [0u8; 8];
    if read_memory(thread, address, &mut bytes)? == bytes.len() {
        Ok(u64::from_ne_bytes(bytes))
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

/// Bytes read, at least one.
fn read_memory(thread: u32, address: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let thread = libc::pid_t::try_from(thread).map_err(|_| io::Error::from_raw_os_error(libc::ESRCH))?;
    let local = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: buffer.len() };
    // SAFETY: the local vector describes `buffer`; the remote address is checked by the kernel, in the other process.
    let got = unsafe { libc::process_vm_readv(thread, &raw const local, 1, &raw const remote, 1, 0) };
    match usize::try_from(got) {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(got) => Ok(got),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

/// A byte; `None` where nothing is mapped.
pub fn read_byte(thread: u32, address: u64) -> Option<u8> {
    let mut byte = [0];
    read_memory(thread, address, &mut byte).ok()?;
    let [byte] = byte;
    Some(byte)
}

/// Whether two processes share their memory, rather than having copies (`kcmp(2)`); `None` if unknown.
pub fn share_memory(one: u32, other: u32) -> Option<bool> {
    const KCMP_VM: libc::c_int = 1;
    let (one, other) = (libc::pid_t::try_from(one).ok()?, libc::pid_t::try_from(other).ok()?);
    // SAFETY: a plain system call with integers.
    let order = unsafe { libc::syscall(libc::SYS_kcmp, one, other, KCMP_VM, 0, 0) };
    (order >= 0).then_some(order == 0)
}

/// A file mapping of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileMapping {
    /// `major << 20 | minor`, as in `/proc/PID/maps`: on btrfs not that of `stat`.
    pub device: u64,
    /// 0 for memory without a file.
    pub inode: u64,
    /// The file offset of the queried address, in bytes.
    pub offset: u64,
}

/// `PROCMAP_QUERY` (Linux 6.11, `linux/fs.h`): `_IOWR('f', 17, struct procmap_query)`.
const PROCMAP_QUERY: libc::Ioctl = 0xc068_6611_u32 as libc::Ioctl;

/// A process's mappings, for repeated queries.
#[derive(Debug)]
pub struct ProcessMappings {
    file: std::fs::File,
}

impl ProcessMappings {
    /// Opens the mappings of the process's current program; after an `execve` they must be opened again.
    ///
    /// # Errors
    /// `ENOENT` for a process that has ended, `EACCES` without permission, `EMFILE` without descriptors.
    pub fn open(process: u32) -> io::Result<Self> {
        Ok(Self { file: std::fs::File::open(ProcessFiles::of(process).at("maps"))? })
    }

    /// The mapping at an address; `None` if there is none.
    ///
    /// # Errors
    /// `ENOTTY` before Linux 6.11, where `/proc/PID/maps` must be read; `ESRCH` for a process that has ended.
    pub fn at(&self, address: u64) -> io::Result<Option<FileMapping>> {
        use std::os::fd::AsRawFd;

        // size, query_flags, query_addr, vma_start, vma_end, vma_flags, vma_page_size, vma_offset, inode, dev_major and dev_minor, two sizes of
        // buffers, the buffers.
        let mut query = [0u64; 13];
        query[0] = size_of_val(&query) as u64;
        query[2] = address;
        // SAFETY: the structure has 104 bytes, as its first word says, and is live; no buffers are named.
        if unsafe { libc::ioctl(self.file.as_raw_fd(), PROCMAP_QUERY, query.as_mut_ptr()) } != 0 {
            let error = io::Error::last_os_error();
            return if error.raw_os_error() == Some(libc::ENOENT) { Ok(None) } else { Err(error) };
        }
        let [_, _, _, start, _, _, _, offset, inode, device, ..] = query;
        let [major, minor] = [device & 0xffff_ffff, device >> 32];
        let offset = offset.saturating_add(address.saturating_sub(start));
        Ok(Some(FileMapping { device: major << 20 | minor, inode, offset }))
    }
}

/// A process's memory, for reading and writing while one of its threads is stopped (`/proc/PID/mem`).
///
/// Writes also work where the program itself could not write (`FOLL_FORCE`): a private page is copied first, files never change.
#[derive(Debug)]
pub struct ProcessMemory {
    file: std::fs::File,
}

impl ProcessMemory {
    /// Opens the process's current memory; after an `execve` it must be opened again.
    ///
    /// # Errors
    /// `EACCES` for a process that we may not trace.
    pub fn open(process: u32) -> io::Result<Self> {
        let file = std::fs::File::options().read(true).write(true).open(ProcessFiles::of(process).at("mem"))?;
        Ok(Self { file })
    }

    /// Fills the buffer from an address on.
    ///
    /// # Errors
    /// `EIO` where part of it is not mapped.
    pub fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.file, buffer, address)
    }

    /// Writes all bytes.
    ///
    /// # Errors
    /// `EIO` where part of it is not mapped.
    pub fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(&self.file, bytes, address)
    }
}
