//! What a command prints, kept in memory.
//!
//! A file and not a pipe: a full pipe would block the program, and a process that it leaves behind would keep a pipe open.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::process::Stdio;

use rustix::fs::{MemfdFlags, memfd_create};

/// The file, which any number of streams may share.
pub(crate) struct KeptOutput(File);

impl KeptOutput {
    /// An empty one.
    ///
    /// # Errors
    /// When the kernel makes no file in memory.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(File::from(memfd_create("output", MemfdFlags::CLOEXEC)?)))
    }

    /// For standard output or standard error of a command.
    ///
    /// # Errors
    /// Without a free descriptor.
    pub(crate) fn stream(&self) -> io::Result<Stdio> {
        Ok(Stdio::from(self.0.try_clone()?))
    }

    /// What was printed.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn text(mut self) -> io::Result<String> {
        let mut bytes = Vec::new();
        self.0.rewind()?;
        self.0.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}
