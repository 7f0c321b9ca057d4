//! The system's disk: Debian 12 with what the tests start. The kernels are loaded by the emulator, from beside it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use fs_err as fs;

use super::packages::Packages;
use super::{Kernel, initial};
use crate::architecture::Architecture;
use crate::tools::{FOR_TESTS, emptied, run, write_program};

const RELEASE: &str = "bookworm";
/// Where Debian 13's kernel is built for Debian 12.
const BACKPORTS: &str = "bookworm-backports";
/// Programs that no test of the kernel's layers starts, and that are large. A test that wants one says that it skips.
const LEFT_OUT: &[&str] = &[
    "chromium",
    "clang",
    "debuginfod",
    "firefox-esr",
    "nodejs",
    "npm",
    "openjdk-17-jdk-headless",
    "openjdk-17-jre-headless",
    "python3-pip",
    "r-base-core",
    "ruby-bundler",
    "skopeo",
    "umoci",
];
/// What the machine itself needs to start: modules of the kernel, a shell before the system's disk is there, `ip`, `sysctl`.
const BESIDES: &[&str] = &["busybox-static", "iproute2", "kmod", "procps"];
/// The links that packages' scripts make, for programs that tests and tools start by these names, and for directories.
const LINKS: &[(&str, &str)] = &[
    ("usr/bin/awk", "mawk"),
    ("usr/bin/c++", "g++"),
    ("usr/bin/cc", "gcc"),
    ("usr/bin/php", "php8.2"),
    ("usr/bin/which", "which.debianutils"),
    ("var/lock", "/run/lock"),
    ("var/run", "/run"),
];
/// The directories that packages' scripts make (base-files).
const DIRECTORIES: &[&str] = &[
    "usr/local/bin",
    "usr/local/etc",
    "usr/local/games",
    "usr/local/include",
    "usr/local/lib",
    "usr/local/sbin",
    "usr/local/share/man",
    "usr/local/src",
];
/// The files that packages' scripts copy.
const COPIES: &[(&str, &str)] =
    &[("etc/group", "usr/share/base-passwd/group.master"), ("etc/passwd", "usr/share/base-passwd/passwd.master")];
/// What is started in place of an init: the checkout's disk goes where the checkout lies on the machine that built it, and what
/// stands there does the rest. The kernel hands on what it does not know of its command line as environment.
const INIT: &str = r#"#!/bin/sh
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs -o mode=755 tmpfs /run
mkdir /run/lock
# Here and not where the system was made: glibc's ldconfig reads libraries of its own processor only.
ldconfig
# GTK ends programs (SIGABRT) where it cannot tell that a file is a picture.
update-mime-database /usr/share/mime
mkdir -p "$coldstart_place"
mount /dev/vdb "$coldstart_place" && setsid --wait sh "$coldstart_place/start-tests" </dev/null
echo o > /proc/sysrq-trigger
sleep 60
"#;
/// Its size. The file is sparse.
const SIZE: &str = "12G";

/// A finished system.
pub(super) struct System {
    home: PathBuf,
}

impl System {
    /// The system for a processor; made where there is none yet, or another.
    pub(super) fn ready(architecture: Architecture) -> Result<Self> {
        let home = crate::cargo::target_directory()?.join("vm").join(architecture.name());
        let system = Self { home };
        let recipe = format!(
            "{RELEASE} {} {SIZE} {LINKS:?} {DIRECTORIES:?} {COPIES:?}\n{INIT}{}",
            packages().join(" "),
            initial::MOUNT
        );
        let stamp = system.home.join("recipe");
        if fs::read_to_string(&stamp).is_ok_and(|earlier| earlier == recipe) {
            return Ok(system);
        }
        println!("making the system of the virtual machines, {}", system.home.display());
        fs::create_dir_all(&system.home)?;
        system.make(architecture)?;
        // The stamp vouches for the others, so it comes last.
        fs::write(stamp, recipe)?;
        Ok(system)
    }

    fn make(&self, architecture: Architecture) -> Result<()> {
        let archive = Packages::of(architecture, &[RELEASE, BACKPORTS], &self.home.join("apt"))?;
        let mut packages: Vec<String> = packages().iter().map(|&name| name.to_owned()).collect();
        let mut kernels = Vec::new();
        for kernel in [Kernel::Bookworm, Kernel::Trixie] {
            let package = archive.needed_by(&format!("linux-image-{}", architecture.debian()), kernel.suite())?;
            let version = package.strip_prefix("linux-image-").context("apt names no kernel")?.to_owned();
            kernels.push((kernel, version));
            packages.push(package);
        }
        let tree = emptied(self.home.join("tree"))?;
        archive.unpack(&packages, &tree)?;
        archive.end()?;
        for (kernel, version) in kernels {
            fs::copy(tree.join("boot").join(format!("vmlinuz-{version}")), self.kernel(kernel))?;
            initial::make(&tree, &version, &self.initial(kernel))?;
        }
        set_up(&tree)?;
        make_disk(&tree, &self.disk(), SIZE)?;
        Ok(fs::remove_dir_all(tree)?)
    }

    /// The system's disk.
    pub(super) fn disk(&self) -> PathBuf {
        self.home.join("system.ext4")
    }

    pub(super) fn kernel(&self, kernel: Kernel) -> PathBuf {
        self.home.join(format!("vmlinuz-{}", kernel.version()))
    }

    /// The file system that the kernel begins with: it brings the drivers for the disk.
    pub(super) fn initial(&self, kernel: Kernel) -> PathBuf {
        self.home.join(format!("initrd-{}", kernel.version()))
    }
}

impl Kernel {
    fn suite(self) -> &'static str {
        match self {
            Self::Bookworm => RELEASE,
            Self::Trixie => BACKPORTS,
        }
    }
}

fn packages() -> Vec<&'static str> {
    let wanted = FOR_TESTS.iter().map(|tool| tool.package).filter(|package| !LEFT_OUT.contains(package));
    let mut packages: Vec<&str> = wanted.chain(BESIDES.iter().copied()).collect();
    packages.sort_unstable();
    packages.dedup();
    packages
}

/// Makes a system of unpacked packages: what their scripts would have made, and what is started first.
fn set_up(tree: &Path) -> Result<()> {
    for (name, content) in LINKS {
        let link = tree.join(name);
        if link.is_dir() {
            // A package has the directory, and its script replaces it.
            fs::remove_dir(&link)?;
        }
        fs::os::unix::fs::symlink(content, link)?;
    }
    for name in DIRECTORIES {
        fs::create_dir_all(tree.join(name))?;
    }
    for (name, from) in COPIES {
        fs::copy(tree.join(from), tree.join(name))?;
    }
    fs::write(tree.join("etc/hosts"), "127.0.0.1 localhost\n")?;
    write_program(&tree.join("sbin/coldstart-init"), INIT)
}

/// Makes an ext4 file system in a file, with what is below a directory.
pub(super) fn make_disk(tree: &Path, disk: &Path, size: &str) -> Result<()> {
    if disk.exists() {
        fs::remove_file(disk)?;
    }
    run(Command::new("mke2fs").args(["-q", "-F", "-t", "ext4", "-d"]).arg(tree).arg(disk).arg(size))
}
