//! What the kernel's one-word refusal to execute a file means.
//!
//! `ENOENT` for a file that is plainly there means that its interpreter is not: the commonest puzzle of `exec`.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use coldstart_sys::named_file::read_beginning;
use rustix::io::Errno;

use crate::error::LaunchError;

/// Enough for a `#!` line (the kernel itself looks at 256 bytes) and for the program headers of ordinary files.
const HEAD_LENGTH: usize = 4096;

/// Turns the error of a spawn into one that says what is wrong with the file.
pub(crate) fn explain(path: &Path, working_directory: Option<&Path>, source: io::Error) -> LaunchError {
    if let Some(directory) = working_directory
        && let Err(source) = std::fs::read_dir(directory)
    {
        return LaunchError::WorkingDirectory { path: directory.to_owned(), source };
    }
    let head = read_beginning(path, HEAD_LENGTH).unwrap_or_default();
    let path = path.to_owned();
    let Some(errno) = Errno::from_io_error(&source) else { return LaunchError::Spawn { path, source } };
    // EACCES also comes from an interpreter that may not be executed; that the file itself may was checked before.
    if matches!(errno, Errno::NOENT | Errno::ACCESS | Errno::LOOP)
        && let Some(interpreter) = interpreter(&head)
    {
        return LaunchError::BadInterpreter { path, interpreter };
    }
    match errno {
        Errno::NOEXEC => LaunchError::UnknownFormat { is_text: is_text(&head), path },
        Errno::NOENT => LaunchError::NotFound { program: path.into(), searched: Vec::new() },
        Errno::ACCESS => LaunchError::NotExecutable { path, no_exec_mount: true },
        _ => LaunchError::Spawn { path, source },
    }
}

fn is_text(head: &[u8]) -> bool {
    !head.is_empty() && !head.contains(&0)
}

/// The interpreter that the file names: after `#!`, or in the PT_INTERP segment of a 64-bit little-endian ELF file.
fn interpreter(head: &[u8]) -> Option<PathBuf> {
    let name = if let Some(line) = head.strip_prefix(b"#!") {
        line.split(|&byte| byte == b'\n')
            .next()?
            .trim_ascii_start()
            .split(|&byte| matches!(byte, b' ' | b'\t'))
            .next()?
    } else {
        elf_interpreter(head)?
    };
    (!name.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(name)))
}

/// ELF-64: `e_phoff` at 32, `e_phentsize` at 54, `e_phnum` at 56; of each header `p_type` 0, `p_offset` 8, `p_filesz` 32.
fn elf_interpreter(head: &[u8]) -> Option<&[u8]> {
    const PT_INTERP: u32 = 3;
    if !head.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let u16_at = |at: usize| Some(u16::from_le_bytes(head.get(at..at.checked_add(2)?)?.try_into().ok()?));
    let u64_at = |at: usize| Some(u64::from_le_bytes(head.get(at..at.checked_add(8)?)?.try_into().ok()?));
    let table = usize::try_from(u64_at(32)?).ok()?;
    let entry_size = usize::from(u16_at(54)?);
    for index in 0..usize::from(u16_at(56)?) {
        let header = table.checked_add(index.checked_mul(entry_size)?)?;
        let kind = u32::from_le_bytes(head.get(header..header.checked_add(4)?)?.try_into().ok()?);
        if kind == PT_INTERP {
            let offset = usize::try_from(u64_at(header.checked_add(8)?)?).ok()?;
            let length = usize::try_from(u64_at(header.checked_add(32)?)?).ok()?;
            let name = head.get(offset..offset.checked_add(length)?)?;
            return name.split(|&byte| byte == 0).next();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_interpreter_is_read_from_scripts_and_programs() {
        assert_eq!(interpreter(b"#! /no/such -x\nbody"), Some("/no/such".into()));
        assert_eq!(interpreter(b"#!\n"), None);
        assert_eq!(interpreter(b"echo"), None);
        let shell = interpreter(&read_beginning(Path::new("/bin/sh"), HEAD_LENGTH).unwrap()).unwrap();
        assert!(shell.is_absolute() && shell.exists(), "{shell:?}");
    }

    proptest! {
        #[test]
        fn hostile_headers_are_harmless(mut head in prop::collection::vec(any::<u8>(), 0..200)) {
            head.splice(0..0, *b"\x7fELF\x02\x01");
            let _ = interpreter(&head);
        }
    }
}
