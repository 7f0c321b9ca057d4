//! The checkout's disk: this checkout's files, the test programs, and what they start of ours.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use fs_err as fs;
use walkdir::{DirEntry, WalkDir};

use super::machine::LAST_WORD;
use super::system::make_disk;
use crate::architecture::Architecture;
use crate::cargo::{cargo, target_directory, workspace};
use crate::suite::binaries::{self, Binary};
use crate::tools::emptied;

/// Its size. The file is sparse.
const SIZE: &str = "12G";

/// Makes the machine what a service manager would make it, as far as the tests see: file systems of the kernel's, modules, and
/// control groups, of which only those below the first may be told what to manage (kernel: `cgroup-v2.rst`, "No Internal Process
/// Constraint").
const START: &str = "\
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t tracefs tracefs /sys/kernel/tracing
mount -t debugfs debugfs /sys/kernel/debug
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mkdir /sys/fs/cgroup/tests
echo $$ > /sys/fs/cgroup/tests/cgroup.procs
echo '+cpu +io +memory +pids' > /sys/fs/cgroup/cgroup.subtree_control
ip link set lo up
modprobe -a loop fuse overlay erofs squashfs
";

/// The disk with the checkout.
pub(super) struct Checkout {
    pub(super) disk: PathBuf,
    /// Where it is mounted: the directory that holds both the checkout and what was built from it.
    pub(super) place: PathBuf,
}

/// Builds the tests and puts those that were asked for onto a disk, with what runs them.
///
/// # Errors
///
/// When they cannot be built, and when they are built too far from the checkout.
pub(super) fn disk(architecture: Architecture, filters: &[&str], jobs: usize, minutes: u64) -> Result<Checkout> {
    let target = target_directory()?;
    let place = common_directory(&workspace(), &target);
    ensure!(
        place.components().count() > 2,
        "only one disk is made for {} and {}\nhint: build without CARGO_TARGET_DIR",
        workspace().display(),
        target.display()
    );
    let mut build = cargo();
    let built = target.join(architecture.build_for_glibc(&mut build)?).join("debug");
    let mut binaries = binaries::build_by(build)?;
    let home = target.join("vm").join(architecture.name());
    let tree = emptied(home.join("checkout"))?;
    let there = |file: &Path| -> Result<PathBuf> { Ok(tree.join(file.strip_prefix(&place)?)) };
    copy_checkout(&there(&workspace())?)?;
    let packages: HashSet<String> = binaries.iter().map(|binary| binary.package.clone()).collect();
    binaries.retain(|binary| filters.iter().any(|filter| may_hold(binary, filter, &packages)));
    for binary in &binaries {
        link(&binary.executable, &there(&binary.executable)?)?;
    }
    // The programs themselves, the examples and libraries that tests start, and the directory of their files.
    for directory in [built.clone(), built.join("examples")] {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                link(&entry.path(), &there(&entry.path())?)?;
            }
        }
    }
    // Of another processor cargo names another, below its own directory.
    for directory in [target.as_path(), built.parent().unwrap_or(&target)] {
        fs::create_dir_all(there(&directory.join("tmp"))?)?;
    }
    let list = target.join("vm-tests.json");
    fs::write(there(&list)?, serde_json::to_vec(&binaries)?)?;
    let script = format!(
        "{START}{} test --built {} --jobs {jobs} --minutes {minutes} {}\necho '{LAST_WORD}'$?\n",
        quoted(&built.join("xtask")),
        quoted(&list),
        shell_words::join(filters),
    );
    fs::write(tree.join("start-tests"), script)?;
    let disk = home.join("checkout.ext4");
    make_disk(&tree, &disk, SIZE)?;
    fs::remove_dir_all(tree)?;
    Ok(Checkout { disk, place })
}

/// The innermost directory that both are below.
fn common_directory(one: &Path, other: &Path) -> PathBuf {
    one.components().zip(other.components()).take_while(|(one, other)| one == other).map(|(one, _)| one).collect()
}

/// Whether a test named like this filter may be in a test program. One that begins with a package's name is of that package; of any
/// other only the tests themselves know.
fn may_hold(binary: &Binary, filter: &str, packages: &HashSet<String>) -> bool {
    match filter.split_once("::") {
        Some((package, _)) if packages.contains(package) => binary.package == package,
        _ => true,
    }
}

/// The files of this checkout, without what is built from them.
fn copy_checkout(tree: &Path) -> Result<()> {
    let is_source =
        |entry: &DirEntry| !["target", ".git", "node_modules"].iter().any(|name| entry.file_name() == *name);
    for entry in WalkDir::new(workspace()).into_iter().filter_entry(is_source) {
        let entry = entry?;
        let there = tree.join(entry.path().strip_prefix(workspace())?);
        if entry.file_type().is_dir() {
            fs::create_dir_all(there)?;
        } else if entry.path_is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(entry.path())?, there)?;
        } else {
            link(entry.path(), &there)?;
        }
    }
    Ok(())
}

/// A second name for a file: what is behind it is copied only once, to the disk.
fn link(file: &Path, name: &Path) -> Result<()> {
    if let Some(directory) = name.parent() {
        fs::create_dir_all(directory)?;
    }
    match fs::hard_link(file, name) {
        Ok(()) => Ok(()),
        // It was built with others that have been linked already.
        Err(_) if name.exists() => Ok(()),
        // On another file system.
        Err(_) => Ok(fs::copy(file, name).map(drop)?),
    }
}

fn quoted(path: &Path) -> String {
    shell_words::quote(&path.to_string_lossy()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_disk_holds_the_checkout_and_what_was_built() {
        let common = |one: &str, other: &str| common_directory(Path::new(one), Path::new(other));
        assert_eq!(common("/home/me/coldstart", "/home/me/coldstart/out"), Path::new("/home/me/coldstart"));
        assert_eq!(common("/home/me/coldstart", "/home/me/built"), Path::new("/home/me"));
        assert_eq!(common("/home/me/coldstart", "/var/built"), Path::new("/"));
    }

    #[test]
    fn only_test_programs_of_a_named_package_are_taken() {
        let binary = |package: &str| Binary {
            package: package.to_owned(),
            name: "it".to_owned(),
            executable: PathBuf::new(),
            directory: PathBuf::new(),
            is_integration: true,
        };
        let packages: HashSet<String> = ["cli", "trace"].map(str::to_owned).into();
        assert!(may_hold(&binary("cli"), "cli::it::doctor", &packages));
        assert!(!may_hold(&binary("trace"), "cli::it::doctor", &packages));
        assert!(may_hold(&binary("trace"), "measure::hot", &packages));
        assert!(may_hold(&binary("trace"), "doctor", &packages));
    }
}
