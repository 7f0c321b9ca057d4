//! Explains the kernel's error when it refuses to execute a file.
//!
//! `ENOENT` for an existing file means that its interpreter is missing: a common source of confusion.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use coldstart_elf::ElfFile;
use coldstart_host::script_line::ScriptLine;
use coldstart_sys::named_file::read_beginning;
use rustix::io::Errno;

use crate::error::LaunchError;

/// Enough for a `#!` line (the kernel itself looks at 256 bytes) and for the program headers of ordinary files.
const HEAD_LENGTH: usize = 4096;

/// Turns the error of a spawn into one that names the problem with the file.
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

/// The interpreter that a script or a program names.
fn interpreter(head: &[u8]) -> Option<PathBuf> {
    if let Some(line) = ScriptLine::parse(head) {
        return Some(line.interpreter);
    }
    let file = ElfFile::parse(head).ok()?;
    file.interpreter().map(|name| PathBuf::from(OsStr::from_bytes(name)))
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
