//! rpm and pacman: recognised, so that their files are not replaced behind their back.
//!
//! pacman's database is text with a documented form; rpm's is not, so rpm itself is asked where it is installed.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
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

fn pacman(root: &Path, path: &Path) -> Result<Option<Owner>, PackageError> {
    let database = root.join(PACMAN_DATABASE);
    let Ok(packages) = std::fs::read_dir(&database) else { return Ok(None) };
    let wanted = path.strip_prefix("/").unwrap_or(path).as_os_str().as_bytes();
    for package in packages {
        let package = package.map_err(PackageError::io("list", &database))?.path();
        let Ok(files) = std::fs::read(package.join("files")) else { continue };
        if section(&files, b"%FILES%").any(|file| file == wanted) {
            let description = std::fs::read(package.join("desc")).unwrap_or_default();
            let first = |name: &[u8]| {
                let line = section(&description, name).next().unwrap_or(b"unknown");
                String::from_utf8_lossy(line).into_owned()
            };
            return Ok(Some(Owner { package: first(b"%NAME%"), version: first(b"%VERSION%") }));
        }
    }
    Ok(None)
}

/// The lines below a heading, up to the empty line.
fn section<'t>(text: &'t [u8], heading: &'t [u8]) -> impl Iterator<Item = &'t [u8]> {
    let lines = text.split(|byte| *byte == b'\n').skip_while(move |line| *line != heading);
    lines.skip(1).take_while(|line| !line.is_empty())
}

fn rpm(root: &Path, path: &Path) -> Ownership {
    let mut command = Command::new("rpm");
    command.arg("--root").arg(std::path::absolute(root).unwrap_or_else(|_| root.to_owned()));
    command.args(["-q", "--qf", "%{NAME} %{EPOCHNUM}:%{VERSION}-%{RELEASE}\\n", "-f"]).arg(path);
    let Ok(output) = command.env("LC_ALL", "C").stdin(Stdio::null()).output() else { return Ownership::Rpm(None) };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    match text.lines().next().and_then(|line| line.split_once(' ')).filter(|_| output.status.success()) {
        Some((package, version)) => {
            let version = version.strip_prefix("0:").unwrap_or(version);
            Ownership::Rpm(Some(Owner { package: package.to_owned(), version: version.to_owned() }))
        }
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
