//! Where to find the names of a stripped object: in a debug file, or packed into the object itself.

use std::path::{Path, PathBuf};

use coldstart_elf::{
    DEFAULT_DEBUG_ROOT, ElfFile, MiniDebugLimits, SymbolTable, build_id, crc_matches, debug_file_candidates,
};

use super::file::ObjectFile;

/// The file with the names.
#[derive(Debug, Default)]
pub(super) enum DebugNames {
    /// There is none, or the object has its own.
    #[default]
    None,
    /// A debug file, as installed by distributions.
    File(ObjectFile),
    /// From `.gnu_debugdata`.
    Mini(Vec<u8>),
}

impl DebugNames {
    /// Looks for them, unless the object at `path` has its own symbol table. The debug file must have the same build
    /// id, or the checksum stored in the object.
    pub(super) fn of(path: &Path, file: &ElfFile<'_>) -> Self {
        if file.symbols().is_ok_and(|symbols| symbols.is_some()) {
            return Self::None;
        }
        let id = build_id(file);
        let link = file.debug_link().ok().flatten();
        if id.is_some() || link.is_some() {
            let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
            let roots = [PathBuf::from(DEFAULT_DEBUG_ROOT)];
            for candidate in debug_file_candidates(&real, id.as_ref().map(|id| id.bytes()), link.as_ref(), &roots) {
                let Ok(debug) = ObjectFile::open(&candidate) else { continue };
                let is_right = debug.read(|other| match (&id, build_id(other)) {
                    (Some(id), Some(other)) => id.bytes() == other.bytes(),
                    _ => link.as_ref().is_some_and(|link| crc_matches(link, other.bytes())),
                });
                if is_right.unwrap_or(false) {
                    return Self::File(debug);
                }
            }
        }
        match file.mini_debug_file(MiniDebugLimits::default()) {
            Ok(Some(bytes)) => Self::Mini(bytes),
            _ => Self::None,
        }
    }

    /// The symbols in it.
    pub(super) fn symbols(&self) -> Option<SymbolTable<'_>> {
        let bytes = match self {
            Self::None => return None,
            Self::File(file) => file.view().bytes(),
            Self::Mini(bytes) => bytes.as_slice(),
        };
        ElfFile::parse(bytes).ok()?.symbols().ok()?
    }

    /// Whether part of the debug file was missing when it was read: its names are then unreliable.
    pub(super) fn shrank(&self) -> bool {
        matches!(self, Self::File(file) if file.view().shrank())
    }
}

/// All symbol tables: the object's own, those found elsewhere, and the loader's.
pub(super) fn symbol_tables<'data>(
    file: &ElfFile<'data>,
    debug: Option<SymbolTable<'data>>,
) -> impl Iterator<Item = SymbolTable<'data>> {
    let own = file.symbols().ok().flatten();
    let dynamic = file.dynamic().ok().flatten().and_then(|dynamic| file.dynamic_symbols(&dynamic).ok());
    [own, debug, dynamic].into_iter().flatten()
}
