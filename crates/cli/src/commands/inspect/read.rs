//! From a path to an inspection: mapping the file, finding names for it elsewhere, and saying why not.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use coldstart_elf::{
    DEFAULT_DEBUG_ROOT, ElfFile, FileKind, MiniDebugLimits, build_id, crc_matches, debug_file_candidates,
};
use coldstart_inspect::{Inspection, NameSource, Object, Refusal, inspect};
use coldstart_sys::file_view::FileView;
use rustix::fs::{Mode, OFlags};

use crate::output::path::printable;

/// Why a file was not inspected.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadError {
    #[error("cannot read `{}`", printable(.path))]
    Io { path: PathBuf, source: io::Error },
    #[error("cannot inspect `{}`", printable(.path))]
    Refused { path: PathBuf, source: Refusal },
    #[error("`{}` became shorter while it was read", printable(.path))]
    Shrank { path: PathBuf },
}

impl ReadError {
    /// Advice for the user.
    fn hint(&self) -> Option<String> {
        let source = match self {
            Self::Refused { source, .. } => source,
            Self::Shrank { .. } => return Some("inspect it again when nobody writes to it".to_owned()),
            Self::Io { .. } => return None,
        };
        let hint = match source {
            Refusal::Elf(coldstart_elf::ElfError::NotElf(FileKind::Script)) => {
                "name the program that the script starts; of a running one, `readlink /proc/PID/exe` tells"
            }
            Refusal::Elf(coldstart_elf::ElfError::NotElf(FileKind::Archive | FileKind::ThinArchive)) => {
                "unpack it and inspect the files, by `ar x` or `dpkg-deb -x`"
            }
            Refusal::Elf(coldstart_elf::ElfError::NotElf(FileKind::Text)) => {
                "if it is a linker script, name the library that it stands for"
            }
            Refusal::Elf(coldstart_elf::ElfError::NotElf(_)) => return None,
            Refusal::Elf(_) => "the file may be cut off or damaged; compare its size and checksum with its package's",
            Refusal::DebugOnly => "name the file that it belongs to; its names are found by themselves",
            Refusal::Relocatable | Refusal::Core | Refusal::NotLoadable(_) => return None,
        };
        Some(hint.to_owned())
    }

    /// Why it was passed over, as a clause.
    pub(super) fn reason(&self) -> String {
        match self {
            Self::Refused { source, .. } => source.to_string(),
            other => other.to_string(),
        }
    }

    /// Whether the file is not there any more.
    pub(super) fn is_gone(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    /// Whether it only says that this is no file for us: of no concern in a directory.
    pub(super) fn is_ordinary(&self) -> bool {
        match self {
            Self::Refused { source: Refusal::Elf(error), .. } => matches!(error, coldstart_elf::ElfError::NotElf(_)),
            Self::Refused { .. } => true,
            _ => false,
        }
    }
}

/// The advice of an error of this verb.
pub(crate) fn hint(cause: &(dyn std::error::Error + 'static)) -> Option<String> {
    cause.downcast_ref::<ReadError>()?.hint()
}

/// A file that is mapped, and perhaps its debug file.
#[derive(Debug)]
pub(super) struct Opened {
    path: PathBuf,
    view: FileView,
    debug: Debug,
}

/// Where a stripped file's names are.
#[derive(Debug)]
enum Debug {
    None,
    File(FileView),
    Mini(Vec<u8>),
}

impl Opened {
    /// Maps a file, and its debug file if it has no symbols of its own.
    pub(super) fn open(path: &Path) -> Result<Self, ReadError> {
        let view = map(path)?;
        let refused = |source| ReadError::Refused { path: path.to_owned(), source };
        let file = ElfFile::parse(view.bytes()).map_err(|error| refused(error.into()))?;
        let debug = if file.symbols().ok().flatten().is_some() { Debug::None } else { debug_of(path, &file) };
        Ok(Self { path: path.to_owned(), view, debug })
    }

    /// Maps a file without looking for names elsewhere.
    pub(super) fn open_plain(path: &Path) -> Result<Self, ReadError> {
        Ok(Self { path: path.to_owned(), view: map(path)?, debug: Debug::None })
    }

    /// Lets `look` look at the object.
    pub(super) fn look<T>(&self, look: impl FnOnce(&Object<'_>) -> T) -> Result<T, ReadError> {
        let refused = |source| ReadError::Refused { path: self.path.clone(), source };
        let file = ElfFile::parse(self.view.bytes()).map_err(|error| refused(error.into()))?;
        let debug = match &self.debug {
            Debug::None => None,
            Debug::File(view) => Some((NameSource::DebugFile, view.bytes())),
            Debug::Mini(bytes) => Some((NameSource::MiniDebugInfo, bytes.as_slice())),
        };
        let names = debug.and_then(|(source, bytes)| {
            let symbols = ElfFile::parse(bytes).ok()?.symbols().ok()??;
            Some((source, symbols))
        });
        let result = Object::read(file, names).map(|object| look(&object));
        // What a file that shrinks has lost reads as zeros, and would be reported as damage of the file itself.
        if self.view.shrank() {
            return Err(ReadError::Shrank { path: self.path.clone() });
        }
        result.map_err(refused)
    }

    /// The whole inspection.
    pub(super) fn inspect(&self) -> Result<Inspection, ReadError> {
        self.look(inspect)
    }
}

/// What a file is, by its first bytes, without mapping it.
pub(super) fn kind_of(path: &Path) -> Result<FileKind, ReadError> {
    let failed = |source| ReadError::Io { path: path.to_owned(), source };
    let file = open_regular(path).map_err(failed)?;
    let mut start = [0; 512];
    let count = file.read_at(&mut start, 0).map_err(failed)?;
    Ok(FileKind::of(start.get(..count).unwrap_or_default()))
}

/// Opens a regular file. A pipe that nobody writes to must not make us wait, and a device must not be woken.
pub(super) fn open_regular(path: &Path) -> io::Result<File> {
    let file = File::from(rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty())?);
    let kind = file.metadata()?.file_type();
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !kind.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    Ok(file)
}

/// Maps a regular file.
fn map(path: &Path) -> Result<FileView, ReadError> {
    let view = open_regular(path).and_then(|file| FileView::map(&file));
    view.map_err(|source| ReadError::Io { path: path.to_owned(), source })
}

/// The debug file of a stripped object, if it is installed and is the right one; else the small one inside the file.
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
    match file.mini_debug_file(MiniDebugLimits::default()) {
        Ok(Some(bytes)) => Debug::Mini(bytes),
        _ => Debug::None,
    }
}
