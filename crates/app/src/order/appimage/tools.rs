//! The programs of squashfs-tools: they read and write the image.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::anyhow;
use coldstart_host::process::ProcessFiles;
use coldstart_launch::Interrupt;
use coldstart_sys::ends_with_us::end_with_us;
use rustix::process::geteuid;

use super::file::Superblock;
use crate::error::{AppError, HintExt};
use crate::text::harmless;

/// A name of an open file for the programs that are started here.
pub(super) fn name_for_others(file: &File) -> PathBuf {
    ProcessFiles::of(std::process::id()).at(format!("fd/{}", file.as_raw_fd()))
}

/// Extracts an image.
///
/// # Errors
/// If unsquashfs is missing or fails.
pub(super) fn extract(image: &Path, offset: usize, tree: &Path, interrupt: &Interrupt) -> Result<(), AppError> {
    let offset = offset.to_string();
    let words = ["-strict-errors", "-no-progress", "-quiet", "-o", &offset, "-d"].map(OsStr::new);
    run("unsquashfs", words.into_iter().chain([tree.as_os_str(), image.as_os_str()]), interrupt).map(drop)
}

/// Lists an image: a line for each name, with kind, mode, owner, size of files, and time, sorted.
///
/// # Errors
/// As of [`extract`].
pub(super) fn list(image: &Path, offset: usize, interrupt: &Interrupt) -> Result<Vec<Vec<u8>>, AppError> {
    let offset = offset.to_string();
    let words = ["-no-progress", "-UTC", "-lln", "-o", &offset, "-d", ""].map(OsStr::new);
    let output = run("unsquashfs", words.into_iter().chain([image.as_os_str()]), interrupt)?;
    let mut lines: Vec<Vec<u8>> = output.stdout.split(|byte| *byte == b'\n').map(without_directory_size).collect();
    lines.sort_unstable();
    Ok(lines)
}

/// A line without the size of a directory, which depends on where its entries' inodes lie.
fn without_directory_size(line: &[u8]) -> Vec<u8> {
    if !line.starts_with(b"d") {
        return line.to_vec();
    }
    let mut words = line.splitn(3, |byte| *byte == b' ');
    let (mode, owner) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let behind = words.next().unwrap_or_default().trim_ascii_start();
    let dated = behind.iter().position(|byte| *byte == b' ').and_then(|at| behind.get(at..)).unwrap_or_default();
    [mode, b" ", owner, dated].concat()
}

/// Makes an image in the order of a list.
///
/// # Errors
/// If mksquashfs is missing or fails.
pub(super) fn make(
    tree: &Path,
    image: &Path,
    order: &Path,
    superblock: &Superblock,
    owner: Option<(&str, &str)>,
    interrupt: &Interrupt,
) -> Result<(), AppError> {
    let mut words: Vec<OsString> = vec![tree.into(), image.into(), "-sort".into(), order.into()];
    words.extend(["-noappend", "-no-progress", "-quiet", "-comp", superblock.compression].map(OsString::from));
    words.extend(["-b".into(), superblock.block_size.to_string().into()]);
    words.extend(["-mkfs-time".into(), superblock.made_at.to_string().into()]);
    words.extend(superblock.options().into_iter().map(OsString::from));
    if let Some((user, group)) = owner {
        words.extend(["-force-uid", user, "-force-gid", group].map(OsString::from));
    }
    run("mksquashfs", words.iter().map(OsString::as_os_str), interrupt).map(drop)
}

fn run<'word>(
    program: &str,
    words: impl Iterator<Item = &'word OsStr>,
    interrupt: &Interrupt,
) -> Result<Output, AppError> {
    let mut command = Command::new(program);
    // mksquashfs takes no time of its own beside that of the environment.
    command.args(words).env_remove("SOURCE_DATE_EPOCH").env("LC_ALL", "C").stdin(Stdio::null());
    let output = match end_with_us(&mut command).output() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(anyhow!("`{program}` is not installed"))
                .hint(|| "install squashfs-tools 4.5 or later (Debian: `apt install squashfs-tools`)");
        }
        output => output?,
    };
    if interrupt.signal().is_some() {
        return Err(AppError::new("interrupted"));
    }
    if output.status.success() {
        return Ok(output);
    }
    let said = if output.stderr.trim_ascii().is_empty() { &output.stdout } else { &output.stderr };
    let last = said.trim_ascii().rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let failed = anyhow!("{program} failed ({}): {}", output.status, harmless(last));
    match geteuid().is_root() {
        true => Err(failed).hint(|| "make room in $TMPDIR for the image's files, twice"),
        false => Err(failed).hint(|| {
            "make room in $TMPDIR for the image's files, twice; an image with devices or with attributes other than `user.` needs root"
        }),
    }
}
