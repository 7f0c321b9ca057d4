//! The system's disk: Debian 12, what the tests start, and the kernels, which the emulator loads from outside it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use fs_err as fs;

use super::Kernel;
use crate::architecture::Architecture;
use crate::clean_system::CleanSystem;
use crate::tools::{FOR_TESTS, run};

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
/// What is started in place of an init: the checkout's disk goes where the checkout lies on the machine that built it, and what
/// stands there does the rest. The kernel hands on what it does not know of its command line as environment.
const INIT: &str = r#"#!/bin/sh
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8
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
        let recipe = format!("{RELEASE} {} {SIZE}\n{INIT}", packages().join(" "));
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
        let clean = CleanSystem::of(architecture, RELEASE, &self.home.join("tree"))?;
        clean.with_packages(RELEASE)?;
        let install = "DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends";
        clean.shell(&format!("{install} {} >/dev/null", packages().join(" ")))?;
        for kernel in [Kernel::Bookworm, Kernel::Trixie] {
            let sources = clean.root().join("etc/apt/sources.list");
            let text = fs::read_to_string(&sources)?.replace(&format!(" {RELEASE} "), &format!(" {} ", kernel.suite()));
            fs::write(clean.root().join("etc/apt/sources.list.d/kernel.list"), text)?;
            clean.shell("apt-get -qq update")?;
            let name = format!("linux-image-{}", architecture.debian());
            // The package that always needs the newest, and by its name the one that it needs.
            let package = clean.shell(&format!(
                "apt-cache show {name}/{} | sed -n 's/^Depends: *\\(linux-image-[^ ,]*\\).*/\\1/p' | head -n 1",
                kernel.suite()
            ))?;
            let package = package.trim();
            clean.shell(&format!("{install} --target-release {} {package} >/dev/null", kernel.suite()))?;
            let version = package.strip_prefix("linux-image-").context("apt names no kernel")?;
            let boot = clean.root().join("boot");
            fs::copy(boot.join(format!("vmlinuz-{version}")), self.kernel(kernel))?;
            fs::copy(boot.join(format!("initrd.img-{version}")), self.initial(kernel))?;
        }
        let init = clean.root().join("sbin/coldstart-init");
        fs::write(&init, INIT)?;
        fs::set_permissions(&init, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        fs::write(clean.root().join("etc/hosts"), "127.0.0.1 localhost\n")?;
        clean.shell("apt-get clean; rm -rf /var/lib/apt/lists/*")?;
        let tree = clean.finished()?;
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
    let besides = ["kmod", "initramfs-tools", "iproute2", "procps"];
    let mut packages: Vec<&str> = wanted.chain(besides).collect();
    packages.sort_unstable();
    packages.dedup();
    packages
}

/// Makes an ext4 file system in a file, with what is below a directory.
pub(super) fn make_disk(tree: &Path, disk: &Path, size: &str) -> Result<()> {
    if disk.exists() {
        fs::remove_file(disk)?;
    }
    run(Command::new("mke2fs").args(["-q", "-F", "-t", "ext4", "-d"]).arg(tree).arg(disk).arg(size))
}
