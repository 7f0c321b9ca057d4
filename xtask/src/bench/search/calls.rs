//! The system calls of a start: all, failed ones, and failed probes for libraries.
//!
//! `strace -c` counts; a second start with `-e trace=%file` names the files. Both are starts of their own, so a program
//! that talks to others may make a few calls more in one than in the other.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use fs_err as fs;
use serde::{Deserialize, Serialize};

use super::super::runner::{shown, words};
use super::super::workshop::{Workshop, text};
use super::start::Start;

/// So many paths are kept of those looked for in vain; the number is of all.
const EXAMPLES: usize = 20;

/// The system calls of one start, its children's included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Calls {
    pub(super) total: u64,
    pub(super) failed: u64,
    /// Libraries that were looked for in directories where they are not, the farm's left out.
    pub(super) failed_library_probes: u64,
    /// The same in the farm and its subdirectories for processors.
    pub(super) failed_farm_probes: u64,
    /// The first of the failed library probes outside the farm.
    pub(super) examples: Vec<String>,
}

/// Counts the calls of a start. `farm` is where a bound program's links lie.
///
/// # Errors
/// When strace fails or the program does.
pub(super) fn count(workshop: &Workshop, start: &Start, farm: Option<&Path>) -> Result<Calls> {
    let (total, failed) = totals(&traced(workshop, start, &["-c"])?).context("strace -c printed no total")?;
    let names = traced(workshop, start, &["-qq", "-s", "4096", "-e", "trace=%file"])?;
    let mut calls = Calls { total, failed, ..Calls::default() };
    for path in missing_libraries(&names) {
        if farm.is_some_and(|farm| path.starts_with(farm)) {
            calls.failed_farm_probes += 1;
        } else {
            calls.failed_library_probes += 1;
            if calls.examples.len() < EXAMPLES {
                calls.examples.push(text(&path));
            }
        }
    }
    Ok(calls)
}

/// How many subdirectories for processors the loader tries in a directory that it sees for the first time: it hangs on the
/// processor and on glibc's release. `directory` must be the first on the search path.
///
/// # Errors
/// When strace fails or the program does.
pub(super) fn processor_directories(workshop: &Workshop, start: &Start, directory: &Path) -> Result<usize> {
    let names = traced(workshop, start, &["-qq", "-s", "4096", "-e", "trace=%file"])?;
    let parents: BTreeSet<PathBuf> =
        missing_libraries(&names).iter().filter_map(|path| path.parent()).map(Path::to_owned).collect();
    Ok(parents.iter().filter(|parent| parent.starts_with(directory) && *parent != directory).count())
}

fn traced(workshop: &Workshop, start: &Start, options: &[&str]) -> Result<String> {
    let output = workshop.directory.join("strace.out");
    let mut command = words(["strace", "-f"]);
    command.extend(options.iter().map(|&option| option.to_owned()));
    command.extend(["-o".to_owned(), text(&output)]);
    // Set by strace itself: `env` between would be counted.
    command.push("--".to_owned());
    command.extend(start.command());
    let said = workshop.runner.said(&command)?;
    ensure!(said.status.success(), "`{}` ended with {}: {}", shown(&command), said.status, said.stderr.trim());
    let printed = String::from_utf8_lossy(&fs::read(&output)?).into_owned();
    fs::remove_file(&output)?;
    Ok(printed)
}

/// Calls and failed calls, of the last line of `strace -c`: percent, seconds, microseconds a call, calls, errors, `total`.
/// Without a single error that column is empty.
fn totals(printed: &str) -> Option<(u64, u64)> {
    let line = printed.lines().rev().find(|line| line.split_whitespace().last() == Some("total"))?;
    let fields: Vec<&str> = line.split_whitespace().collect();
    let errors = if fields.len() >= 6 { fields.get(4)?.parse().ok()? } else { 0 };
    Some((fields.get(3)?.parse().ok()?, errors))
}

/// The paths of libraries whose opening failed because they are not there, in order.
fn missing_libraries(printed: &str) -> Vec<PathBuf> {
    let lines = printed.lines().filter(|line| line.contains("open") && line.contains(") = -1 ENOENT"));
    let paths = lines.filter_map(|line| line.split('"').nth(1)).map(PathBuf::from);
    paths.filter(|path| path.file_name().and_then(|name| name.to_str()).is_some_and(is_library)).collect()
}

/// Whether a file's name is a library's: `libz.so`, `libz.so.1`; not `ld.so.preload` and `ld.so.cache`.
pub(super) fn is_library(name: &str) -> bool {
    let version =
        |rest: &str| rest.is_empty() || rest.strip_prefix('.').is_some_and(|rest| rest.starts_with(char::is_numeric));
    name.match_indices(".so").any(|(at, suffix)| at > 0 && name.get(at + suffix.len()..).is_some_and(version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_read_with_and_without_errors() {
        let head = "% time     seconds  usecs/call     calls    errors syscall\n";
        let with = format!(
            "{head} 97.00    0.1    5     11     7 openat\n100.00    0.008172           0     15738     14326 total\n"
        );
        assert_eq!(totals(&with), Some((15_738, 14_326)));
        let without = format!("{head}100.00    0.008172           0        51           total\n");
        assert_eq!(totals(&without), Some((51, 0)));
        assert_eq!(totals("strace: exec: No such file\n"), None);
    }

    #[test]
    fn only_libraries_that_are_missing_are_listed() {
        let printed = "\
7 execve(\"/w/program\", [\"/w/program\"], 0x7ffd /* 3 vars */) = 0
7 access(\"/etc/ld.so.preload\", R_OK) = -1 ENOENT (No such file or directory)
7 openat(AT_FDCWD, \"/w/glibc-hwcaps/x86-64-v3/libz.so.1\", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
7 newfstatat(AT_FDCWD, \"/w/glibc-hwcaps/x86-64-v3\", 0x7ffd, 0) = -1 ENOENT (No such file or directory)
7 openat(AT_FDCWD, \"/w/libz.so.1\", O_RDONLY|O_CLOEXEC) = 3
7 openat(AT_FDCWD, \"/etc/ld.so.cache\", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
7 openat(AT_FDCWD, \"/usr/share/locale/C.mo\", O_RDONLY) = -1 ENOENT (No such file or directory)
7 openat(AT_FDCWD, \"/a/libpixbufloader-svg.so\", O_RDONLY) = -1 ENOENT (No such file or directory)
";
        let paths: Vec<String> = missing_libraries(printed).iter().map(|path| text(path)).collect();
        assert_eq!(paths, ["/w/glibc-hwcaps/x86-64-v3/libz.so.1", "/a/libpixbufloader-svg.so"]);
    }

    #[test]
    fn libraries_are_told_by_their_names() {
        assert!(["libz.so", "libz.so.1", "libfoo-1.0.so.0.1", "libm.so.6"].into_iter().all(is_library));
        assert!(!["ld.so.cache", "ld.so.preload", ".so", "libz.socket", "a.c"].into_iter().any(is_library));
    }
}
