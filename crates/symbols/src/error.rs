//! Why nothing can be told of an object.

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
    #[error("cannot read `{}` as an object", .path.display())]
    Elf {
        /// The object's file.
        path: PathBuf,
        /// What is wrong.
        source: ElfError,
    },
    /// Part of it was gone when it was looked at.
    #[error("`{}` became shorter while it was read", .path.display())]
    Shrank {
        /// The object's file.
        path: PathBuf,
    },
    /// Functions of this machine's code cannot be told.
    #[error("cannot find functions in `{}`: its code is for {machine}", .path.display())]
    Machine {
        /// The object's file.
        path: PathBuf,
        /// The machine's name.
        machine: String,
    },
}

impl ObjectError {
    /// What to do next.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Io { .. } => None,
            Self::Elf { .. } => {
                Some("the file may be cut off or damaged; compare its size and checksum with its package's")
            }
            Self::Shrank { .. } => Some("trace again when nobody writes to it"),
            Self::Machine { .. } => Some("leave the layer `functions` out; it knows x86-64, i386 and aarch64"),
        }
    }
}
