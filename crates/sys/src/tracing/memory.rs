//! Reading a little of another process's memory (`process_vm_readv(2)`).

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;

/// Longest name the kernel accepts, in bytes, with its final NUL (`linux/limits.h`).
const PATH_MAX: usize = 4096;
/// The smallest page: a read that stays inside one of these is either whole or fails.
const PAGE: u64 = 4096;

/// A NUL-terminated name in another process, at most 4095 bytes, read page by page because the next page may not be
/// mapped. `None` where nothing is mapped, no NUL comes, or we may not look.
pub fn read_name(thread: u32, address: u64) -> Option<OsString> {
    let mut name = Vec::new();
    let mut at = address;
    let mut buffer = [0u8; PATH_MAX];
    while name.len() < PATH_MAX {
        let to_page_end = usize::try_from(PAGE - at % PAGE).unwrap_or(PATH_MAX);
        let part = buffer.get_mut(..to_page_end.min(PATH_MAX - name.len()))?;
        let got = read_memory(thread, at, part).ok()?;
        let part = part.get(..got)?;
        if let Some(end) = part.iter().position(|&byte| byte == 0) {
            name.extend_from_slice(part.get(..end)?);
            return Some(OsString::from_vec(name));
        }
        name.extend_from_slice(part);
        at = at.checked_add(u64::try_from(got).ok()?)?;
    }
    None
}

/// The word at an address.
pub(super) fn read_word(thread: u32, address: u64) -> io::Result<u64> {
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

/// A process's memory, to be read and written while a thread of it stands still (`/proc/PID/mem`).
///
/// Writes go where the program itself could not write (`FOLL_FORCE`): a private page is copied first, files never change.
#[derive(Debug)]
pub struct ProcessMemory {
    file: std::fs::File,
}

impl ProcessMemory {
    /// Opens the memory that the process has now; after an `execve` it must be opened anew.
    ///
    /// # Errors
    /// `EACCES` for a process that we may not trace.
    pub fn open(process: u32) -> io::Result<Self> {
        let file = std::fs::File::options().read(true).write(true).open(format!("/proc/{process}/mem"))?;
        Ok(Self { file })
    }

    /// Fills the buffer from an address on.
    ///
    /// # Errors
    /// `EIO` where something of it is not mapped.
    pub fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.file, buffer, address)
    }

    /// Writes all bytes.
    ///
    /// # Errors
    /// `EIO` where something of it is not mapped.
    pub fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(&self.file, bytes, address)
    }
}
