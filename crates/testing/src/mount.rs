//! Mounts. They need root.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::attempt;

/// A mount that is undone when the test ends, however it ends.
#[derive(Debug)]
pub struct Mount {
    place: PathBuf,
}

impl Mount {
    /// Mounts at a directory, which is made, or at a file that exists.
    ///
    /// # Errors
    /// Says why it is not possible here.
    pub fn new(place: &Path, arguments: &[&str]) -> Result<Self, String> {
        if !place.exists() {
            std::fs::create_dir_all(place).map_err(|error| error.to_string())?;
        }
        attempt(Command::new("mount").args(arguments).arg(place))?;
        Ok(Self { place: place.to_owned() })
    }

    /// Where.
    pub fn place(&self) -> &Path {
        &self.place
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let undone = attempt(Command::new("umount").arg(&self.place));
        if let Err(error) = undone.or_else(|_| attempt(Command::new("umount").arg("--lazy").arg(&self.place))) {
            eprintln!("left mounted: {error}");
        }
    }
}
