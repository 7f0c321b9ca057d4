//! Debian's packages for a processor, unpacked side by side without starting anything of theirs.
//!
//! Setting up the packages of another processor takes an emulator ten times as long as downloading them. So this machine's apt
//! chooses and fetches them, `dpkg-deb` unpacks them, and what their maintainers' scripts would have made is in `system.rs`,
//! as far as a test needs it. apt gets a state of its own: what this machine has installed does not count.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use fs_err as fs;

use crate::architecture::Architecture;
use crate::clean_system::{MIRROR, said};
use crate::corpus::keyring;
use crate::tools::{emptied, run};

/// The packages of some suites.
pub(super) struct Packages {
    /// What apt knows of them.
    home: PathBuf,
    architecture: Architecture,
}

impl Packages {
    /// Fetches the lists of the suites' packages; `home` is emptied for apt.
    ///
    /// # Errors
    ///
    /// Without Debian's keys or network.
    pub(super) fn of(architecture: Architecture, suites: &[&str], home: &Path) -> Result<Self> {
        let packages = Self { home: emptied(home.to_owned())?, architecture };
        for directory in ["lists/partial", "archives/partial"] {
            fs::create_dir_all(packages.home.join(directory))?;
        }
        fs::write(packages.home.join("status"), "")?;
        let signed_by = keyring()?.display();
        let line = |suite: &&str| format!("deb [signed-by={signed_by}] {MIRROR} {suite} main\n");
        fs::write(packages.home.join("sources.list"), suites.iter().map(line).collect::<String>())?;
        run(packages.apt("apt-get")?.args(["-qq", "update"]))?;
        Ok(packages)
    }

    /// What another package depends on: of one that always needs the newest, the newest.
    ///
    /// # Errors
    ///
    /// When the suite has no such package, or it depends on no other.
    pub(super) fn needed_by(&self, package: &str, suite: &str) -> Result<String> {
        let about = said(self.apt("apt-cache")?.arg("show").arg(format!("{package}/{suite}")))?;
        let needed = about.lines().find_map(|line| line.strip_prefix("Depends: "));
        let needed = needed.and_then(|names| names.split([' ', ',']).next());
        Ok(needed.with_context(|| format!("{package} of {suite} depends on nothing"))?.to_owned())
    }

    /// Unpacks these packages, all that they depend on, and those that every Debian has, below a directory. As in every Debian
    /// `/bin` and its like are links into `/usr`.
    ///
    /// # Errors
    ///
    /// When they cannot be downloaded, or their files not written.
    pub(super) fn unpack(&self, names: &[String], tree: &Path) -> Result<()> {
        let mut install = self.apt("apt-get")?;
        install.args(["-qq", "install", "--yes", "--no-install-recommends", "--download-only"]);
        run(install.arg("?essential").args(names).stdout(Stdio::null()))?;
        for name in ["bin", "sbin", "lib", "lib64"] {
            fs::create_dir_all(tree.join("usr").join(name))?;
            fs::os::unix::fs::symlink(Path::new("usr").join(name), tree.join(name))?;
        }
        for entry in fs::read_dir(self.home.join("archives"))? {
            let file = entry?.path();
            if file.extension() == Some(OsStr::new("deb")) {
                unpack(&file, tree)?;
            }
        }
        Ok(())
    }

    /// Forgets them.
    pub(super) fn end(self) -> Result<()> {
        Ok(fs::remove_dir_all(self.home)?)
    }

    /// This machine's settings stay, for instance how it reaches a mirror, but for those here.
    fn apt(&self, program: &str) -> Result<Command> {
        let home = self.home.to_str().context("apt's directory is not named in UTF-8")?;
        let architecture = self.architecture.debian();
        let mut command = Command::new(program);
        command.env("DEBIAN_FRONTEND", "noninteractive");
        for setting in [
            &format!("APT::Architecture={architecture}"),
            &format!("APT::Architectures={architecture}"),
            "APT::Sandbox::User=root",
            &format!("Dir::State={home}"),
            &format!("Dir::State::status={home}/status"),
            &format!("Dir::Cache={home}"),
            &format!("Dir::Etc::SourceList={home}/sources.list"),
            "Dir::Etc::SourceParts=/dev/null",
            "Dir::Etc::Preferences=/dev/null",
            "Dir::Etc::PreferencesParts=/dev/null",
        ] {
            command.args(["-o", setting]);
        }
        Ok(command)
    }
}

/// Unpacks the files of a package.
fn unpack(package: &Path, tree: &Path) -> Result<()> {
    let mut reading = Command::new("dpkg-deb").arg("--fsys-tarfile").arg(package).stdout(Stdio::piped()).spawn()?;
    let files = reading.stdout.take().context("dpkg-deb has no output")?;
    // By number: users and groups have others on this machine.
    let mut writing = Command::new("tar");
    writing.args(["--extract", "--keep-directory-symlink", "--numeric-owner", "--directory"]).arg(tree);
    run(writing.stdin(files)).with_context(|| format!("cannot unpack {}", package.display()))?;
    let ended = reading.wait()?;
    ensure!(ended.success(), "dpkg-deb ended with {ended} for {}", package.display());
    Ok(())
}
