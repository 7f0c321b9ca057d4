//! A world's directory where its programs see it: as it is, or by a file system that is slow.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use fs_err as fs;

use super::super::runner::words;
use super::super::workshop::{Workshop, text};
use super::world::Site;

/// A file system that waits before each answer; its head says how it is built.
const SLOW_TREE: &str = include_str!("slow_tree.c");

/// Builds the slow file system.
///
/// # Errors
/// When the compiler fails.
pub(super) fn slow_tree(workshop: &Workshop, directory: &Path) -> Result<PathBuf> {
    let (source, program) = (directory.join("slow_tree.c"), directory.join("slow_tree"));
    fs::write(&source, SLOW_TREE)?;
    let said = workshop.runner.said(&words(["pkg-config", "--cflags", "--libs", "fuse3"]))?;
    ensure!(said.status.success(), "pkg-config does not know fuse3: {}", said.stderr.trim());
    let mut command = words(["gcc", "-O2", "-o"]);
    command.extend([text(&program), text(&source)]);
    command.extend(said.stdout.split_whitespace().map(str::to_owned));
    workshop.runner.run(&command)?;
    Ok(program)
}

/// A mount, gone when it is closed or dropped.
pub(super) struct Mounted {
    at: Option<PathBuf>,
}

impl Mounted {
    /// The world as it is.
    ///
    /// # Errors
    /// When it cannot be mounted.
    pub(super) fn bound(workshop: &Workshop, site: &Site) -> Result<Self> {
        let command = [words(["mount", "--bind"]), vec![text(&site.source), text(&site.seen)]].concat();
        workshop.runner.run(&command)?;
        Ok(Self { at: Some(site.seen.clone()) })
    }

    /// The world by the slow file system, with nothing of it remembered by the kernel.
    ///
    /// # Errors
    /// When it cannot be mounted.
    pub(super) fn slow(workshop: &Workshop, server: &Path, site: &Site, microseconds: u32) -> Result<Self> {
        let mut command = words(["env", &format!("SLOW_TREE_US={microseconds}")]);
        command.extend([format!("SLOW_TREE_ROOT={}", text(&site.source)), text(server), text(&site.seen)]);
        workshop.runner.run(&command)?;
        Ok(Self { at: Some(site.seen.clone()) })
    }

    /// # Errors
    /// When it cannot be unmounted.
    pub(super) fn close(mut self) -> Result<()> {
        unmount(self.at.take().as_deref())
    }
}

/// Not by the runner: an interrupt must not keep us from it.
fn unmount(at: Option<&Path>) -> Result<()> {
    let Some(at) = at else { return Ok(()) };
    let status = std::process::Command::new("umount").arg(at).status().context("cannot start umount")?;
    ensure!(status.success(), "{} could not be unmounted ({status})\nhint: umount {0}", at.display());
    Ok(())
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if let Err(error) = unmount(self.at.take().as_deref()) {
            eprintln!("bench: {error:#}");
        }
    }
}
