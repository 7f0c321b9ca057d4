//! A small system of dpkg's below a directory, with packages made for it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use coldstart_testing::{is_root, is_there, scratch, skip, succeed};
use tempfile::TempDir;

pub(crate) struct System {
    directory: TempDir,
}

impl System {
    /// A merged system without packages; `None` where the test cannot run.
    #[track_caller]
    pub(crate) fn new() -> Option<Self> {
        if !is_root() {
            return None;
        }
        if !is_there("dpkg") || !is_there("dpkg-deb") {
            skip("needs dpkg");
            return None;
        }
        let system = Self { directory: scratch() };
        for directory in ["var/lib/dpkg/info", "var/lib/dpkg/updates", "usr/lib", "usr/bin", "tmp", "etc"] {
            std::fs::create_dir_all(system.root().join(directory)).unwrap();
        }
        std::fs::write(system.root().join("var/lib/dpkg/status"), "").unwrap();
        for directory in ["lib", "bin"] {
            std::os::unix::fs::symlink(format!("usr/{directory}"), system.root().join(directory)).unwrap();
        }
        Some(system)
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.directory.path().join("root")
    }

    pub(crate) fn records(&self) -> PathBuf {
        self.root().join("var/lib/coldstart/replaced")
    }

    /// A file outside of the system.
    pub(crate) fn beside(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.directory.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root().join(path.as_ref().strip_prefix("/").unwrap())
    }

    pub(crate) fn read(&self, path: impl AsRef<Path>) -> String {
        String::from_utf8_lossy(&std::fs::read(self.at(path)).unwrap()).into_owned()
    }

    /// Builds a package of one file.
    pub(crate) fn package(&self, name: &str, version: &str, file: impl AsRef<OsStr>, content: &[u8]) -> PathBuf {
        let tree = self.directory.path().join(format!("{name}_{version}"));
        let path = tree.join(OsStr::from_bytes(file.as_ref().as_bytes().strip_prefix(b"/").unwrap()));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::create_dir_all(tree.join("DEBIAN")).unwrap();
        std::fs::write(&path, content).unwrap();
        let control = format!(
            "Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: a test <test@example.org>\nDescription: a test\n"
        );
        std::fs::write(tree.join("DEBIAN/control"), control).unwrap();
        let digest = succeed(Command::new("md5sum").arg("--").arg(&path));
        let line = [&digest.as_bytes()[..32], b"  ", &file.as_ref().as_bytes()[1..], b"\n"].concat();
        std::fs::write(tree.join("DEBIAN/md5sums"), line).unwrap();
        let package = self.directory.path().join(format!("{name}_{version}.deb"));
        succeed(Command::new("dpkg-deb").args(["--root-owner-group", "-Znone", "--build"]).arg(&tree).arg(&package));
        package
    }

    pub(crate) fn dpkg(&self, arguments: &[&str], packages: &[&Path]) -> String {
        let mut command = Command::new("dpkg");
        command.arg(format!("--root={}", self.root().display()));
        // The log would be the machine's own.
        command.arg(format!("--log={}", self.root().join("tmp/dpkg.log").display()));
        command.args(arguments).args(packages);
        succeed(&mut command)
    }

    pub(crate) fn install(&self, package: &Path) {
        self.dpkg(&["--force-downgrade", "--install"], &[package]);
    }

    pub(crate) fn diversions(&self) -> String {
        succeed(Command::new("dpkg-divert").arg(format!("--root={}", self.root().display())).arg("--list"))
    }

    /// Names in a directory.
    pub(crate) fn names(&self, directory: &str) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.at(directory)) else { return Vec::new() };
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}
