//! Which processes keep a mount or a device in use, and how.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use coldstart_host::block_device::DeviceNumber;
use coldstart_host::mounts::Mounts;
use coldstart_host::process::{ProcessFiles, numbers};
use fs_err as fs;

use super::process::ProcessIdentity;

/// A process and what of it is in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) process: ProcessIdentity,
    name: String,
    /// `cwd /mnt/root`, for instance.
    how: String,
}

impl fmt::Display for User {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "process {} ({}): {}", self.process.pid, self.name, self.how)
    }
}

/// The processes with their root, current directory, program, a mapped or an open file at or below `mount_point`.
pub(crate) fn of_mount(mount_point: &Path) -> Result<Vec<User>> {
    users(|process| {
        let links = ["root", "cwd", "exe"].map(|link| process.join(link)).into_iter();
        let mut links = links.chain(entries(&process.join("fd"))).chain(entries(&process.join("map_files")));
        links.find_map(|link| {
            let target = fs::read_link(&link).ok()?;
            let what = link.strip_prefix(process).ok()?;
            target.starts_with(mount_point).then(|| format!("{} {}", what.display(), target.display()))
        })
    })
}

/// The processes in other mount namespaces that have the file system on `device` mounted, and those with it open.
pub(crate) fn of_device(device: &Path) -> Result<Vec<User>> {
    let number = super::loop_device::sysfs(device)?.join("dev");
    let number = DeviceNumber::parse(fs::read(&number)?.trim_ascii()).context("its number is odd")?;
    let own = ProcessFiles::own().namespace("mnt")?;
    users(|process| {
        if let Some(link) = entries(&process.join("fd")).find(|link| fs::read_link(link).is_ok_and(|to| to == device)) {
            return Some(format!("{} {}", link.strip_prefix(process).ok()?.display(), device.display()));
        }
        if fs::read_link(process.join("ns/mnt")).ok()? == own {
            return None;
        }
        let mountinfo = fs::read(process.join("mountinfo")).ok()?;
        let mounts = Mounts::parse(&mountinfo);
        let mount = mounts.all().iter().find(|mount| mount.device == number)?;
        Some(format!("mounted at {} in a mount namespace of its own", mount.place.display()))
    })
}

fn users(how: impl Fn(&Path) -> Option<String>) -> Result<Vec<User>> {
    let mut users = Vec::new();
    let own = std::process::id();
    for number in numbers()?.into_iter().filter(|number| *number != own) {
        let process = ProcessFiles::of(number);
        let identity = ProcessIdentity::of(number.cast_signed());
        let (Some(how), Some(identity)) = (how(process.directory()), identity) else { continue };
        let name = process.name().to_string_lossy().trim().to_owned();
        users.push(User { process: identity, name, how });
    }
    Ok(users)
}

/// The entries of a directory of /proc; none when the process is gone or not ours to see.
fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(directory).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_process_in_a_directory_is_found_by_its_current_directory() {
        let directory = tempfile::tempdir().unwrap();
        let mut child =
            Command::new("sleep").arg("60").current_dir(directory.path()).stdin(Stdio::null()).spawn().unwrap();
        let users = of_mount(&fs::canonicalize(directory.path()).unwrap()).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(users.len(), 1);
        assert_eq!(users[0].process.pid, child.id().cast_signed());
        assert!(users[0].to_string().contains("(sleep): cwd "), "{}", users[0]);
    }
}
