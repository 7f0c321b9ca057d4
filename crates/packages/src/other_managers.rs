//! rpm and pacman: recognised, so that their files are not replaced behind their back.
//!
//! pacman's database is text with a documented form; rpm's is not, so rpm itself is asked where it is installed.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::PackageError;
use crate::owner::{Owner, Ownership, inside};

/// Where rpm's database is, by its age and distribution.
const RPM_DATABASES: &[&str] = &[
    "var/lib/rpm/rpmdb.sqlite",
    "var/lib/rpm/Packages",
    "var/lib/rpm/Packages.db",
    "usr/lib/sysimage/rpm/rpmdb.sqlite",
    "usr/lib/sysimage/rpm/Packages.db",
];
/// Directories of rpm and pacman that change with every upgrade.
pub(crate) const CHANGING: &[&str] = &["var/lib/rpm", "usr/lib/sysimage/rpm", PACMAN_DATABASE];
/// A directory for each package.
const PACMAN_DATABASE: &str = "var/lib/pacman/local";

pub(crate) fn owner_of(root: &Path, path: &Path) -> Result<Ownership, PackageError> {
    if let Some(owner) = pacman(root, path)? {
        return Ok(Ownership::Pacman(owner));
    }
    match RPM_DATABASES.iter().any(|database| root.join(database).exists()) {
        true => Ok(rpm(root, path)),
        false => Ok(Ownership::None),
    }
}

/// The owners of files, by one reading of pacman's database and one question to rpm.
pub(crate) fn owners_of(root: &Path, paths: &[&Path]) -> Result<HashMap<PathBuf, Owner>, PackageError> {
    if paths.is_empty() {
        return Ok(HashMap::new());
    }
    let mut owners = HashMap::new();
    for package in pacman_packages(root)? {
        let Ok(files) = std::fs::read(package.join("files")) else { continue };
        let files: HashSet<&[u8]> = section(&files, b"%FILES%").collect();
        let owned = paths.iter().filter(|path| files.contains(inside_bytes(path)));
        let mut owned = owned.peekable();
        if owned.peek().is_some() {
            let owner = pacman_owner(&package);
            owners.extend(owned.map(|path| ((*path).to_owned(), owner.clone())));
        }
    }
    if RPM_DATABASES.iter().any(|database| root.join(database).exists()) {
        owners.extend(rpm_owners(root, paths));
    }
    Ok(owners)
}

/// The versions of packages; of pacman those of all, of rpm those that are asked for.
pub(crate) fn versions_of(root: &Path, packages: &[&str]) -> Result<HashMap<String, String>, PackageError> {
    let pacman = pacman_packages(root)?.into_iter().map(|package| pacman_owner(&package));
    let mut versions: HashMap<String, String> = pacman.map(|owner| (owner.package, owner.version)).collect();
    if !packages.is_empty() && RPM_DATABASES.iter().any(|database| root.join(database).exists()) {
        let mut command = rpm_query(root);
        let answers = command.arg("--").args(packages).output().map(|output| output.stdout).unwrap_or_default();
        // "package x is not installed" has more words than an answer, and no `:`.
        let owners = String::from_utf8_lossy(&answers).lines().filter_map(rpm_owner).collect::<Vec<_>>();
        versions.extend(owners.into_iter().map(|owner| (owner.package, owner.version)));
    }
    Ok(versions)
}

fn inside_bytes(path: &Path) -> &[u8] {
    path.strip_prefix("/").unwrap_or(path).as_os_str().as_bytes()
}

/// The directories of pacman's packages.
fn pacman_packages(root: &Path) -> Result<Vec<PathBuf>, PackageError> {
    let database = root.join(PACMAN_DATABASE);
    let Ok(packages) = std::fs::read_dir(&database) else { return Ok(Vec::new()) };
    packages.map(|package| Ok(package.map_err(PackageError::io("list", &database))?.path())).collect()
}

fn pacman_owner(package: &Path) -> Owner {
    let description = std::fs::read(package.join("desc")).unwrap_or_default();
    let first = |name: &[u8]| {
        let line = section(&description, name).next().unwrap_or(b"unknown");
        String::from_utf8_lossy(line).into_owned()
    };
    Owner { package: first(b"%NAME%"), version: first(b"%VERSION%") }
}

fn pacman(root: &Path, path: &Path) -> Result<Option<Owner>, PackageError> {
    Ok(pacman_packages(root)?.into_iter().find_map(|package| {
        let files = std::fs::read(package.join("files")).ok()?;
        section(&files, b"%FILES%").any(|file| file == inside_bytes(path)).then(|| pacman_owner(&package))
    }))
}

/// The lines below a heading, up to the empty line.
fn section<'t>(text: &'t [u8], heading: &'t [u8]) -> impl Iterator<Item = &'t [u8]> {
    let lines = text.split(|byte| *byte == b'\n').skip_while(move |line| *line != heading);
    lines.skip(1).take_while(|line| !line.is_empty())
}

/// A question to rpm, which answers by a line for each package: `NAME EPOCH:VERSION-RELEASE`.
fn rpm_query(root: &Path) -> Command {
    let mut command = Command::new("rpm");
    command.arg("--root").arg(std::path::absolute(root).unwrap_or_else(|_| root.to_owned()));
    command.args(["-q", "--qf", "%{NAME} %{EPOCHNUM}:%{VERSION}-%{RELEASE}\\n"]);
    command.env("LC_ALL", "C").stdin(Stdio::null());
    command
}

/// The package of a line; `None` for a message.
fn rpm_owner(line: &str) -> Option<Owner> {
    let (package, version) =
        line.split_once(' ').filter(|(_, version)| version.contains(':') && !version.contains(' '))?;
    let version = version.strip_prefix("0:").unwrap_or(version);
    Some(Owner { package: package.to_owned(), version: version.to_owned() })
}

/// The owners of these files. rpm answers in the order of the files; several packages of one file would disturb it, so such an
/// answer is dropped as a whole.
fn rpm_owners(root: &Path, paths: &[&Path]) -> HashMap<PathBuf, Owner> {
    let asked: Vec<&&Path> = paths.iter().filter(|path| !breaks_lines(path.as_os_str())).collect();
    let output = rpm_query(root).arg("-f").arg("--").args(&asked).output().map(|output| output.stdout);
    let text = String::from_utf8_lossy(&output.unwrap_or_default()).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() != asked.len() {
        return HashMap::new();
    }
    let pairs = asked.into_iter().zip(lines);
    pairs.filter_map(|(path, line)| Some(((*path).to_owned(), rpm_owner(line)?))).collect()
}

fn rpm(root: &Path, path: &Path) -> Ownership {
    let Ok(output) = rpm_query(root).arg("-f").arg(path).output() else { return Ownership::Rpm(None) };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    match text.lines().next().and_then(rpm_owner).filter(|_| output.status.success()) {
        Some(owner) => Ownership::Rpm(Some(owner)),
        // It answers "is not owned by any package" with 1, as it does for a database that it cannot read.
        None if text.contains("is not owned by any package") => Ownership::None,
        None => Ownership::Rpm(None),
    }
}

/// The refusal for a file of rpm or pacman.
pub(crate) fn refusal(root: &Path, path: &Path, ownership: &Ownership) -> Option<PackageError> {
    let refused = |manager, owner: Option<&Owner>| {
        let owner = owner.map_or_else(|| format!("a system of {manager}"), |owner| format!("package {owner}"));
        Some(PackageError::Manager { path: inside(root, path), manager, owner })
    };
    match ownership {
        Ownership::Rpm(owner) => refused("rpm", owner.as_ref()),
        Ownership::Pacman(owner) => refused("pacman", Some(owner)),
        Ownership::Dpkg { .. } | Ownership::None => None,
    }
}

/// Whether a path has a byte that would end a line of a database.
pub(crate) fn breaks_lines(path: &OsStr) -> bool {
    path.as_bytes().contains(&b'\n')
}
