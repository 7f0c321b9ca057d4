//! File access for the loader's rules.

use std::io;
use std::path::{Path, PathBuf};

use crate::{Identity, ObjectFacts, fault};

/// The file at a path that the loader tries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probe {
    /// It cannot be opened: `NotFound` for ENOENT, `PermissionDenied` for EACCES, `NotADirectory` for ENOTDIR,
    /// `InvalidFilename` for ENAMETOOLONG. The loader continues after these, and abandons the list of directories
    /// after others.
    Absent(io::ErrorKind),
    /// It can be opened and is not a file that the loader accepts: too short, no ELF magic, not a shared object, a
    /// directory. The reason is for people. This ends the start, while an object for another architecture is skipped.
    NotAnObject(String),
    /// An ELF object of any architecture.
    Object {
        /// Its file identity.
        identity: Identity,
        /// The properties read from it.
        facts: ObjectFacts,
    },
}

impl Probe {
    /// The loader's view of a file that can be opened, from its whole content. `set_user_id` is the file's mode bit.
    ///
    /// A file with a valid header that our own ELF reader refuses counts as a file that cannot be mapped.
    pub fn of_content(content: &[u8], identity: Identity, set_user_id: bool) -> Self {
        match fault::read(content) {
            Ok(facts) => Self::Object { identity, facts: ObjectFacts { set_user_id, ..facts } },
            Err(reason) => Self::NotAnObject(reason.to_owned()),
        }
    }
}

/// File access for the loader's rules. Paths may be relative to the current directory of the start, and are as the
/// loader sees them: an implementation may map its root to another directory.
pub trait FileSystem {
    /// The result of opening `path` and reading its ELF header, symbolic links followed.
    fn object(&self, path: &Path) -> Probe;

    /// Whether `stat` finds a directory: glibc checks each directory once, after a failed probe in it.
    fn is_directory(&self, path: &Path) -> bool;

    /// The path without symbolic links, as in /proc/self/exe; it becomes the program's `$ORIGIN`.
    fn canonical(&self, path: &Path) -> Option<PathBuf>;
}

/// The files of this machine; `read` gets an object's identity and facts from an open file's path.
///
/// An error of the kind `InvalidData` or `UnexpectedEof`, and `IsADirectory`, means [`Probe::NotAnObject`], others
/// [`Probe::Absent`].
#[derive(Clone, Debug)]
pub struct Disk<Read> {
    read: Read,
}

impl<Read: Fn(&Path) -> io::Result<(Identity, ObjectFacts)>> Disk<Read> {
    /// Reads objects with `read`.
    pub fn new(read: Read) -> Self {
        Self { read }
    }
}

impl<Read: Fn(&Path) -> io::Result<(Identity, ObjectFacts)>> FileSystem for Disk<Read> {
    fn object(&self, path: &Path) -> Probe {
        match (self.read)(path) {
            Ok((identity, facts)) => Probe::Object { identity, facts },
            Err(error) => match error.kind() {
                io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof | io::ErrorKind::IsADirectory => {
                    Probe::NotAnObject(error.to_string())
                }
                kind => Probe::Absent(kind),
            },
        }
    }

    fn is_directory(&self, path: &Path) -> bool {
        path.is_dir()
    }

    fn canonical(&self, path: &Path) -> Option<PathBuf> {
        path.canonicalize().ok()
    }
}
