//! Whose loader a program runs under, read from the head of its file.
//!
//! `LD_TRACE_LOADED_OBJECTS` keeps glibc's loader from running the program; any other loader would run it. So this is asked
//! before a listing, and after a run without a log.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use coldstart_sys::named_file::read_beginning;

use super::error::NoLog;
use crate::syscalls::has_other_rights;

/// Scripts whose interpreters are scripts: the kernel follows five (`fs/exec.c`, `exec_binprm`).
const DEEPEST: usize = 5;
/// Enough for a `#!` line (the kernel itself looks at 256 bytes) and for the program headers of ordinary files.
const HEAD_LENGTH: usize = 8192;

/// Why the loader of a program would keep no log; `None` if it is glibc's and may.
pub(super) fn obstacle(program: &Path, directory: Option<&Path>) -> Option<NoLog> {
    let directory = directory.map_or_else(|| PathBuf::from("."), Path::to_owned);
    let mut program = directory.join(program);
    for _ in 0..DEEPEST {
        let head = read_beginning(&program, HEAD_LENGTH).ok()?;
        if let Some(line) = head.strip_prefix(b"#!") {
            let line = line.split(|&byte| byte == b'\n').next()?.trim_ascii_start();
            let name = line.split(|&byte| matches!(byte, b' ' | b'\t')).next()?;
            program = directory.join(OsStr::from_bytes(name));
            continue;
        }
        if has_other_rights(&program) {
            return Some(NoLog::OtherRights);
        }
        return match interpreter(&head) {
            None => Some(NoLog::Static),
            Some(loader) => {
                let name = loader.file_name().unwrap_or_default().as_bytes();
                // ld-linux-x86-64.so.2, ld-linux-aarch64.so.1, ld64.so.2 (ppc64), ld.so.1 (s390, mips), ld-2.31.so.
                let is_glibc = name.starts_with(b"ld-linux")
                    || name.starts_with(b"ld64.so")
                    || name.starts_with(b"ld.so")
                    || name.starts_with(b"ld-2.");
                match name {
                    _ if is_glibc => None,
                    _ if name.starts_with(b"ld-musl") => Some(NoLog::Musl),
                    _ => Some(NoLog::UnknownLoader(loader)),
                }
            }
        };
    }
    None
}

/// Class, byte order and machine of an ELF file, as its first 20 bytes tell them; none for other files.
pub(super) fn kind(path: &Path) -> Option<[u8; 4]> {
    let head: [u8; 20] = read_beginning(path, 20).ok()?.try_into().ok()?;
    let [0x7f, b'E', b'L', b'F', class, order, .., low, high] = head else { return None };
    Some([class, order, low, high])
}

/// PT_INTERP of a file in this machine's byte order. ELF-64: `e_phoff` at 32, `e_phentsize` at 54, `e_phnum` at 56; of each header
/// `p_type` 0, `p_offset` 8, `p_filesz` 32. ELF-32: 28, 42, 44; 0, 4, 16.
fn interpreter(head: &[u8]) -> Option<PathBuf> {
    const PT_INTERP: u64 = 3;
    let is_64_bit = head.get(4) == Some(&2);
    let number = |at: usize, length: usize| {
        let bytes = head.get(at..at.checked_add(length)?)?;
        let mut number = [0u8; 8];
        if cfg!(target_endian = "little") {
            number.get_mut(..length)?.copy_from_slice(bytes);
        } else {
            number.get_mut(8usize.checked_sub(length)?..)?.copy_from_slice(bytes);
        }
        Some(u64::from_ne_bytes(number))
    };
    let word = if is_64_bit { 8 } else { 4 };
    let [table, entry_size, count, offset_at, length_at] =
        if is_64_bit { [32, 54, 56, 8, 32] } else { [28, 42, 44, 4, 16] };
    let table = usize::try_from(number(table, word)?).ok()?;
    let entry_size = usize::try_from(number(entry_size, 2)?).ok()?;
    for index in 0..usize::try_from(number(count, 2)?).ok()? {
        let header = table.checked_add(index.checked_mul(entry_size)?)?;
        if number(header, 4)? == PT_INTERP {
            let offset = usize::try_from(number(header.checked_add(offset_at)?, word)?).ok()?;
            let length = usize::try_from(number(header.checked_add(length_at)?, word)?).ok()?;
            let name = head.get(offset..offset.checked_add(length)?)?;
            return name.split(|&byte| byte == 0).next().map(|name| PathBuf::from(OsStr::from_bytes(name)));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn hostile_heads_are_harmless(mut head in prop::collection::vec(any::<u8>(), 0..300), class in 0..4u8) {
            if let Some(byte) = head.get_mut(4) {
                *byte = class;
            }
            let _ = interpreter(&head);
        }
    }
}
