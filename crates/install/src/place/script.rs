//! Shell scripts that start a program with its plan, from its image or with its index, and without what is missing.
//!
//! Not obvious: they set no variable. A variable of the same name in the user's environment would be exported with the new
//! value, and the program's environment must be the one it would have had.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use coldstart_profile::printable;

use super::Subject;
use crate::file::MARK;

/// A script that starts `program` in the first way of which nothing is missing, or plainly; without `program`, the program named by its first argument.
pub fn starter(subject: &Subject<'_>, program: Option<&Path>) -> Vec<u8> {
    let name = printable(Path::new(subject.name));
    let undo = format!("coldstart installed {} --uninstall", coldstart_profile::shell_word(subject.name));
    let mut script =
        format!("#!/bin/sh\n# {MARK} for the installation `{name}`. Undo: {}\n", printable(Path::new(&undo)));
    let mut script = std::mem::take(&mut script).into_bytes();
    let program = program.map(|program| quoted(program.as_os_str()));
    let launcher = quoted(subject.launcher.as_os_str());
    if let Some(program) = &program {
        // `-ef`: in dash, bash, ksh and busybox; elsewhere the test fails, and the program is started.
        push(&mut script, &[b"if [ ", program, b" -ef \"$0\" ] 2>/dev/null; then\n"]);
        push(&mut script, &[b"    echo \"coldstart: $0 would start itself: remove it\" >&2\n    exit 126\nfi\n"]);
    }
    let program = program.map(|program| [program.as_slice(), b" "].concat()).unwrap_or_default();
    for way in subject.ways {
        push(&mut script, &[b"if [ -f ", &launcher, b" ] && [ -x ", &launcher, b" ]"]);
        for file in &way.needs {
            push(&mut script, &[b" && [ -r ", &quoted(file.as_os_str()), b" ]"]);
        }
        push(&mut script, &[b"; then\n    exec ", &launcher]);
        for word in &way.words {
            push(&mut script, &[b" ", &quoted(word)]);
        }
        push(&mut script, &[b" -- ", &program, b"\"$@\"\nfi\n"]);
    }
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
