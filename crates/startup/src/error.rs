//! Why a start cannot be simulated.

use std::io;
use std::path::PathBuf;

use coldstart_elf::FileKind;

use crate::RootError;

/// Why a start cannot be simulated. Failures of the simulated start itself are part of the result.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The sysroot cannot be used.
    #[error(transparent)]
    Root(#[from] RootError),
    /// The current directory of the start cannot be used.
    #[error("cannot use the current directory `{}`", directory.display())]
    CurrentDirectory {
        /// The directory; in a sysroot, its path on this host.
        directory: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// No usual directory of the sysroot has a program with this bare name.
    #[error("no program `{}` in the sysroot `{}`", name.display(), sysroot.display())]
    NotInSysroot {
        /// As typed.
        name: PathBuf,
        /// The sysroot.
        sysroot: PathBuf,
        /// The searched directories, separated by colons.
        searched: &'static str,
    },
    /// The program is not an ELF object, or cannot be read.
    #[error("cannot determine what `{}` loads", program.display())]
    NotAnObject {
        /// The program's path as the loader would see it.
        program: PathBuf,
        /// Its kind by its first bytes.
        kind: FileKind,
        /// Its first bytes, as many as the kernel reads of a script's first line; none if it cannot be read.
        beginning: Vec<u8>,
        /// Why it is not an object.
        source: io::Error,
    },
    /// The loader is missing or has the wrong architecture.
    #[error(transparent)]
    Loader(#[from] coldstart_loader::Error),
    /// The current directory of this process is not known.
    #[error("cannot tell the current directory")]
    NoCurrentDirectory(#[source] io::Error),
}
