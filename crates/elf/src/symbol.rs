//! Symbols: names for places, as linkers and the dynamic loader know them.

use object::elf;
use object::endian::Endianness;

use crate::address::Vaddr;
use crate::dynamic::{DynamicTable, Tag};
use crate::encoding::{Class, Encoding, Record, Table, raw};
use crate::error::Result;
use crate::file::ElfFile;
use crate::gnu_hash::GnuHashTable;
use crate::section::{Section, SectionKind};
use crate::strings::Strings;
use crate::sysv_hash::SysvHashTable;

/// What a symbol stands for: `STT_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SymbolKind {
    /// Nothing in particular.
    None,
    /// A variable.
    Object,
    /// A function.
    Function,
    /// A section.
    Section,
    /// A source file.
    File,
    /// An uninitialised variable of Fortran or C.
    Common,
    /// A thread-local variable; its value is an offset.
    ThreadLocal,
    /// A function that chooses an implementation (`STT_GNU_IFUNC`).
    IndirectFunction,
    /// Another value.
    Other(u8),
}

/// Who sees a symbol: `STB_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SymbolBinding {
    /// Only its own object file.
    Local,
    /// Everyone.
    Global,
    /// Everyone, and it may be missing.
    Weak,
    /// Everyone, and there is only one in a process (`STB_GNU_UNIQUE`).
    Unique,
    /// Another value.
    Other(u8),
}

/// Who may replace a symbol: `STV_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SymbolVisibility {
    /// As its binding says.
    Default,
    /// Left to the machine; hidden, in practice.
    Internal,
    /// Not visible outside of the object.
    Hidden,
    /// Visible, but the object itself always uses its own.
    Protected,
}

/// A symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Where its name begins in the strings.
    pub name_offset: u32,
    /// `st_value`: an address in what the loader sees.
    pub value: Vaddr,
    /// `st_size` in bytes; 0 when unknown.
    pub size: u64,
    /// What it stands for.
    pub kind: SymbolKind,
    /// Who sees it.
    pub binding: SymbolBinding,
    /// Who may replace it.
    pub visibility: SymbolVisibility,
    /// `st_shndx`: its section; 0 when it is defined elsewhere.
    pub section: u16,
}

impl Symbol {
    /// Whether the object itself defines it.
    pub fn is_defined(&self) -> bool {
        self.section != elf::SHN_UNDEF.0
    }

    /// Whether it names a place in memory: not a section, file, absolute number or thread-local offset.
    pub fn has_address(&self) -> bool {
        self.is_defined()
            && self.section != elf::SHN_ABS.0
            && self.section != elf::SHN_COMMON.0
            && !matches!(self.kind, SymbolKind::ThreadLocal | SymbolKind::File | SymbolKind::Section)
    }
}

impl Record for Symbol {
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
    /// From `st_other`, of which the lowest two bits count.
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
    /// Puts symbols and names together.
    pub fn new(symbols: Table<'data, Symbol>, strings: Strings<'data>) -> Self {
        Self { symbols, strings }
    }

    /// Number of symbols, the null symbol at 0 included.
    pub fn len(&self) -> usize {
        self.symbols.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }

    /// The symbol with this index.
    pub fn get(&self, index: u32) -> Option<Symbol> {
        self.symbols.get(usize::try_from(index).ok()?)
    }

    /// The symbol's name; empty where it has none.
    pub fn name(&self, symbol: &Symbol) -> &'data [u8] {
        self.strings.get(symbol.name_offset.into()).unwrap_or_default()
    }

    /// The name of the symbol with this index; empty where there is none.
    pub fn name_at(&self, index: u32) -> &'data [u8] {
        self.get(index).map(|symbol| self.name(&symbol)).unwrap_or_default()
    }

    /// All symbols in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Symbol> + use<'data> {
        self.symbols.iter()
    }

    /// The table of symbols alone: its place and size.
    pub fn table(&self) -> Table<'data, Symbol> {
        self.symbols
    }

    /// The names.
    pub fn strings(&self) -> Strings<'data> {
        self.strings
    }
}

/// Tables that a linker may put right behind the dynamic symbols.
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
    /// If it or its strings reach past the end of the file.
    pub fn symbols(&self) -> Result<Option<SymbolTable<'data>>> {
        match self.sections().iter().find(|section| section.header.kind == SectionKind::SymbolTable) {
            Some(section) => self.symbols_of(section).map(Some),
            None => Ok(None),
        }
    }

    /// The symbols in a section of that kind.
    ///
    /// # Errors
    /// If it or its strings reach past the end of the file.
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

    /// The dynamic symbol table, as `DT_SYMTAB` names it. Empty when there is none.
    ///
    /// The format does not say how many symbols it has. The section header knows, where it is there, names the same place
    /// and can be right; else the hash tables do; else the table that comes next.
    ///
    /// # Errors
    /// If it or its strings are not within the part of one segment that comes from the file, or a hash table is malformed.
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
        // Nothing makes a section header tell the truth, so one that cannot be right, or that leaves out symbols which the
        // loader finds, does not count.
        let section = self.sections().iter().find(is_same).map(|section| in_entries(section.header.size)).filter(fits);
        let hashed = self.hashed_symbol_count(dynamic);
        if let Some(count) = section {
            return Ok(hashed.ok().flatten().filter(fits).map_or(count, |hashed| hashed.max(count)));
        }
        if let Some(count) = hashed? {
            return Ok(count);
        }
        // GNU ld has the strings right behind the symbols; lld has the versions and the hash table between them.
        let behind = TABLES.iter().filter_map(|tag| dynamic.get(*tag)?.checked_sub(address.0));
        Ok(behind.filter(|distance| *distance > 0).min().map_or(0, in_entries))
    }

    /// The number of dynamic symbols by the hash tables. A GNU table without a chain does not know it.
    fn hashed_symbol_count(&self, dynamic: &DynamicTable<'_>) -> Result<Option<u64>> {
        if let Some(sysv) = SysvHashTable::parse(self, dynamic)? {
            return Ok(Some(sysv.symbol_count()));
        }
        Ok(GnuHashTable::parse(self, dynamic)?.and_then(|gnu| gnu.symbol_count()))
    }
}

#[cfg(test)]
mod tests;
