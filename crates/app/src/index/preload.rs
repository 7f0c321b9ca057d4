//! The part of an index for any program: a preloaded library that knows absent names.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::{Context, anyhow};
use coldstart_elf::ElfFile;
use coldstart_index::log::Event;
use coldstart_index::preload::{PreloadIndex, empty_library, files, other_library};
use coldstart_index::{IndexPlace, Language, LanguageIndex};
use coldstart_launch::{CommandLine, find_program};
use coldstart_profile::printable;

use super::interpreter::{gets_rights, started};
use super::note_unknown;
use crate::error::{AppError, HintExt};
use crate::reading;

/// Writes what a recorded start needs.
pub(super) fn prepare(place: &IndexPlace) -> Result<(), AppError> {
    let library =
        empty_library().hint(|| "an index for any program can be made on x86-64, 64-bit ARM and 64-bit RISC-V")?;
    place.write(files::LIBRARY, &library)?;
    place.write(files::OTHER_MULTIARCH, other_library())?;
    let link = |from: &str, name: &str| {
        let path = place.directory().join(name);
        let parent = path.parent().unwrap_or(&path);
        fs::create_dir_all(parent).and_then(|()| symlink(from, &path)).context("cannot make a link in the index")
    };
    link(files::FROM_BELOW, files::MULTIARCH)?;
    // A link there means that both are the same.
    let is_separate = fs::symlink_metadata("/usr/lib64").is_ok_and(|found| found.is_dir());
    match is_separate && Path::new("/usr/lib64/libc.so.6").exists() {
        true => place.write(files::LIB, other_library())?,
        false => link(files::FROM_BESIDE, files::LIB)?,
    }
    Ok(())
}

/// Writes the index from the log of the recorded start. `Ok(None)`: no program wrote into it.
///
/// # Errors
/// If a file cannot be written, or no absent name is left.
pub(super) fn fill(
    place: &IndexPlace,
    events: &[Event],
    notes: &mut Vec<String>,
) -> Result<Option<LanguageIndex>, AppError> {
    let Some(index) = PreloadIndex::new(events) else { return Ok(None) };
    note_unknown(index.unknown.iter().cloned(), Language::Any, notes);
    if index.absence_count() == 0 {
        return Err(anyhow!("all names that `{}` found absent may appear unnoticed", printable(&index.executable)))
            .hint(|| "an index for any program knows names on local disks, NFS and read-only images");
    }
    place.write(files::LIBRARY, &index.library().hint(|| "make the index for a shorter start, with --ready")?)?;
    Ok(Some(LanguageIndex {
        language: Language::Any,
        version: String::new(),
        modules: 0,
        missing: index.absence_count() as u64,
        guards: index.guards().to_vec(),
        sources: Vec::new(),
        pack_bytes: 0,
        read_ahead: Vec::new(),
        interpreter: index.executable,
    }))
}

/// Refuses a program that loads no library of its caller's.
///
/// # Errors
/// The reason.
pub(super) fn check(command: &CommandLine) -> Result<(), AppError> {
    match obstacle(command) {
        Some(reason) => Err(refusal(command, reason)),
        None => Ok(()),
    }
}

/// The error for a program that wrote nothing into the log.
pub(super) fn nothing_absent(command: &CommandLine) -> AppError {
    refusal(command, "it asked glibc for no name that is absent")
}

fn refusal(command: &CommandLine, reason: &str) -> AppError {
    AppError::hinted(
        anyhow!("`{command}` can have no index with --shim: {reason}"),
        "it helps dynamically linked programs that look for files with functions of glibc; for others, see `coldstart prefetch`",
    )
}

fn obstacle(command: &CommandLine) -> Option<&'static str> {
    // Starting a program that cannot be found or read gives a better error.
    let path = std::env::var_os("PATH");
    let program = started(&find_program(&command.program, path.as_deref(), None).ok()?)?;
    if gets_rights(&program) {
        return Some(
            "it gets rights that its caller has not (set-user-ID, set-group-ID or capabilities of its file), so it loads no library of its caller's",
        );
    }
    let file = reading::map(&program).ok()?;
    match ElfFile::parse(file.bytes()).ok()?.interpreter() {
        None => Some("it is linked statically, and loads no library"),
        Some(loader) if !loader.ends_with(LOADER) => Some("its loader is not that of glibc for this architecture"),
        Some(_) => None,
    }
}

/// The end of the name of glibc's loader.
const LOADER: &[u8] = if cfg!(target_arch = "aarch64") {
    b"ld-linux-aarch64.so.1"
} else if cfg!(target_arch = "riscv64") {
    b"ld-linux-riscv64-lp64d.so.1"
} else {
    b"ld-linux-x86-64.so.2"
};
