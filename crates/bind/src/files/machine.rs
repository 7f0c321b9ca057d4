//! The files of this machine, each read once.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use coldstart_elf::{BuildId, ElfFile, FileType, Tag, build_id};
use coldstart_loader::{FileSystem, Probe};
use coldstart_sys::file_view::FileView;
use coldstart_sys::named_file::open_regular;

use super::{Details, Files};

/// `DF_1_PIE` of `DT_FLAGS_1` (`elf.h`).
const PIE: u64 = 0x0800_0000;

/// Functions that return the path by which their caller was opened: the C library's own, and wrappers in common
/// libraries. A caller of a wrapper imports none of the former: libnss3.so finds its modules by one in
/// libnssutil3.so, which calls libnspr4.so; LibreOffice's libraries call libuno_sal.so.3.
const TELL_OWN_PATH: [&[u8]; 7] = [
    b"dladdr",
    b"dladdr1",
    b"dlinfo",
    b"PR_GetLibraryFilePathname",
    b"PORT_LoadLibraryFromOrigin",
    b"osl_getModuleURLFromAddress",
    b"osl_getModuleURLFromFunctionAddress",
];

/// The files of this machine as of the first access. A new instance sees changes.
#[derive(Debug)]
pub struct MachineFiles {
    files: coldstart_startup::Files,
    seen: RefCell<HashMap<PathBuf, Probe>>,
    details: RefCell<HashMap<PathBuf, Details>>,
}

impl MachineFiles {
    /// An empty cache.
    pub fn new() -> Self {
        Self { files: coldstart_startup::Files::host(), seen: RefCell::default(), details: RefCell::default() }
    }

    /// The same files, without a cache.
    pub(crate) fn files(&self) -> &coldstart_startup::Files {
        &self.files
    }
}

impl Default for MachineFiles {
    fn default() -> Self {
        Self::new()
    }
}

impl FileSystem for MachineFiles {
    fn object(&self, path: &Path) -> Probe {
        if let Some(seen) = self.seen.borrow().get(path) {
            return seen.clone();
        }
        let probe = match self.files.object(path) {
            // The loader's messages are terse ("invalid ELF header"); ours are more specific.
            Probe::NotAnObject(reason) => {
                Probe::NotAnObject(self.files.object_file(path).err().map_or(reason, |error| error.to_string()))
            }
            probe => probe,
        };
        self.seen.borrow_mut().insert(path.to_owned(), probe.clone());
        probe
    }

    fn is_directory(&self, path: &Path) -> bool {
        self.files.is_directory(path)
    }

    fn canonical(&self, path: &Path) -> Option<PathBuf> {
        self.files.canonical(path)
    }
}

impl Files for MachineFiles {
    fn details(&self, path: &Path) -> io::Result<Details> {
        if let Some(known) = self.details.borrow().get(path) {
            return Ok(known.clone());
        }
        let details = details(path)?;
        self.details.borrow_mut().insert(path.to_owned(), details.clone());
        Ok(details)
    }

    fn names_in(&self, directory: &Path) -> Vec<OsString> {
        let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
        let mut names: Vec<OsString> = entries.filter_map(Result::ok).map(|entry| entry.file_name()).collect();
        names.sort_unstable();
        names
    }

    fn content_hash(&self, path: &Path) -> io::Result<String> {
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(open_regular(path)?)?;
        Ok(hasher.finalize().to_hex().to_string())
    }

    fn changeable_by_others(&self, directory: &Path) -> io::Result<Option<PathBuf>> {
        for ancestor in directory.ancestors() {
            match std::fs::metadata(ancestor) {
                Ok(metadata) if metadata.uid() != 0 || metadata.mode() & 0o022 != 0 => {
                    return Ok(Some(ancestor.to_owned()));
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }
}

/// The properties of a file that the loader does not check.
fn details(path: &Path) -> io::Result<Details> {
    let file = open_regular(path)?;
    let metadata = file.metadata()?;
    let view = FileView::map(&file)?;
    let elf = ElfFile::parse(view.bytes()).map_err(invalid)?;
    let dynamic = elf.dynamic().map_err(invalid)?;
    let mut details = Details {
        size: metadata.len(),
        modified_ns: metadata.mtime().saturating_mul(1_000_000_000).saturating_add(metadata.mtime_nsec()),
        build_id: build_id(&elf).map(|id: BuildId<'_>| id.to_string()),
        is_program: elf.header().file_type == FileType::Executable,
        ..Details::default()
    };
    if let Some(dynamic) = &dynamic {
        details.is_program |= dynamic.flags_1() & PIE != 0;
        details.filters = dynamic.get(Tag::FILTER).is_some() || dynamic.get(Tag::AUXILIARY).is_some();
        let symbols = elf.dynamic_symbols(dynamic).map_err(invalid)?;
        for symbol in symbols.iter().filter(|symbol| !symbol.is_defined()) {
            let is_one_of = |names: &[&[u8]]| names.iter().any(|name| symbols.is_named(&symbol, name));
            details.imports_dlopen |= is_one_of(&[b"dlopen", b"dlmopen"]);
            details.asks_own_path |= is_one_of(&TELL_OWN_PATH);
        }
    }
    Ok(details)
}

fn invalid(error: coldstart_elf::ElfError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error.to_string())
}
