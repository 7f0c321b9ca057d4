//! The mark on a file with a temporary name: an extended attribute that identifies the writing process.
//!
//! A name alone proves nothing: `.lib.so.coldstart-backup` may be a user's backup. The mark contains the process's PID, its
//! start time and the boot ID, so that a later run can tell whether that process has ended: `PID START BOOT`, with `-` for
//! unknown values (without `/proc`). It is removed when the file has its final name.

use std::fs::File;
use std::io;

use coldstart_host::kernel::BootId;
use coldstart_host::process::ProcessFiles;
use rustix::fs::{Mode, XattrFlags, fchmod, fgetxattr, fremovexattr, fsetxattr, fstat};
use rustix::io::Errno;
use rustix::process::{Pid, geteuid, getpid, test_kill_process};

/// The attribute's name.
pub const MARK: &str = "user.coldstart.staged";
/// The longest mark, in bytes: two numbers of 64 bits and a UUID are shorter.
const LONGEST: usize = 128;

/// Which process writes a file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Writer {
    process: i32,
    /// Its start time, in ticks since boot (field 22 of proc_pid_stat(5)).
    started: Option<String>,
    /// The boot ID, as the kernel writes it.
    boot: Option<String>,
}

/// Marks a file as written by this process.
///
/// # Errors
/// The kernel's error: the file system has no such attributes, or the mode forbids it.
pub(crate) fn mark(file: &File) -> io::Result<()> {
    Ok(fsetxattr(file, MARK, Writer::this().to_text().as_bytes(), XattrFlags::empty())?)
}

/// Removes the mark, also from a file that its owner may not write to.
///
/// # Errors
/// The kernel's error.
pub(crate) fn unmark(file: &File) -> io::Result<()> {
    match fremovexattr(file, MARK) {
        Err(Errno::ACCESS | Errno::PERM) => {
            let mode = Mode::from_raw_mode(fstat(file)?.st_mode & 0o7777);
            fchmod(file, mode | Mode::WUSR)?;
            let removed = fremovexattr(file, MARK);
            fchmod(file, mode)?;
            Ok(removed?)
        }
        Err(Errno::NODATA) => Ok(()),
        result => Ok(result?),
    }
}

/// Whether the mark can be removed without a change of mode: `user.` attributes need write permission.
pub(crate) fn can_be_unmarked_later(file: &File) -> bool {
    geteuid().is_root() || fstat(file).is_ok_and(|found| found.st_mode & 0o200 != 0)
}

/// Whether a file carries the mark of a process that has ended.
///
/// # Errors
/// `Unsupported` where the file system has no attributes; any other error of the kernel.
pub(crate) fn is_abandoned(file: &File) -> io::Result<bool> {
    Ok(read(file)?.is_some_and(|writer| writer.is_gone()))
}

/// Whether a file carries a mark.
#[cfg(test)]
pub(crate) fn is_marked(file: &File) -> io::Result<bool> {
    Ok(read(file)?.is_some())
}

fn read(file: &File) -> io::Result<Option<Writer>> {
    let mut text = [0; LONGEST];
    match fgetxattr(file, MARK, &mut text) {
        Ok(length) => Ok(text.get(..length).and_then(|text| Writer::of_text(std::str::from_utf8(text).ok()?))),
        // A longer one is not ours.
        Err(Errno::NODATA | Errno::RANGE) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

impl Writer {
    fn this() -> Self {
        let process = getpid();
        Self { process: process.as_raw_nonzero().get(), started: start_of(&ProcessFiles::own()), boot: boot() }
    }

    fn to_text(&self) -> String {
        let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        format!("{} {} {}", self.process, or_none(&self.started), or_none(&self.boot))
    }

    fn of_text(text: &str) -> Option<Self> {
        let known = |text: &str| (text != "-").then(|| text.to_owned());
        let [process, started, boot] = text.split(' ').collect::<Vec<_>>().try_into().ok()?;
        let process = process.parse().ok().filter(|process| *process > 0)?;
        Some(Self { process, started: known(started), boot: known(boot) })
    }

    /// Whether it has ended; `false` if unknown.
    fn is_gone(&self) -> bool {
        let differ = |one: &Option<String>, other: &Option<String>| one.is_some() && other.is_some() && one != other;
        if differ(&self.boot, &boot()) {
            return true;
        }
        let Some(process) = Pid::from_raw(self.process) else { return false };
        match test_kill_process(process) {
            Err(Errno::SRCH) => true,
            // The PID may have been reused.
            _ => differ(&self.started, &start_of(&ProcessFiles::of(self.process.unsigned_abs()))),
        }
    }
}

fn boot() -> Option<String> {
    Some(BootId::here()?.to_string())
}

fn start_of(process: &ProcessFiles) -> Option<String> {
    Some(process.stat()?.started.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_runs_is_not_gone_and_one_with_its_number_only_is() {
        let this = Writer::this();
        assert_eq!(Writer::of_text(&this.to_text()), Some(this.clone()));
        assert!(!this.is_gone());
        assert!(Writer { started: Some("1".to_owned()), ..this.clone() }.is_gone());
        assert!(Writer { boot: Some("another".to_owned()), ..this.clone() }.is_gone());
        assert!(!Writer { started: None, boot: None, ..this.clone() }.is_gone());
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let ended = Writer { process: i32::try_from(child.id()).unwrap(), started: Some("1".to_owned()), boot: None };
        assert!(ended.is_gone());
        for other in ["", "1", "0 1 a", "-1 - -", "1 2 3 4", "x - -"] {
            assert_eq!(Writer::of_text(other), None, "{other}");
        }
    }
}
