//! Why a start cannot be simulated.

use std::io;
use std::path::PathBuf;

use coldstart_elf::FileKind;

use crate::RootError;

/// Why a start cannot be simulated. What goes wrong during the start is part of the answer.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The sysroot cannot be used.
    #[error(transparent)]
    Root(#[from] RootError),
    /// The directory of the start is none.
    #[error("cannot use the current directory `{}`", directory.display())]
    CurrentDirectory {
        /// The directory; in a sysroot, its path on this host.
        directory: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A bare name was typed, and no usual directory of the sysroot has such a program.
    #[error("no program `{}` in the sysroot `{}`", name.display(), sysroot.display())]
    NotInSysroot {
        /// As typed.
        name: PathBuf,
        /// The sysroot.
        sysroot: PathBuf,
        /// Where it was looked for, divided by colons.
        searched: &'static str,
    },
    /// The program is no ELF object, or cannot be read.
    #[error("cannot determine what `{}` loads", program.display())]
    NotAnObject {
        /// The program as the loader would see it.
        program: PathBuf,
        /// What it is by its first bytes.
        kind: FileKind,
        /// Its first bytes, as many as the kernel reads of a script's first line; none when it cannot be read.
        beginning: Vec<u8>,
        /// Why it is no object.
        source: io::Error,
    },
    /// The loader's rules have no answer: the loader is not there or is not for this program.
    #[error(transparent)]
    Loader(#[from] coldstart_loader::Error),
    /// The current directory of this process is not known.
    #[error("cannot tell the current directory")]
    NoCurrentDirectory(#[source] io::Error),
}
