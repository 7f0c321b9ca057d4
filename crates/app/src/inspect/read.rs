//! From a path to an inspection: mapping the file, finding its debug file, and errors.

use std::io;
use std::path::{Path, PathBuf};

use coldstart_elf::{
    DEFAULT_DEBUG_ROOT, ElfFile, FileKind, MiniDebugLimits, SymbolTable, build_id, crc_matches, debug_file_candidates,
};
use coldstart_inspect::{Inspection, NameSource, Object, Refusal, inspect};
use coldstart_profile::printable;
use coldstart_sys::file_view::FileView;

use crate::reading;

/// Why a file was not inspected.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be read.
    #[error("cannot read `{}`", printable(.path))]
    Io {
        /// The file.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// The file cannot be inspected.
    #[error("cannot inspect `{}`", printable(.path))]
    Refused {
        /// The file.
        path: PathBuf,
        /// Its kind, or the error in it.
        source: Refusal,
    },
    /// Another process truncated the file.
    #[error("`{}` was truncated while it was read", printable(.path))]
    Shrank {
        /// The file.
        path: PathBuf,
    },
}

impl ReadError {
    /// A hint for the user.
    pub fn hint(&self) -> Option<String> {
        let source = match self {
            Self::Refused { source, .. } => source,
            Self::Shrank { .. } => return Some("inspect it again when no process writes to it".to_owned()),
            Self::Io { .. } => return None,
        };
        let hint = match source {
            Refusal::Elf(coldstart_elf::ElfError::NotElf(FileKind::Script)) => {
                "name the program that the script starts; `readlink /proc/PID/exe` shows it for a running process"
            }
            Refusal::Elf(coldstart_elf::ElfError::NotElf(FileKind::Archive | FileKind::ThinArchive)) => {
                "unpack it with `ar x` or `dpkg-deb -x` and inspect the files"
            }
            Refusal::Elf(coldstart_elf::ElfError::NotElf(FileKind::Text)) => {
                "if it is a linker script, name the library it refers to"
            }
            Refusal::Elf(coldstart_elf::ElfError::NotElf(_)) => return None,
            Refusal::Elf(_) => "the file may be truncated or damaged; compare its size and checksum with its package's",
            Refusal::DebugOnly => "name the file that it belongs to; its symbols are found automatically",
            Refusal::Relocatable | Refusal::Core | Refusal::NotLoadable(_) => return None,
        };
        Some(hint.to_owned())
    }

    /// Why it was skipped, as a clause.
    pub(super) fn reason(&self) -> String {
        match self {
            Self::Refused { source, .. } => source.to_string(),
            other => other.to_string(),
        }
    }

    /// Whether the file was removed.
    pub(super) fn is_gone(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    /// Whether the file is only of another kind, which is not an error in a directory.
    pub(super) fn is_ordinary(&self) -> bool {
        match self {
            Self::Refused { source: Refusal::Elf(error), .. } => matches!(error, coldstart_elf::ElfError::NotElf(_)),
            Self::Refused { .. } => true,
            _ => false,
        }
    }
}

coldstart_hint::hinted!(ReadError);

/// The file with a stripped file's symbols.
#[derive(Debug)]
enum Debug {
    None,
    File(FileView),
    Mini(Vec<u8>),
}

impl Debug {
    /// Its symbols.
    fn names(&self) -> Option<(NameSource, SymbolTable<'_>)> {
        let (source, bytes) = match self {
            Self::None => return None,
            Self::File(view) => (NameSource::DebugFile, view.bytes()),
            Self::Mini(bytes) => (NameSource::MiniDebugInfo, bytes.as_slice()),
        };
        Some((source, ElfFile::parse(bytes).ok()?.symbols().ok()??))
    }
}

/// Inspects a file, with the symbols of its debug file if it is stripped.
///
/// # Errors
/// If it cannot be read or inspected.
pub fn inspect_file(path: &Path) -> Result<Inspection, ReadError> {
    let view = map(path)?;
    let inspection = ElfFile::parse(view.bytes()).map_err(Refusal::from).and_then(|file| {
        let debug = if file.symbols().ok().flatten().is_some() { Debug::None } else { debug_of(path, &file) };
        Object::read(file, debug.names()).map(|object| inspect(&object))
    });
    unless_shrunk(path, &view, inspection)
}

/// Inspects an object in memory, by what it has itself: no debug file of this machine is looked for, so that the result is the same
/// on every machine.
///
/// # Errors
/// If it cannot be inspected.
pub fn inspect_bytes(bytes: &[u8]) -> Result<Inspection, Refusal> {
    let file = ElfFile::parse(bytes)?;
    let debug = if file.symbols().ok().flatten().is_some() { Debug::None } else { embedded(&file) };
    Object::read(file, debug.names()).map(|object| inspect(&object))
}

/// Checks for truncation after reading a view. The lost part of a truncated file reads as zeros and would be reported as
/// damage.
fn unless_shrunk<T>(path: &Path, view: &FileView, result: Result<T, Refusal>) -> Result<T, ReadError> {
    if view.shrank() {
        return Err(ReadError::Shrank { path: path.to_owned() });
    }
    result.map_err(|source| ReadError::Refused { path: path.to_owned(), source })
}

/// The kind of a file by its first bytes, without mapping it.
pub(super) fn kind_of(path: &Path) -> Result<FileKind, ReadError> {
    reading::kind_of(path).map_err(|source| ReadError::Io { path: path.to_owned(), source })
}

/// Maps a regular file.
pub(super) fn map(path: &Path) -> Result<FileView, ReadError> {
    reading::map(path).map_err(|source| ReadError::Io { path: path.to_owned(), source })
}

/// The matching debug file of a stripped object if installed; otherwise its embedded .gnu_debugdata.
fn debug_of(path: &Path, file: &ElfFile<'_>) -> Debug {
    let id = build_id(file);
    let link = file.debug_link().ok().flatten();
    if id.is_some() || link.is_some() {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let bytes = id.as_ref().map(|id| id.bytes());
        let candidates = debug_file_candidates(&real, bytes, link.as_ref(), &[PathBuf::from(DEFAULT_DEBUG_ROOT)]);
        for candidate in candidates.iter().filter(|candidate| candidate.as_path() != real.as_path()) {
            let Ok(view) = map(candidate) else { continue };
            let other = ElfFile::parse(view.bytes()).ok().and_then(|file| build_id(&file));
            let is_right = match (&id, other) {
                (Some(id), Some(other)) => id.bytes() == other.bytes(),
                _ => link.as_ref().is_some_and(|link| crc_matches(link, view.bytes())),
            };
            if is_right {
                return Debug::File(view);
            }
        }
    }
    embedded(file)
}

/// The symbols in an object's `.gnu_debugdata`.
fn embedded(file: &ElfFile<'_>) -> Debug {
    match file.mini_debug_file(MiniDebugLimits::default()) {
        Ok(Some(bytes)) => Debug::Mini(bytes),
        _ => Debug::None,
    }
}
