//! One object, with all data that several parts of the inspection use, read once.

use coldstart_elf::{
    DynamicRelocations, DynamicTable, ElfError, ElfFile, FileType, SegmentKind, SymbolTable, Table, Tag,
};

use crate::names::{NameSource, Names};
use crate::slots::Slots;

/// Why a file cannot be inspected. These are ordinary files that a start never loads in this way.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It cannot be read as an ELF file.
    #[error(transparent)]
    Elf(#[from] ElfError),
    /// A relocatable object.
    #[error("relocatable object (a kernel module or an `.o` file): not loaded by the dynamic loader")]
    Relocatable,
    /// A core file.
    #[error("core dump")]
    Core,
    /// A file with debug information only.
    #[error("debug information only: its segments are empty")]
    DebugOnly,
    /// An ELF file of an unknown type, or without segments.
    #[error("not loadable: {0}")]
    NotLoadable(&'static str),
}

/// An object and its contents.
#[derive(Debug)]
pub struct Object<'data> {
    /// The file.
    pub file: ElfFile<'data>,
    /// Its dynamic table; `None` for a static program.
    pub dynamic: Option<DynamicTable<'data>>,
    /// Its relocations.
    pub relocations: DynamicRelocations<'data>,
    /// Its dynamic symbols.
    pub dynamic_symbols: SymbolTable<'data>,
    /// The relocated words.
    pub slots: Slots,
    /// The names of its functions and variables.
    pub names: Names<'data>,
}

impl<'data> Object<'data> {
    /// Reads an object; `more_names` is an external symbol table, for stripped files.
    ///
    /// # Errors
    /// If the file is not loadable, or a table that the loader needs is malformed.
    pub fn read(file: ElfFile<'data>, more_names: Option<(NameSource, SymbolTable<'data>)>) -> Result<Self, Refusal> {
        check_kind(&file)?;
        let dynamic = file.dynamic()?;
        let empty = || SymbolTable::new(Table::empty(file.encoding()), Default::default());
        let (relocations, dynamic_symbols) = match &dynamic {
            Some(dynamic) => (file.dynamic_relocations(dynamic)?, file.dynamic_symbols(dynamic)?),
            None => (file.static_relocations()?, empty()),
        };
        let slots = Slots::collect(&file, &relocations);
        let names = Names::collect(&file, &dynamic_symbols, more_names);
        Ok(Self { file, dynamic, relocations, dynamic_symbols, slots, names })
    }

    /// The value of an entry of the dynamic table.
    pub fn tag(&self, tag: Tag) -> Option<u64> {
        self.dynamic.as_ref()?.get(tag)
    }

    /// Whether it is a program rather than a library.
    ///
    /// Old linkers did not mark position-independent programs, and `libc.so.6` has an interpreter so that it can be
    /// run; a soname marks a library.
    pub fn is_program(&self) -> bool {
        let Some(dynamic) = &self.dynamic else { return true };
        self.file.header().file_type == FileType::Executable
            || dynamic.is_pie()
            || (self.file.interpreter().is_some() && dynamic.get(Tag::SONAME).is_none())
    }
}

fn check_kind(file: &ElfFile<'_>) -> Result<(), Refusal> {
    match file.header().file_type {
        FileType::Relocatable => return Err(Refusal::Relocatable),
        FileType::Core => return Err(Refusal::Core),
        FileType::Executable | FileType::Dynamic => {}
        FileType::Other(_) => return Err(Refusal::NotLoadable("undefined file type")),
    }
    // Compiled modules of Guile are ELF files with segments, for no architecture: only Guile loads them.
    if file.encoding().machine == 0 {
        return Err(Refusal::NotLoadable("of no architecture"));
    }
    let mut loads = file.load_segments().peekable();
    if loads.peek().is_none() {
        return Err(Refusal::NotLoadable("no loadable segment"));
    }
    // `objcopy --only-keep-debug` keeps the headers, and at most the bytes of notes and headers.
    let dynamic_is_empty = file.segment(SegmentKind::Dynamic).is_some_and(|dynamic| dynamic.file_size == 0);
    if dynamic_is_empty || file.load_segments().all(|segment| segment.file_size == 0) {
        return Err(Refusal::DebugOnly);
    }
    Ok(())
}
