//! A start under strace: how it ends, which files all of its processes map as code, which libraries they try in vain.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use fs_err as fs;

use super::super::ground::Ground;
use super::super::process::{said, without_addresses};

/// What was seen.
pub(super) struct Watched {
    said: String,
    mapped: BTreeSet<String>,
    /// Paths of libraries that were not there.
    pub(super) tried: Vec<String>,
}

/// Starts a program as `prepare` wants it.
///
/// # Errors
/// When it cannot be started or watched.
pub(super) fn watch(ground: &Ground, program: &Path, prepare: impl FnOnce(&mut Command)) -> Result<Watched> {
    let log = ground.directory.join("strace.log");
    let mut command = ground.command("strace");
    command
        // Paths of descriptors are those of the files, links followed.
        .args(["--follow-forks", "--decode-fds=path", "--quiet=all", "--trace=mmap,open,openat", "--string-limit=4096"])
        .arg("--output")
        .arg(&log)
        .arg("--")
        .arg(program);
    prepare(&mut command);
    let said = said(&mut command)?;
    let calls = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
    let mapped: BTreeSet<String> = calls.lines().filter_map(mapped_as_code).map(str::to_owned).collect();
    ensure!(!mapped.is_empty(), "strace saw nothing: {said}");
    Ok(Watched { said, mapped, tried: calls.lines().filter_map(tried_in_vain).map(str::to_owned).collect() })
}

impl Watched {
    /// How it ended and what it said, with `names` replaced: those are not the same on both sides.
    pub(super) fn said(&self, names: &[String]) -> String {
        let lines = self.said.lines().filter(|line| !is_logged(line));
        replaced(&without_addresses(&lines.collect::<Vec<_>>().join("\n")), names)
    }

    /// What was mapped, a line each.
    pub(super) fn mapped(&self, names: &[String]) -> String {
        // By the new names: the old ones would not come in one order on both sides.
        let mapped: BTreeSet<String> = self.mapped.iter().map(|path| replaced(path, names)).collect();
        mapped.into_iter().collect::<Vec<_>>().join("\n")
    }

    pub(super) fn tried(&self, names: &[String]) -> BTreeSet<String> {
        self.tried.iter().map(|path| replaced(path, names)).collect()
    }
}

/// Whether a line has the time and the process's number in it, as GLib's and Chromium's warnings do.
fn is_logged(line: &str) -> bool {
    line.contains("WARNING **") || (line.starts_with('[') && (line.contains(":ERROR:") || line.contains(":WARNING:")))
}

fn replaced(text: &str, names: &[String]) -> String {
    names.iter().fold(text.to_owned(), |text, name| text.replace(name, "[SIDE]"))
}

/// `4711 mmap(NULL, 8192, PROT_READ|PROT_EXEC, MAP_PRIVATE, 3</usr/lib/liba.so>, 0) = 0x7f...`
fn mapped_as_code(call: &str) -> Option<&str> {
    let (_, arguments) = call.split_once(" mmap(")?;
    let (_, path) = arguments.split_once('<').filter(|(before, _)| before.contains("PROT_EXEC"))?;
    path.split_once('>').map(|(path, _)| path).filter(|path| path.starts_with('/'))
}

/// `4711 openat(AT_FDCWD</home>, "/usr/lib/liba.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)`
fn tried_in_vain(call: &str) -> Option<&str> {
    let (call, _) = call.split_once("= -1 ENOENT").filter(|(call, _)| call.contains(" open"))?;
    let path = call.split('"').nth(1)?;
    let name = path.rsplit('/').next()?;
    ((name.ends_with(".so") || name.contains(".so.")) && !name.starts_with("ld.so.")).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_read() {
        let map = "7 mmap(NULL, 8, PROT_READ|PROT_EXEC, MAP_PRIVATE, 3</lib/liba.so>, 0) = 0x7f";
        assert_eq!(mapped_as_code(map), Some("/lib/liba.so"));
        assert_eq!(mapped_as_code("7 mmap(NULL, 8, PROT_READ, MAP_PRIVATE, 3</lib/liba.so>, 0) = 0x7f"), None);
        assert_eq!(mapped_as_code("7 mmap(NULL, 8, PROT_EXEC, MAP_ANONYMOUS, -1, 0) = 0x7f"), None);
        let open = |path: &str, end: &str| format!("7 openat(AT_FDCWD</>, \"{path}\", O_RDONLY) = {end}");
        let gone = "-1 ENOENT (No such file or directory)";
        assert_eq!(tried_in_vain(&open("/lib/liba.so.1", gone)), Some("/lib/liba.so.1"));
        assert_eq!(tried_in_vain(&open("/lib/liba.so.1", "3</lib/liba.so.1>")), None);
        assert_eq!(tried_in_vain(&open("/etc/ld.so.preload", gone)), None);
        assert_eq!(tried_in_vain(&open("/etc/a.conf", gone)), None);
    }
}
