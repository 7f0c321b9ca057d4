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
use rustix::process::{Flock, FlockType, fcntl_getlk};

use crate::error::PackageError;
use crate::other_managers::breaks_lines;
use crate::owner::Owner;

const DATABASE: &str = "var/lib/dpkg";
/// What is installed, in which version: written anew by every change.
pub(crate) const STATUS: &str = "var/lib/dpkg/status";
/// Bytes of paths in one command line; the kernel accepts 2 MiB by default.
const MOST_WORDS: usize = 512 << 10;
/// Directories that merged systems have as links into `/usr`.
const MERGED: &[&str] = &["bin", "sbin", "lib", "lib32", "lib64", "libx32"];

/// Whether the system at `root` is dpkg's.
fn exists(root: &Path) -> bool {
    root.join(STATUS).exists()
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

/// The directories that the system at `root` has as links into `/usr`.
pub(crate) fn merged(root: &Path) -> Vec<&'static str> {
    let is_link =
        |directory: &&str| std::fs::symlink_metadata(root.join(directory)).is_ok_and(|found| found.is_symlink());
    MERGED.iter().copied().filter(is_link).collect()
}

/// The names that a file may have in the database of a system with these merged directories, as given first: `/lib/x` for
/// `/usr/lib/x`, and the other way round.
pub(crate) fn names_of(merged: &[&str], path: &Path) -> Vec<PathBuf> {
    let mut names = vec![path.to_owned()];
    for directory in merged {
        let (outside, inside) = (Path::new("/").join(directory), Path::new("/usr").join(directory));
        let pairs = [(&outside, &inside), (&inside, &outside)];
        let others = pairs.iter().filter_map(|(from, to)| Some(to.join(path.strip_prefix(from).ok()?)));
        names.extend(others);
    }
    names
}

/// What dpkg answers about these paths: nothing about those of no package.
fn search(root: &Path, paths: &[&Path]) -> Result<Vec<u8>, PackageError> {
    let mut command = tool("dpkg-query", root);
    command.arg("--search").arg("--");
    for path in paths {
        let mut pattern = Vec::new();
        for byte in path.as_os_str().as_bytes() {
            if b"*?[\\".contains(byte) {
                pattern.push(b'\\');
            }
            pattern.push(*byte);
        }
        command.arg(OsString::from_vec(pattern));
    }
    let output = run("dpkg-query", &mut command)?;
    match output.status.code() {
        // 1: something was not found.
        Some(0 | 1) => Ok(output.stdout),
        _ => Err(failed("dpkg-query", &output)),
    }
}

/// The owners of files, each with the path under which dpkg knows the file, by one search for all of them.
pub(crate) fn owners_of(root: &Path, paths: &[&Path]) -> Result<HashMap<PathBuf, (Owner, PathBuf)>, PackageError> {
    if !exists(root) {
        return Ok(HashMap::new());
    }
    let mut names: Vec<(PathBuf, &Path)> = Vec::new();
    let merged = merged(root);
    for path in paths.iter().filter(|path| !breaks_lines(path.as_os_str())) {
        names.extend(names_of(&merged, path).into_iter().map(|name| (name, *path)));
    }
    let mut packages: HashMap<PathBuf, String> = HashMap::new();
    let mut rest: &[(PathBuf, &Path)] = &names;
    while !rest.is_empty() {
        let mut room = MOST_WORDS;
        let fits = rest.iter().take_while(|(name, _)| {
            let had = room;
            room = room.saturating_sub(name.as_os_str().len().saturating_mul(2));
            had > 0
        });
        let (now, later) = rest.split_at(fits.count());
        let asked: Vec<&Path> = now.iter().map(|(name, _)| name.as_path()).collect();
        packages.extend(search(root, &asked)?.split(|byte| *byte == b'\n').filter_map(owned));
        rest = later;
    }
    if packages.is_empty() {
        return Ok(HashMap::new());
    }
    let versions = versions(root)?;
    let mut owners = HashMap::new();
    for (name, path) in &names {
        let Some(package) = packages.get(name) else { continue };
        if let Some(version) = versions.get(package) {
            // The name as given counts first.
            owners
                .entry((*path).to_owned())
                .or_insert_with(|| (Owner { package: package.clone(), version: version.clone() }, name.clone()));
        }
    }
    Ok(owners)
}

/// The path of the line `PACKAGE, PACKAGE: PATH`, and its first package. Names of packages have no `:` before a `/`.
fn owned(line: &[u8]) -> Option<(PathBuf, String)> {
    let at = line.windows(3).position(|window| window == b": /")?;
    let path = line.get(at.saturating_add(2)..)?;
    let package = package_in(line, Path::new(OsStr::from_bytes(path)))?;
    Some((OsStr::from_bytes(path).into(), package))
}

/// The versions of all packages whose files are there.
pub(crate) fn versions(root: &Path) -> Result<HashMap<String, String>, PackageError> {
    if !exists(root) {
        return Ok(HashMap::new());
    }
    let mut command = tool("dpkg-query", root);
    let output = run(
        "dpkg-query",
        command.args(["--show", "--showformat=${binary:Package}\\t${Version}\\t${db:Status-Status}\\n"]),
    )?;
    match output.status.code() {
        // 1: no package at all.
        Some(0 | 1) => {}
        _ => return Err(failed("dpkg-query", &output)),
    }
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    let owners = lines.lines().filter_map(package_line);
    Ok(owners.map(|owner| (owner.package, owner.version)).collect())
}

/// Calls `each` with every file of every package, by the name that dpkg knows.
pub(crate) fn each_file(root: &Path, mut each: impl FnMut(&Path, &Owner)) -> Result<(), PackageError> {
    if !exists(root) {
        return Ok(());
    }
    let mut command = tool("dpkg-query", root);
    let fields = "--showformat=${binary:Package}\\t${Version}\\t${db:Status-Status}\\n${db-fsys:Files}";
    let output = run("dpkg-query", command.args(["--show", fields]))?;
    match output.status.code() {
        // 1: no package at all.
        Some(0 | 1) => {}
        _ => return Err(failed("dpkg-query", &output)),
    }
    let mut owner = None;
    for line in output.stdout.split(|byte| *byte == b'\n') {
        // Names of files stand behind a blank, names of packages do not.
        match (line.strip_prefix(b" "), &owner) {
            (Some(path), Some(owner)) => each(Path::new(OsStr::from_bytes(path)), owner),
            (Some(_), None) => {}
            (None, _) if line.is_empty() => {}
            (None, _) => owner = package_line(&String::from_utf8_lossy(line)),
        }
    }
    Ok(())
}

/// A package whose files are there, from the line `PACKAGE, VERSION, STATE` with tabs between.
fn package_line(line: &str) -> Option<Owner> {
    let [package, version, state] = line.split('\t').collect::<Vec<_>>().try_into().ok()?;
    // Removed, but not purged, it keeps its version.
    let is_there = !matches!(state, "config-files" | "not-installed") && !version.is_empty();
    is_there.then(|| Owner { package: package.to_owned(), version: version.to_owned() })
}

/// Whether another process holds the lock of dpkg's frontends. False where it cannot be looked at.
pub(crate) fn is_locked(root: &Path) -> bool {
    let Ok(file) = File::open(root.join(DATABASE).join(FRONTEND_LOCK)) else { return false };
    let wanted = Flock::from(FlockType::WriteLock);
    matches!(fcntl_getlk(&file, &wanted), Ok(Some(_)))
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

/// What apt and dpkg hold while they work.
const FRONTEND_LOCK: &str = "lock-frontend";

/// dpkg's lock, until it is dropped: no package is unpacked meanwhile.
#[derive(Debug)]
pub(crate) struct Lock {
    _files: Vec<File>,
}

impl Lock {
    /// Takes it, in dpkg's order. Does not wait.
    pub(crate) fn take(root: &Path) -> Result<Self, PackageError> {
        let mut files = Vec::new();
        for name in [FRONTEND_LOCK, "lock"] {
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
