//! dpkg's answers: owners, versions, diversions; and its lock.
//!
//! Only its tools are asked: the files of its database are private to it. `dpkg-divert` takes no lock by itself, as it is made for
//! maintainer scripts, which run while dpkg holds it. So the lock is taken here, as a frontend of dpkg does.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rustix::fs::{FlockOperation, fcntl_lock};

use crate::error::PackageError;
use crate::other_managers::breaks_lines;
use crate::owner::Owner;

const DATABASE: &str = "var/lib/dpkg";
/// Directories that merged systems have as links into `/usr`.
const MERGED: &[&str] = &["bin", "sbin", "lib", "lib32", "lib64", "libx32"];

/// Whether the system at `root` is dpkg's.
fn exists(root: &Path) -> bool {
    root.join(DATABASE).join("status").exists()
}

fn tool(name: &'static str, root: &Path) -> Command {
    let mut command = Command::new(name);
    command.env("LC_ALL", "C").stdin(Stdio::null());
    // Otherwise set when this runs below dpkg, where it would name another database.
    command.env_remove("DPKG_ADMINDIR").env_remove("DPKG_ROOT");
    if root != Path::new("/") {
        let mut option = OsString::from("--root=");
        option.push(std::path::absolute(root).unwrap_or_else(|_| root.to_owned()));
        command.arg(option);
    }
    command
}

fn run(name: &'static str, command: &mut Command) -> Result<Output, PackageError> {
    command.output().map_err(|error| PackageError::Tool { tool: name, message: error.to_string() })
}

fn failed(name: &'static str, output: &Output) -> PackageError {
    let messages = String::from_utf8_lossy(&output.stderr);
    PackageError::Tool { tool: name, message: messages.trim().replace('\n', "; ") }
}

/// Names asked for in one call: their length together stays far below the kernel's limit.
const NAMES_IN_A_CALL: usize = 256;

/// The owners of files, each with the path under which dpkg knows the file. A fixed number of calls for any number of files.
pub(crate) fn owners_of(root: &Path, paths: &[&Path]) -> Result<Vec<Option<(Owner, PathBuf)>>, PackageError> {
    if !exists(root) {
        return Ok(vec![None; paths.len()]);
    }
    let names: Vec<Vec<PathBuf>> = paths
        .iter()
        .map(|path| if breaks_lines(path.as_os_str()) { Vec::new() } else { names_of(root, path) })
        .collect();
    let all: Vec<&PathBuf> = names.iter().flatten().collect();
    let mut packages = HashMap::new();
    for names in all.chunks(NAMES_IN_A_CALL) {
        let answer = packages_of(root, names)?;
        packages.extend(names.iter().filter_map(|name| Some((*name, package_in(&answer, name)?))));
    }
    let mut owning: Vec<&str> = packages.values().map(String::as_str).collect();
    owning.sort_unstable();
    owning.dedup();
    let mut versions = HashMap::new();
    for packages in owning.chunks(NAMES_IN_A_CALL) {
        versions.extend(versions_of(root, packages)?);
    }
    let owner = |names: &Vec<PathBuf>| {
        names.iter().find_map(|name| {
            let package = packages.get(name)?;
            let version = versions.get(package)?.clone();
            Some((Owner { package: package.clone(), version }, name.clone()))
        })
    };
    Ok(names.iter().map(owner).collect())
}

/// The names that a file may have in the database of a system whose `/lib` leads to `/usr/lib`, as given first.
fn names_of(root: &Path, path: &Path) -> Vec<PathBuf> {
    let mut names = vec![path.to_owned()];
    for directory in MERGED {
        let (outside, inside) = (Path::new("/").join(directory), Path::new("/usr").join(directory));
        let is_merged = std::fs::symlink_metadata(root.join(directory)).is_ok_and(|found| found.is_symlink());
        let pairs = [(&outside, &inside), (&inside, &outside)];
        let others = pairs.iter().filter_map(|(from, to)| Some(to.join(path.strip_prefix(from).ok()?)));
        names.extend(others.filter(|_| is_merged));
    }
    names
}

/// The lines `PACKAGE: PATH` of all names that dpkg knows.
fn packages_of(root: &Path, names: &[&PathBuf]) -> Result<Vec<u8>, PackageError> {
    let mut command = tool("dpkg-query", root);
    command.arg("--search").arg("--");
    for name in names {
        let mut pattern = Vec::new();
        for byte in name.as_os_str().as_bytes() {
            if b"*?[\\".contains(byte) {
                pattern.push(b'\\');
            }
            pattern.push(*byte);
        }
        command.arg(OsStr::from_bytes(&pattern));
    }
    let output = run("dpkg-query", &mut command)?;
    match output.status.code() {
        // 1: some of them are in no package.
        Some(0 | 1) => Ok(output.stdout),
        _ => Err(failed("dpkg-query", &output)),
    }
}

/// The first package of the line `PACKAGE, PACKAGE: PATH`. The lines `local diversion from: PATH` name none.
fn package_in(answer: &[u8], path: &Path) -> Option<String> {
    let packages = answer.split(|byte| *byte == b'\n').find_map(|line| {
        let packages = line.strip_suffix(path.as_os_str().as_bytes())?.strip_suffix(b": ")?;
        let is_diversion = packages.starts_with(b"diversion by ") || packages.starts_with(b"local diversion ");
        (!is_diversion).then_some(packages)
    })?;
    let first = packages.split(|byte| *byte == b',').next()?;
    Some(String::from_utf8_lossy(first).into_owned())
}

/// The versions of packages by their names, as asked for, without those whose files are gone.
fn versions_of(root: &Path, packages: &[&str]) -> Result<HashMap<String, String>, PackageError> {
    let mut command = tool("dpkg-query", root);
    command.args(["--show", "--showformat=${Package}\t${binary:Package}\t${Architecture}\t${Version}\n", "--"]);
    let output = run("dpkg-query", command.args(packages))?;
    if !matches!(output.status.code(), Some(0 | 1)) {
        return Err(failed("dpkg-query", &output));
    }
    let mut versions = HashMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let mut fields = line.split('\t');
        let [Some(name), Some(full), Some(architecture), Some(version)] = std::array::from_fn(|_| fields.next()) else {
            continue;
        };
        if !version.is_empty() {
            // A package that is installed for several architectures is named with its own.
            for name in [full.to_owned(), format!("{name}:{architecture}"), name.to_owned()] {
                versions.entry(name).or_insert_with(|| version.to_owned());
            }
        }
    }
    Ok(versions)
}

/// Where the package's file goes: another path than `path` if that is diverted.
pub(crate) fn true_name(root: &Path, path: &Path) -> Result<PathBuf, PackageError> {
    let mut output = run("dpkg-divert", tool("dpkg-divert", root).arg("--truename").arg(path))?;
    if !output.status.success() {
        return Err(failed("dpkg-divert", &output));
    }
    if output.stdout.last() == Some(&b'\n') {
        output.stdout.pop();
    }
    Ok(PathBuf::from(OsString::from_vec(output.stdout)))
}

/// Tells dpkg that its files for `path` go to `to`. Moves nothing.
pub(crate) fn divert(root: &Path, path: &Path, to: &Path) -> Result<(), PackageError> {
    change_diversion(root, path, to, "--add")
}

/// Takes that back. Moves nothing.
pub(crate) fn remove_diversion(root: &Path, path: &Path, to: &Path) -> Result<(), PackageError> {
    change_diversion(root, path, to, "--remove")
}

fn change_diversion(root: &Path, path: &Path, to: &Path, action: &str) -> Result<(), PackageError> {
    let mut command = tool("dpkg-divert", root);
    command.args(["--quiet", "--local", "--no-rename", "--divert"]).arg(to).arg(action).arg(path);
    let output = run("dpkg-divert", &mut command)?;
    if output.status.success() { Ok(()) } else { Err(failed("dpkg-divert", &output)) }
}

/// dpkg's lock, until it is dropped: no package is unpacked meanwhile.
#[derive(Debug)]
pub(crate) struct Lock {
    _files: Vec<File>,
}

impl Lock {
    /// Takes it, in dpkg's order. Does not wait.
    pub(crate) fn take(root: &Path) -> Result<Self, PackageError> {
        let mut files = Vec::new();
        for name in ["lock-frontend", "lock"] {
            let path = root.join(DATABASE).join(name);
            let opened = File::options().write(true).create(true).truncate(false).open(&path);
            let file = opened.map_err(PackageError::io("lock", &path))?;
            fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|_| PackageError::Locked(path))?;
            files.push(file);
        }
        Ok(Self { _files: files })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_is_told_from_diversions() {
        let path = Path::new("/usr/lib/a: b.so");
        let answer = b"local diversion from: /usr/lib/a: b.so\nlocal diversion to: /usr/lib/.a\nliba:amd64, liba:i386: /usr/lib/a: b.so\n";
        assert_eq!(package_in(answer, path).as_deref(), Some("liba:amd64"));
        assert_eq!(package_in(b"local diversion from: /usr/lib/a: b.so\n", path), None);
        assert_eq!(package_in(b"x: /usr/lib/a: b.so.1\n", path), None);
    }
}
