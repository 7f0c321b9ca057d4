//! Failed calls with a file name, and which of them are library probes.
//!
//! Rule, in two parts. A name whose last component ends in `.so` or contains `.so.` is a library's, except those that begin with
//! `ld.so.`, which are the loader's own files (`ld.so.preload`). And a directory looked up by the same thread in its next
//! file-name call is a probe's directory: glibc checks once whether a directory exists after the first library that was
//! not in it (`open_path` in `elf/dl-load.c`). Only failures are considered, so a probe that finds its directory counts once.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use coldstart_sys::syscall_observer::NameBase;
use coldstart_sys::tracing::read_name;

use super::numbers::CallName;

/// A failed call with a file name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedName {
    /// The PID of the caller.
    pub process: u32,
    /// Whether that was the first process.
    pub in_first_process: bool,
    /// The call.
    pub call: CallName,
    /// The directory of a relative name.
    pub base: NameBase,
    /// As the program passed it, at most 4095 bytes; `None` if it could not be read.
    pub name: Option<OsString>,
    /// Error number, such as 2 for `ENOENT`.
    pub errno: i32,
    /// Whether it was a library probe.
    pub probe: Option<LibraryProbe>,
}

/// The kind of a library probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LibraryProbe {
    /// It named a library.
    Library,
    /// It looked up the directory of the library that had just been searched for.
    Directory,
}

/// What a call does with a file, as far as it matters for loaders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Open,
    LookUp,
}

/// The calls with a file name: index of the directory argument, index of the name argument.
const CALLS: &[(&str, Option<usize>, usize, Kind)] = &[
    ("open", None, 0, Kind::Open),
    ("openat", Some(0), 1, Kind::Open),
    ("openat2", Some(0), 1, Kind::Open),
    ("stat", None, 0, Kind::LookUp),
    ("lstat", None, 0, Kind::LookUp),
    ("oldstat", None, 0, Kind::LookUp),
    ("oldlstat", None, 0, Kind::LookUp),
    ("stat64", None, 0, Kind::LookUp),
    ("lstat64", None, 0, Kind::LookUp),
    ("newfstatat", Some(0), 1, Kind::LookUp),
    ("fstatat64", Some(0), 1, Kind::LookUp),
    ("statx", Some(0), 1, Kind::LookUp),
    ("access", None, 0, Kind::LookUp),
    ("faccessat", Some(0), 1, Kind::LookUp),
    ("faccessat2", Some(0), 1, Kind::LookUp),
    ("readlink", None, 0, Kind::LookUp),
    ("readlinkat", Some(0), 1, Kind::LookUp),
];

/// A file-name call between its entry and its exit.
#[derive(Clone, Debug)]
pub(super) struct NamingCall {
    base: NameBase,
    name: Option<OsString>,
    kind: Kind,
}

impl NamingCall {
    /// If the call has a file name: the name is read now, at the entry.
    pub(super) fn at_entry(thread: u32, call: CallName, arguments: &[u64; 6], is_64_bit: bool) -> Option<Self> {
        let called = call.known()?;
        let &(_, base, name, kind) = CALLS.iter().find(|(name, ..)| *name == called)?;
        // Upper halves of registers are not part of a 32-bit program's pointer.
        let address = arguments.get(name).map(|address| if is_64_bit { *address } else { address & 0xffff_ffff })?;
        // Descriptors are 32-bit integers; the upper half of the register is undefined.
        let base = match base.and_then(|base| arguments.get(base)).map(|base| *base as u32 as i32) {
            None | Some(AT_FDCWD) => NameBase::WorkingDirectory,
            Some(descriptor) => NameBase::Descriptor(descriptor),
        };
        Some(Self { base, name: read_name(thread, address).ok(), kind })
    }
}

/// `linux/fcntl.h`.
const AT_FDCWD: i32 = -100;

/// The state of a thread's library search.
#[derive(Clone, Debug, Default)]
pub(super) struct ProbeState {
    /// Directory of the library that its last file-name call did not find.
    directory: Option<OsString>,
}

impl ProbeState {
    /// Records the thread's next file-name call, and classifies it if it failed.
    pub(super) fn after(&mut self, call: &NamingCall, failed: bool) -> Option<LibraryProbe> {
        let before = self.directory.take();
        let name = call.name.as_deref()?;
        if !failed {
            return None;
        }
        if is_library_name(name) {
            if call.kind == Kind::Open {
                self.directory = Path::new(name).parent().map(|parent| parent.as_os_str().to_owned());
            }
            return Some(LibraryProbe::Library);
        }
        let is_its_directory = call.kind == Kind::LookUp && before.is_some_and(|before| same_directory(&before, name));
        is_its_directory.then_some(LibraryProbe::Directory)
    }
}

/// Equal apart from trailing slashes.
fn same_directory(one: &OsStr, other: &OsStr) -> bool {
    let without_slash = |name: &OsStr| {
        let bytes = name.as_bytes();
        let length = bytes.iter().rposition(|&byte| byte != b'/').map_or(0, |last| last.saturating_add(1));
        bytes.get(..length).unwrap_or_default().to_vec()
    };
    without_slash(one) == without_slash(other)
}

fn is_library_name(name: &OsStr) -> bool {
    let bytes = name.as_bytes();
    let last = bytes.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    !last.starts_with(b"ld.so.") && (last.ends_with(b".so") || last.windows(4).any(|part| part == b".so."))
}

impl FailedName {
    pub(super) fn new(
        (process, in_first_process): (u32, bool),
        name: CallName,
        call: NamingCall,
        errno: i32,
        probe: Option<LibraryProbe>,
    ) -> Self {
        Self { process, in_first_process, call: name, base: call.base, name: call.name, errno, probe }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, kind: Kind) -> NamingCall {
        NamingCall { base: NameBase::WorkingDirectory, name: Some(name.into()), kind }
    }

    #[test]
    fn libraries_are_told_by_their_names() {
        for name in ["/a/libc.so.6", "libfoo.so", "x.cpython-311-x86_64-linux-gnu.so", "/a/libfoo.so.v2.1", "liba.so."]
        {
            assert!(is_library_name(OsStr::new(name)), "{name}");
        }
        for name in ["/etc/ld.so.preload", "/etc/ld.so.cache", "/a.so/b", "a.sock", "a.sort", "", "/", "so"] {
            assert!(!is_library_name(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn a_directory_counts_right_after_its_library_only() {
        let mut state = ProbeState::default();
        let library = call("/a/haswell/libx.so.1", Kind::Open);
        let directory = call("/a/haswell", Kind::LookUp);
        assert_eq!(state.after(&directory, true), None);
        assert_eq!(state.after(&library, true), Some(LibraryProbe::Library));
        assert_eq!(state.after(&directory, true), Some(LibraryProbe::Directory));
        assert_eq!(state.after(&directory, true), None, "once");
        state.after(&library, true);
        assert_eq!(state.after(&call("/a", Kind::LookUp), true), None, "another directory");
        state.after(&library, true);
        assert_eq!(state.after(&directory, false), None, "it is there");
        state.after(&library, false);
        assert_eq!(state.after(&directory, true), None, "the library was there");
    }
}
