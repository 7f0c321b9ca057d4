//! New systems of Debian's releases, in which packages and programs are tried without what this machine has.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use fs_err as fs;

use crate::tools::{emptied, install_missing, run, tool};

/// Where Debian's packages are.
pub(crate) const MIRROR: &str = "http://deb.debian.org/debian";

/// A new system of a release of Debian's, below a directory, with `/proc` and `/sys`.
pub(crate) struct CleanSystem {
    root: PathBuf,
}

impl CleanSystem {
    /// # Errors
    ///
    /// Without root, and when debootstrap fails.
    pub(crate) fn new(release: &str, root: &Path) -> Result<Self> {
        ensure!(
            rustix::process::geteuid().is_root(),
            "a clean system needs root\nhint: sudo -E cargo xtask with the same arguments"
        );
        install_missing(&[tool("debootstrap", "debootstrap")])?;
        let root = emptied(root.to_owned())?;
        run(crate::corpus::debootstrap()?.arg(release).arg(&root).stdout(Stdio::null()))?;
        let system = Self { root };
        for name in ["proc", "sys"] {
            run(Command::new("mount").arg("--rbind").arg(format!("/{name}")).arg(system.root.join(name)))?;
        }
        Ok(system)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// A command in it.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("chroot");
        command.arg(&self.root).args(words);
        command
    }

    /// Lets `apt-get` install packages of the release, and get its sources.
    pub(crate) fn with_packages(&self, release: &str) -> Result<()> {
        fs::copy("/etc/resolv.conf", self.root.join("etc/resolv.conf"))?;
        let sources = format!("deb {MIRROR} {release} main\ndeb-src {MIRROR} {release} main\n");
        fs::write(self.root.join("etc/apt/sources.list"), sources)?;
        self.shell("apt-get update").map(drop)
    }

    /// What a command for the shell writes; it must succeed.
    pub(crate) fn shell(&self, command: &str) -> Result<String> {
        said(&mut self.command(&["sh", "-ec", command]))
    }

    pub(crate) fn run(&self, words: &[&str]) -> Result<()> {
        said(&mut self.command(words)).map(drop)
    }

    /// Deletes it.
    pub(crate) fn end(self) -> Result<()> {
        self.unmount()?;
        Ok(fs::remove_dir_all(&self.root)?)
    }

    fn unmount(&self) -> Result<()> {
        for name in ["sys", "proc"] {
            let directory = self.root.join(name);
            if rustix::fs::stat(&directory)?.st_dev == rustix::fs::stat(&self.root)?.st_dev {
                continue;
            }
            // Lazily and whole: whatever is mounted below came with it.
            run(Command::new("umount").args(["--recursive", "--lazy"]).arg(&directory))?;
        }
        Ok(())
    }
}

impl Drop for CleanSystem {
    /// Whatever happened: a directory in which something is mounted must not be deleted.
    fn drop(&mut self) {
        if self.root.exists()
            && let Err(error) = self.unmount()
        {
            eprintln!("warning: {}: {error:#}", self.root.display());
        }
    }
}

/// What a program writes, which must succeed.
pub(crate) fn said(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {command:?}"))?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?} ended with {}: {}", output.status, error.trim());
    Ok(String::from_utf8(output.stdout)?)
}
