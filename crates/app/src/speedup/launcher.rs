//! The launcher that replays a plan, and its copy for a measurement.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use coldstart_launch::CommandLine;

use crate::error::AppError;

/// A program that replays a plan and then executes another program.
#[derive(Clone, Debug)]
pub struct Launcher {
    /// The command name for the user.
    pub name: String,
    /// Arguments before the plan.
    pub words: Vec<OsString>,
    /// Its file.
    pub file: PathBuf,
}

impl Launcher {
    /// The small launcher (`crates/launcher`) if it is installed next to this process's executable, otherwise that executable,
    /// which must be `coldstart`.
    ///
    /// # Errors
    /// If this process's executable is unknown.
    pub fn installed() -> Result<Self, AppError> {
        const SMALL: &str = "coldstart-run";
        let ourselves = ourselves()?;
        let small = ourselves.with_file_name(SMALL);
        Ok(if small.is_file() {
            Self { name: SMALL.to_owned(), words: Vec::new(), file: small }
        } else {
            Self { name: "coldstart".to_owned(), words: vec!["prefetch".into(), "run".into()], file: ourselves }
        })
    }

    /// The command that starts `program` through the launcher in `file`.
    pub(super) fn command(&self, file: &Path, plan: &Path, program: &CommandLine) -> CommandLine {
        let mut arguments = self.words.clone();
        arguments.extend([plan.into(), "--".into(), program.program.clone()]);
        arguments.extend(program.arguments.iter().cloned());
        CommandLine { program: file.into(), arguments }
    }

    /// As [`Self::command`], for an image instead of a plan.
    pub(super) fn command_with_image(&self, file: &Path, image: &Path, program: &CommandLine) -> CommandLine {
        self.for_image().command(file, image, program)
    }

    /// The same launcher for images: the small one recognises them.
    pub(crate) fn for_image(&self) -> Self {
        let words = if self.words.is_empty() { Vec::new() } else { vec!["image".into(), "run".into()] };
        Self { words, ..self.clone() }
    }

    /// Copies it to `file`.
    ///
    /// The launcher may be the measuring program itself, which stays in the page cache; a launcher that is never cold would make
    /// every figure too good. A copy is a separate file and as cold as the program.
    pub(super) fn copy_to(&self, file: &Path) -> std::io::Result<()> {
        fs::copy(&self.file, file)?;
        let copy = fs::File::open(file)?;
        copy.set_permissions(fs::Permissions::from_mode(0o755))?;
        // What is not on the disk yet cannot be dropped from memory.
        copy.sync_all()
    }
}

/// The file of this process's executable. After an upgrade that replaced it, the new one.
pub(crate) fn ourselves() -> Result<PathBuf, AppError> {
    let file = std::env::current_exe().context("cannot find the executable of this process")?;
    // The kernel marks a file that lost its name (`d_path` in fs/d_path.c).
    let new =
        file.as_os_str().as_bytes().strip_suffix(b" (deleted)").map(|path| PathBuf::from(OsStr::from_bytes(path)));
    Ok(new.filter(|new| !file.exists() && new.is_file()).unwrap_or(file))
}
