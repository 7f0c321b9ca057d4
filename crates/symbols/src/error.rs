//! Why an object cannot be described.

use std::io;
use std::path::PathBuf;

use coldstart_elf::ElfError;

/// Why an object's file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    /// It cannot be opened or mapped.
    #[error("cannot read `{}`", .path.display())]
    Io {
        /// The object's file.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// It is not an ELF file, or its headers are wrong.
    #[error("cannot read `{}` as an ELF object", .path.display())]
    Elf {
        /// The object's file.
        path: PathBuf,
        /// What is wrong.
        source: ElfError,
    },
    /// Part of it was missing when it was read.
    #[error("`{}` was truncated while it was read", .path.display())]
    Shrank {
        /// The object's file.
        path: PathBuf,
    },
    /// Function detection does not support this architecture.
    #[error("cannot find functions in `{}`: its code is for {machine}", .path.display())]
    Machine {
        /// The object's file.
        path: PathBuf,
        /// The architecture's name.
        machine: String,
    },
}

impl ObjectError {
    /// A hint.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Io { .. } => None,
            Self::Elf { .. } => {
                Some("the file may be truncated or damaged; compare its size and checksum with its package's")
            }
            Self::Shrank { .. } => Some("trace again when no process writes to it"),
            Self::Machine { .. } => Some("omit the layer `functions`; it supports x86-64, i386 and aarch64"),
        }
    }
}
