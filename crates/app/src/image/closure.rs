//! The files of some starts: what they read, and what they looked up on the way.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use coldstart_elf::ElfFile;
use coldstart_host::script_line::ScriptLine;
use coldstart_image::tree::{CollectError, CollectProblem, Collector};
use coldstart_launch::find_program;
use coldstart_profile::{FileKind, NameKind, WorkingSet};

use crate::reading;

/// A file that a start only looked up, and did not read, is left out above this size: data of which the start needs none.
const LARGEST_UNREAD: u64 = 64 << 20;

/// What a closure has left out.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    /// Files that were looked up, not read, and are large.
    pub(super) large: Vec<PathBuf>,
}

/// Adds the files of a working set, with all directories and links that lead to them. Files that have been removed since are left out; so
/// are those that the start writes, and everything on file systems that it read no file of (`/run`, `/tmp` in memory).
pub(super) fn add(collector: &mut Collector, set: &WorkingSet, left_out: &mut LeftOut) -> Result<(), CollectError> {
    let mut devices = HashSet::new();
    let mut read = HashSet::new();
    let written: HashSet<&PathBuf> =
        set.files.iter().filter(|file| file.kind == FileKind::Rewritten).map(|file| &file.path).collect();
    for file in set.files.iter().filter(|file| file.kind == FileKind::Regular) {
        if unless_gone(collector.add_path(&file.path))?.is_some() {
            devices.insert(file.device);
            read.insert(&file.path);
            if let Some(interpreter) = interpreter(&file.path) {
                unless_gone(collector.add_path(&interpreter))?;
            }
        }
    }
    let program = set.command.first().map(|program| find_program(program, std::env::var_os("PATH").as_deref(), None));
    if let Some(program) = program.and_then(Result::ok).and_then(|program| std::path::absolute(program).ok()) {
        unless_gone(collector.add_path(&program))?;
    }
    for name in set.names.iter().filter(|name| name.kind != NameKind::Missing) {
        let Ok(found) = fs::metadata(&name.path) else { continue };
        if !devices.contains(&found.dev()) || !(found.is_file() || found.is_dir()) {
            continue;
        }
        if written.contains(&name.path) {
            continue;
        }
        if found.is_file() && !read.contains(&name.path) && found.len() > LARGEST_UNREAD {
            left_out.large.push(name.path.clone());
            continue;
        }
        unless_gone(collector.add_path(&name.path))?;
    }
    Ok(())
}

/// The loader or interpreter that a file asks the kernel for. No look-up of it is recorded, because the kernel does it itself, and its path may lead
/// through links (`/lib64`).
fn interpreter(path: &Path) -> Option<PathBuf> {
    let view = reading::map(path).ok()?;
    if let Some(line) = ScriptLine::parse(view.bytes()) {
        return Some(line.interpreter).filter(|path| path.is_absolute());
    }
    let file = ElfFile::parse(view.bytes()).ok()?;
    let path = PathBuf::from(OsStr::from_bytes(file.interpreter()?));
    Some(path).filter(|path| path.is_absolute())
}

fn unless_gone(added: Result<PathBuf, CollectError>) -> Result<Option<PathBuf>, CollectError> {
    match added {
        Ok(path) => Ok(Some(path)),
        Err(CollectError { problem: CollectProblem::Io(error), .. })
            if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
