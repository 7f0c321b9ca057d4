//! A program's loader, from the beginning of its file.
//!
//! `LD_TRACE_LOADED_OBJECTS` keeps glibc's loader from running the program; any other loader would run it. So this is checked
//! before a listing, and after a run without a log.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use coldstart_elf::ElfFile;
use coldstart_host::script_line::{DEEPEST, ScriptLine};
use coldstart_sys::named_file::read_beginning;

use super::error::NoLog;
use crate::syscalls::has_other_rights;

/// Enough for a `#!` line (the kernel itself looks at 256 bytes) and for the program headers of ordinary files.
const HEAD_LENGTH: usize = 8192;

/// Why a program's loader would write no log; `None` if it is glibc's and may.
pub(super) fn obstacle(program: &Path, directory: Option<&Path>) -> Option<NoLog> {
    let directory = directory.map_or_else(|| PathBuf::from("."), Path::to_owned);
    let mut program = directory.join(program);
    for _ in 0..DEEPEST {
        let head = read_beginning(&program, HEAD_LENGTH).ok()?;
        if let Some(line) = ScriptLine::parse(&head) {
            program = directory.join(line.interpreter);
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

/// Class, byte order and machine of an ELF file, from its first 20 bytes; none for other files.
pub(super) fn kind(path: &Path) -> Option<[u8; 4]> {
    let head: [u8; 20] = read_beginning(path, 20).ok()?.try_into().ok()?;
    let [0x7f, b'E', b'L', b'F', class, order, .., low, high] = head else { return None };
    Some([class, order, low, high])
}

/// The interpreter of a program.
fn interpreter(head: &[u8]) -> Option<PathBuf> {
    Some(PathBuf::from(OsStr::from_bytes(ElfFile::parse(head).ok()?.interpreter()?)))
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
