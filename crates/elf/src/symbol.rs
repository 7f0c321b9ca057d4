//! Symbols: named addresses, as seen by linkers and the dynamic loader.

use object::elf;
use object::endian::Endianness;

use crate::address::Vaddr;
use crate::dynamic::{DynamicTable, Tag};
use crate::encoding::{Class, Encoding, Table, TableRecord, raw};
use crate::error::Result;
use crate::file::ElfFile;
use crate::gnu_hash::GnuHashTable;
use crate::section::{Section, SectionKind};
use crate::strings::{NameRoom, Strings};
use crate::sysv_hash::SysvHashTable;

/// The type of a symbol: `STT_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SymbolKind {
    /// Unspecified.
    None,
    /// A variable.
    Object,
    /// A function.
    Function,
    /// A section.
    Section,
    /// A source file.
    File,
    /// An uninitialised variable in Fortran or C.
    Common,
    /// A thread-local variable; its value is an offset.
    ThreadLocal,
    /// A function that chooses an implementation (`STT_GNU_IFUNC`).
    IndirectFunction,
    /// Another value.
    Other(u8),
}

/// The scope of a symbol: `STB_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SymbolBinding {
    /// Its own object file only.
    Local,
    /// Global.
    Global,
    /// Global, and may be undefined.
    Weak,
    /// Global, and unique in the process (`STB_GNU_UNIQUE`).
    Unique,
    /// Another value.
    Other(u8),
}

/// Whether a symbol is exported and can be interposed: `STV_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SymbolVisibility {
    /// As its binding says.
    Default,
    /// Architecture-specific; hidden, in practice.
    Internal,
    /// Not visible outside of the object.
    Hidden,
    /// Visible, but the object itself always uses its own definition.
    Protected,
}

/// A symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Offset of its name in the string table.
    pub name_offset: u32,
    /// `st_value`: an address, for symbols that the loader sees.
    pub value: Vaddr,
    /// `st_size` in bytes; 0 if unknown.
    pub size: u64,
    /// Its type.
    pub kind: SymbolKind,
    /// Its scope.
    pub binding: SymbolBinding,
    /// Whether it can be interposed.
    pub visibility: SymbolVisibility,
    /// `st_shndx`: its section; 0 if undefined.
    pub section: u16,
}

impl Symbol {
    /// Whether the object itself defines it.
    pub fn is_defined(&self) -> bool {
        self.section != elf::SHN_UNDEF.0
    }

    /// Whether its value is an address: not a section, file, absolute number or thread-local offset.
    pub fn has_address(&self) -> bool {
        self.is_defined()
            && self.section != elf::SHN_ABS.0
            && self.section != elf::SHN_COMMON.0
            && !matches!(self.kind, SymbolKind::ThreadLocal | SymbolKind::File | SymbolKind::Section)
    }
}

impl TableRecord for Symbol {
    fn size(class: Class) -> usize {
        match class {
            Class::Elf32 => size_of::<elf::Sym32<Endianness>>(),
            Class::Elf64 => size_of::<elf::Sym64<Endianness>>(),
        }
    }

    fn decode(bytes: &[u8], encoding: Encoding) -> Option<Self> {
        let endian = encoding.endian();
        macro_rules! fields {
            ($record:ty) => {{
                let symbol: &$record = raw(bytes)?;
                Self {
                    name_offset: symbol.st_name.get(endian),
                    value: Vaddr(symbol.st_value.get(endian).into()),
                    size: symbol.st_size.get(endian).into(),
                    kind: SymbolKind::from(symbol.st_info.0 & 0xf),
                    binding: SymbolBinding::from(symbol.st_info.0 >> 4),
                    visibility: SymbolVisibility::from(symbol.st_other.0),
                    section: symbol.st_shndx.get(endian).0,
                }
            }};
        }
        Some(match encoding.class {
            Class::Elf32 => fields!(elf::Sym32<Endianness>),
            Class::Elf64 => fields!(elf::Sym64<Endianness>),
        })
    }
}

impl From<u8> for SymbolKind {
    fn from(value: u8) -> Self {
        match elf::SymbolType(value) {
            elf::STT_NOTYPE => Self::None,
            elf::STT_OBJECT => Self::Object,
            elf::STT_FUNC => Self::Function,
            elf::STT_SECTION => Self::Section,
            elf::STT_FILE => Self::File,
            elf::STT_COMMON => Self::Common,
            elf::STT_TLS => Self::ThreadLocal,
            elf::STT_GNU_IFUNC => Self::IndirectFunction,
            elf::SymbolType(other) => Self::Other(other),
        }
    }
}

impl From<u8> for SymbolBinding {
    fn from(value: u8) -> Self {
        match elf::SymbolBind(value) {
            elf::STB_LOCAL => Self::Local,
            elf::STB_GLOBAL => Self::Global,
            elf::STB_WEAK => Self::Weak,
            elf::STB_GNU_UNIQUE => Self::Unique,
            elf::SymbolBind(other) => Self::Other(other),
        }
    }
}

impl From<u8> for SymbolVisibility {
    /// From `st_other`; only the lowest two bits matter.
    fn from(value: u8) -> Self {
        match elf::SymbolVisibility(value & 3) {
            elf::STV_INTERNAL => Self::Internal,
            elf::STV_HIDDEN => Self::Hidden,
            elf::STV_PROTECTED => Self::Protected,
            _ => Self::Default,
        }
    }
}

/// A symbol table with its names.
#[derive(Clone, Copy, Debug)]
pub struct SymbolTable<'data> {
    symbols: Table<'data, Symbol>,
    strings: Strings<'data>,
}

impl<'data> SymbolTable<'data> {
    /// Combines symbols and names.
    pub fn new(symbols: Table<'data, Symbol>, strings: Strings<'data>) -> Self {
        Self { symbols, strings }
    }

    /// Number of symbols, including the null symbol at 0.
    pub fn len(&self) -> usize {
        self.symbols.len()
    }

    /// Whether the table is empty.
    pub fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }

    /// The symbol at `index`.
    pub fn get(&self, index: u32) -> Option<Symbol> {
        self.symbols.get(usize::try_from(index).ok()?)
    }

    /// The symbol's name; empty if it has none.
    pub fn name(&self, symbol: &Symbol) -> &'data [u8] {
        self.strings.get(symbol.name_offset.into()).unwrap_or_default()
    }

    /// The name of the symbol at `index`; empty if it has none.
    pub fn name_at(&self, index: u32) -> &'data [u8] {
        self.get(index).map(|symbol| self.name(&symbol)).unwrap_or_default()
    }

    /// Whether the symbol has this name, without looking for the end of the one that it has.
    pub fn is_named(&self, symbol: &Symbol, name: &[u8]) -> bool {
        self.strings.is(symbol.name_offset.into(), name)
    }

    /// Whether the symbol's name begins with `start`, without looking for its end.
    pub fn name_begins(&self, symbol: &Symbol, start: &[u8]) -> bool {
        self.strings.begins(symbol.name_offset.into(), start)
    }

    /// All symbols in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Symbol> + use<'data> {
        self.symbols.iter()
    }

    /// The symbol table without the names.
    pub fn table(&self) -> Table<'data, Symbol> {
        self.symbols
    }

    /// Room for reading all names of the table once.
    pub fn name_room(&self) -> NameRoom {
        NameRoom::for_size(self.strings.size().saturating_add(self.symbols.bytes().len() as u64))
    }

    /// The names.
    pub fn strings(&self) -> Strings<'data> {
        self.strings
    }
}

/// Tables that a linker may place right after the dynamic symbols.
const TABLES: [Tag; 10] = [
    Tag::STRTAB,
    Tag::VERSYM,
    Tag::VERNEED,
    Tag::VERDEF,
    Tag::HASH,
    Tag::GNU_HASH,
    Tag::REL,
    Tag::RELA,
    Tag::RELR,
    Tag::JMPREL,
];

impl<'data> ElfFile<'data> {
    /// The linker's symbol table, `.symtab`; `None` in a stripped file.
    ///
    /// # Errors
    /// If the table or its strings extend past the end of the file.
    pub fn symbols(&self) -> Result<Option<SymbolTable<'data>>> {
        match self.sections().iter().find(|section| section.header.kind == SectionKind::SymbolTable) {
            Some(section) => self.symbols_of(section).map(Some),
            None => Ok(None),
        }
    }

    /// The symbols in a symbol table section.
    ///
    /// # Errors
    /// If the section or its strings extend past the end of the file.
    pub fn symbols_of(&self, section: &Section<'data>) -> Result<SymbolTable<'data>> {
        let bytes = self.file_bytes("a symbol table", section.header.offset, section.header.file_size())?;
        let table = Table::new(bytes, section.header.offset, self.encoding());
        let strings = self.sections().get(section.header.link as usize);
        let strings = match strings.filter(|strings| strings.header.kind == SectionKind::Strings) {
            Some(strings) => self.file_bytes("a string table", strings.header.offset, strings.header.file_size())?,
            None => &[],
        };
        Ok(SymbolTable::new(table, Strings::new(strings)))
    }

    /// The dynamic symbol table, as referred to by `DT_SYMTAB`. Empty without one.
    ///
    /// The format does not state its symbol count. It is taken from the section header if that exists, has the same
    /// address and is plausible; else from the hash tables; else from the start of the next table.
    ///
    /// # Errors
    /// If the table or its strings are not within the file part of one segment, or a hash table is malformed.
    pub fn dynamic_symbols(&self, dynamic: &DynamicTable<'_>) -> Result<SymbolTable<'data>> {
        let Some(address) = dynamic.get(Tag::SYMTAB).map(Vaddr) else {
            return Ok(SymbolTable::new(Table::empty(self.encoding()), Strings::default()));
        };
        let count = self.dynamic_symbol_count(dynamic, address)?;
        let size = count.saturating_mul(Symbol::size(self.encoding().class) as u64);
        let table = self.table_at("the dynamic symbol table", address, size)?;
        Ok(SymbolTable::new(table, self.dynamic_strings(dynamic)?))
    }

    fn dynamic_symbol_count(&self, dynamic: &DynamicTable<'_>, address: Vaddr) -> Result<u64> {
        let entry_size = Symbol::size(self.encoding().class) as u64;
        let in_entries = |size: u64| size.checked_div(entry_size).unwrap_or(0);
        let fits = |count: &u64| {
            let size = count.saturating_mul(entry_size);
            *count > 0 && self.memory_bytes("the dynamic symbol table", address, size).is_ok()
        };
        let is_same = |section: &&Section<'_>| {
            section.header.kind == SectionKind::DynamicSymbols && section.header.address == address
        };
        // A section header may be wrong. One that is implausible, or omits symbols that the loader finds, is ignored.
        let section = self.sections().iter().find(is_same).map(|section| in_entries(section.header.size)).filter(fits);
        let hashed = self.hashed_symbol_count(dynamic);
        if let Some(count) = section {
            return Ok(hashed.ok().flatten().filter(fits).map_or(count, |hashed| hashed.max(count)));
        }
        if let Some(count) = hashed? {
            return Ok(count);
        }
        // GNU ld places the strings right after the symbols; lld places the versions and the hash table between them.
        let behind = TABLES.iter().filter_map(|tag| dynamic.get(*tag)?.checked_sub(address.0));
        Ok(behind.filter(|distance| *distance > 0).min().map_or(0, in_entries))
    }

    /// The dynamic symbol count from the hash tables. A GNU table without a chain does not give it.
    fn hashed_symbol_count(&self, dynamic: &DynamicTable<'_>) -> Result<Option<u64>> {
        if let Some(sysv) = SysvHashTable::parse(self, dynamic)? {
            return Ok(Some(sysv.symbol_count()));
        }
        Ok(GnuHashTable::parse(self, dynamic)?.and_then(|gnu| gnu.symbol_count()))
    }
}

#[cfg(test)]
mod tests;
