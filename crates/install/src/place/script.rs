//! Shell scripts that start a program with its plan or from its image, and without it when something is missing.
//!
//! Not obvious: they set no variable. A variable of the same name in the user's environment would be exported with the new
//! value, and the program's environment must be the one it would have had.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use coldstart_profile::printable;

use super::Subject;
use crate::file::MARK;

/// A script that starts `program` with its plan or from its image; without one, the program named by its first argument.
pub fn starter(subject: &Subject<'_>, program: Option<&Path>) -> Vec<u8> {
    let name = printable(Path::new(subject.name));
    let undo = format!("coldstart installed {} --uninstall", coldstart_profile::shell_word(subject.name));
    let mut script =
        format!("#!/bin/sh\n# {MARK} for the installation `{name}`. Undo: {}\n", printable(Path::new(&undo)));
    let mut script = std::mem::take(&mut script).into_bytes();
    let program = program.map(|program| quoted(program.as_os_str()));
    let launcher = quoted(subject.launcher.as_os_str());
    let file = quoted(subject.start_file().as_os_str());
    if let Some(program) = &program {
        // `-ef`: in dash, bash, ksh and busybox; elsewhere the test fails, and the program is started.
        push(&mut script, &[b"if [ ", program, b" -ef \"$0\" ] 2>/dev/null; then\n"]);
        push(&mut script, &[b"    echo \"coldstart: $0 would start itself: remove it\" >&2\n    exit 126\nfi\n"]);
    }
    push(&mut script, &[b"if [ -f ", &launcher, b" ] && [ -x ", &launcher, b" ] && [ -r ", &file, b" ]; then\n"]);
    push(&mut script, &[b"    exec ", &launcher]);
    for word in subject.launcher_words {
        push(&mut script, &[b" ", &quoted(word)]);
    }
    let program = program.map(|program| [program.as_slice(), b" "].concat()).unwrap_or_default();
    push(&mut script, &[b" ", &file, b" -- ", &program, b"\"$@\"\nfi\n"]);
    push(&mut script, &[b"exec ", &program, b"\"$@\"\n"]);
    script
}

fn push(script: &mut Vec<u8>, parts: &[&[u8]]) {
    for part in parts {
        script.extend_from_slice(part);
    }
}

/// A word for any POSIX shell, whatever its bytes.
pub(super) fn quoted(word: &OsStr) -> Vec<u8> {
    let mut quoted = vec![b'\''];
    for byte in word.as_bytes() {
        match byte {
            b'\'' => quoted.extend_from_slice(br"'\''"),
            byte => quoted.push(*byte),
        }
    }
    quoted.push(b'\'');
    quoted
}
