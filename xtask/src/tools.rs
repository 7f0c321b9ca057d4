//! What the tests and benchmarks need from Debian, installed when it is missing.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// A program and the package that brings it.
pub(crate) struct Tool {
    pub(crate) program: &'static str,
    pub(crate) package: &'static str,
}

const fn tool(program: &'static str, package: &'static str) -> Tool {
    Tool { program, package }
}

/// What the tests compare with and build their fixtures with.
pub(crate) const FOR_TESTS: &[Tool] = &[
    tool("cc", "gcc"),
    tool("fincore", "util-linux"),
    tool("setpriv", "util-linux"),
    tool("losetup", "mount"),
    tool("mkfs.ext4", "e2fsprogs"),
    tool("mkfs.btrfs", "btrfs-progs"),
    tool("fusermount3", "fuse3"),
    tool("python3", "python3"),
    tool("script", "bsdutils"),
    tool("ip", "iproute2"),
];

/// What the benchmarks need besides.
pub(crate) const FOR_BENCHMARKS: &[Tool] = &[
    tool("hyperfine", "hyperfine"),
    tool("vmtouch", "vmtouch"),
    tool("debootstrap", "debootstrap"),
    tool("fio", "fio"),
];

/// Installs the packages of tools that are missing, as root on Debian and its kin; elsewhere names them.
pub(crate) fn install_missing(tools: &[Tool]) -> Result<()> {
    let missing: Vec<&str> = tools.iter().filter(|tool| !is_there(tool.program)).map(|tool| tool.package).collect();
    if missing.is_empty() {
        return Ok(());
    }
    ensure!(
        rustix::process::geteuid().is_root() && is_there("apt-get"),
        "missing on this machine: {0}\nhint: apt-get install {0}, as root",
        missing.join(" ")
    );
    eprintln!("installing {}", missing.join(" "));
    run(Command::new("apt-get").args(["-qq", "update"]))?;
    run(Command::new("apt-get")
        .args(["-qq", "install", "--yes", "--no-install-recommends"])
        .args(&missing)
        .env("DEBIAN_FRONTEND", "noninteractive"))
}

/// Whether a program stands in a directory of PATH, or in those of the administrator's.
pub(crate) fn is_there(program: &str) -> bool {
    find(program).is_some()
}

/// The first place of a program in the directories of PATH, or in those of the administrator's.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let administrators = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    let mut places = std::env::split_paths(&path).chain(administrators).map(|folder| folder.join(program));
    places.find(|place| place.is_file())
}

/// Runs a command and fails when it does.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(())
}
