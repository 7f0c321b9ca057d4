//! The first line of a script, `#! INTERPRETER [ARGUMENT]`, by the kernel's rules.
//!
//! The kernel reads the first 256 bytes only (`BINPRM_BUF_SIZE`). Only blanks and tabs separate words: a carriage return
//! belongs to the name, so scripts with DOS line ends are "not found". All text after the interpreter is one argument.
//!
//! Source: `load_script` in `fs/binfmt_script.c`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Bytes that the kernel reads of a file (`BINPRM_BUF_SIZE`, `include/uapi/linux/binfmts.h`).
pub const LENGTH: usize = 256;

/// How many nested interpreters the kernel follows (`exec_binprm` in `fs/exec.c`).
pub const DEEPEST: usize = 5;

/// A script's first line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptLine {
    /// The path of the program that the kernel starts instead. A relative one is relative to the working directory.
    pub interpreter: PathBuf,
    /// The one argument before the script's path, blanks included.
    pub argument: Option<OsString>,
}

impl ScriptLine {
    /// From the first [`LENGTH`] bytes of a file, or all of a shorter one. `None` if the kernel does not start it as a script:
    /// without `#!`, without an interpreter, or with one that may be truncated.
    pub fn parse(beginning: &[u8]) -> Option<Self> {
        // The kernel's buffer: a shorter file is followed by zeros.
        let mut buffer = [0; LENGTH];
        let length = beginning.len().min(LENGTH);
        buffer.get_mut(..length)?.copy_from_slice(beginning.get(..length)?);
        let behind_mark = buffer.strip_prefix(b"#!")?;
        let last = behind_mark.len().checked_sub(1)?;
        let line = match behind_mark.iter().position(|&byte| matches!(byte, b'\n' | 0)) {
            Some(end) if behind_mark.get(end) == Some(&b'\n') => behind_mark.get(..end)?,
            // No line end: the name is complete only if something ends it inside the buffer, without its last byte.
            _ => {
                let name = behind_mark.iter().position(|&byte| !is_blank(byte))?;
                behind_mark.get(name..)?.iter().position(|&byte| is_blank(byte) || byte == 0)?;
                behind_mark.get(..last)?
            }
        };
        let line = trim_blanks_end(line);
        let name = line.get(line.iter().position(|&byte| !is_blank(byte))?..)?;
        let end = name.iter().position(|&byte| is_blank(byte) || byte == 0).unwrap_or(name.len());
        let (interpreter, rest) = name.split_at(end);
        if interpreter.is_empty() {
            return None;
        }
        let argument = rest.first().filter(|&&byte| byte != 0).and_then(|_| {
            let argument = rest.get(rest.iter().position(|&byte| !is_blank(byte))?..)?;
            argument.split(|&byte| byte == 0).next()
        });
        Some(Self {
            interpreter: PathBuf::from(OsStr::from_bytes(interpreter)),
            argument: argument.map(|argument| OsStr::from_bytes(argument).to_owned()),
        })
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn trim_blanks_end(line: &[u8]) -> &[u8] {
    let end = line.iter().rposition(|&byte| !is_blank(byte)).map_or(0, |last| last + 1);
    line.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    fn parsed(text: &[u8]) -> Option<(String, Option<String>)> {
        let line = ScriptLine::parse(text)?;
        let text = |text: &OsStr| text.to_str().unwrap().to_owned();
        Some((text(line.interpreter.as_os_str()), line.argument.as_deref().map(text)))
    }

    fn some(interpreter: &str, argument: Option<&str>) -> Option<(String, Option<String>)> {
        Some((interpreter.to_owned(), argument.map(str::to_owned)))
    }

    #[test]
    fn the_line_is_read_as_the_kernel_does() {
        assert_eq!(parsed(b"#!/bin/sh\nexec x"), some("/bin/sh", None));
        assert_eq!(
            parsed(b"#! \t/usr/bin/env  -S python3 -u \t\nimport os"),
            some("/usr/bin/env", Some("-S python3 -u"))
        );
        assert_eq!(parsed(b"#!/bin/sh\r\n"), some("/bin/sh\r", None));
        assert_eq!(parsed(b"#!/bin/sh"), some("/bin/sh", None));
        assert_eq!(parsed(b"#!/bin/sh\0 -e\n"), some("/bin/sh", None));
        assert_eq!(parsed(b"#!sh x\0y\n"), some("sh", Some("x")));
        for text in [&b""[..], b"#", b"#!", b"#!\n/bin/sh", b"#! \t\n", b"#!\0/bin/sh\n", b"# !/bin/sh\n", b"\x7fELF"] {
            assert_eq!(parsed(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_name_that_may_be_cut_off_is_none() {
        let with = |length: usize, rest: &str| ["#!/", &"x".repeat(length), rest].concat().into_bytes();
        assert_eq!(parsed(&with(252, "\n")), some(&["/", &"x".repeat(252)].concat(), None), "the line end is byte 256");
        assert_eq!(parsed(&with(253, "\n")), None, "one byte too many");
        assert_eq!(parsed(&with(252, " ")), some(&["/", &"x".repeat(252)].concat(), None));
        assert_eq!(parsed(&with(5, &[" ", &"y".repeat(400)].concat())), some("/xxxxx", Some(&"y".repeat(246))));
        assert_eq!(parsed(&[b"#!".as_slice(), &[b' '; 300]].concat()), None);
    }

    /// Whether the kernel takes a file with these bytes for a script with a missing interpreter: the one way to see its decision
    /// without running anything.
    #[test]
    fn the_kernel_agrees() {
        let directory = tempfile::tempdir().unwrap();
        let long = |length: usize, rest: &str| ["#!/no/", &"x".repeat(length), rest].concat().into_bytes();
        let texts = [
            b"#!/no/such/interpreter\n".to_vec(),
            b"#! \t/no/such\r\n".to_vec(),
            b"#!/no/such".to_vec(),
            b"#!/no/such\0\n".to_vec(),
            b"#!\n/no/such".to_vec(),
            b"#! \t\n".to_vec(),
            b"# !/no/such\n".to_vec(),
            long(249, "\n"),
            long(250, "\n"),
            long(249, " "),
            long(250, " "),
            long(9, &[" ", &"y".repeat(400)].concat()),
            [b"#!".as_slice(), &[b' '; 300]].concat(),
        ];
        for (number, text) in texts.iter().enumerate() {
            let path = directory.path().join(number.to_string());
            // Through a command: a descriptor for writing that a sibling inherits would make the answer ETXTBSY.
            let mut writer = Command::new("sh")
                .args(["-c", "cat > \"$0\""])
                .arg(&path)
                .stdin(std::process::Stdio::piped())
                .spawn()
                .unwrap();
            writer.stdin.take().unwrap().write_all(text).unwrap();
            assert!(writer.wait().unwrap().success());
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            let error = Command::new(&path).spawn().unwrap_err();
            let is_script = error.kind() == std::io::ErrorKind::NotFound;
            assert!(
                is_script || error.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error()),
                "{text:?}: {error}"
            );
            assert_eq!(ScriptLine::parse(text).is_some(), is_script, "{text:?}: {error}");
        }
    }

    proptest! {
        #[test]
        fn hostile_beginnings_are_harmless(
            text in prop::collection::vec(prop_oneof![any::<u8>(), Just(b' '), Just(b'\n'), Just(0), Just(b'x')], 0..300)
        ) {
            let text = [b"#!", &*text].concat();
            if let Some(line) = ScriptLine::parse(&text) {
                let name = line.interpreter.as_os_str().as_bytes();
                prop_assert!(!name.is_empty() && !name.iter().any(|byte| matches!(byte, b' ' | b'\t' | b'\n' | 0)));
                prop_assert!(text[..text.len().min(LENGTH)].windows(name.len()).any(|window| window == name));
            }
        }
    }
}
