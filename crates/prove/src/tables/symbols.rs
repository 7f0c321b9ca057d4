//! Entries of a symbol table, and their strings.

use object::elf::{
    SHN_ABS, SHN_LORESERVE, SHN_UNDEF, STB_LOCAL, STT_TLS, SymbolBind, SymbolInfo, SymbolSection, SymbolType,
    SymbolVisibility,
};

use crate::image::Image;

/// A symbol in the loader's view.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Symbol {
    pub(crate) name: u64,
    info: SymbolInfo,
    section: SymbolSection,
    pub(crate) visibility: SymbolVisibility,
    pub(crate) value: u64,
    /// Bytes; 0 if unknown.
    pub(crate) size: u64,
}

impl Symbol {
    /// Whether it is defined in this object.
    pub(crate) fn is_defined(&self) -> bool {
        self.section != SHN_UNDEF
    }

    /// Whether its value is an address in this object: neither an absolute number nor a thread-local offset.
    pub(crate) fn has_address(&self) -> bool {
        self.is_defined() && self.section != SHN_ABS && self.info.st_type() != STT_TLS
    }

    /// Whether its section number is not that of a section.
    pub(crate) fn is_reserved(&self) -> bool {
        self.section.0 >= SHN_LORESERVE
    }

    /// Its type.
    pub(crate) fn kind(&self) -> SymbolType {
        self.info.st_type()
    }

    /// Whether it is invisible to other objects. Such symbols are in no hash table.
    pub(crate) fn is_local(&self) -> bool {
        self.binding() == STB_LOCAL
    }

    /// Its binding.
    pub(crate) fn binding(&self) -> SymbolBind {
        self.info.st_bind()
    }
}

/// Bytes of an entry of the symbol table.
pub(crate) fn symbol_size(image: &Image<'_>) -> u64 {
    if image.encoding.wide { 24 } else { 16 }
}

/// An entry of a symbol table (gABI, "Symbol Table").
pub(crate) fn symbol(image: &Image<'_>, table: &[u8], number: u64) -> Option<Symbol> {
    let size = symbol_size(image);
    let start = usize::try_from(number.checked_mul(size)?).ok()?;
    let bytes = table.get(start..start.checked_add(size as usize)?)?;
    let field = |at: usize, size: usize| bytes.get(at..).and_then(|bytes| image.number(bytes, size));
    let (info, other, section, value, bytes_at) =
        if image.encoding.wide { (4, 5, 6, 8, 16) } else { (12, 13, 14, 4, 8) };
    Some(Symbol {
        name: field(0, 4)?,
        info: SymbolInfo(*bytes.get(info)?),
        // The other bits belong to architectures.
        visibility: SymbolVisibility(*bytes.get(other)? & 3),
        section: SymbolSection(u16::try_from(field(section, 2)?).ok()?),
        value: field(value, image.word_size() as usize)?,
        size: field(bytes_at, image.word_size() as usize)?,
    })
}

/// The string at an offset, without its terminating zero.
pub(crate) fn string(strings: &[u8], offset: u64) -> Option<&[u8]> {
    let rest = strings.get(usize::try_from(offset).ok()?..)?;
    std::ffi::CStr::from_bytes_until_nul(rest).ok().map(std::ffi::CStr::to_bytes)
}

/// Whether the string at an offset is `name`. The end of a longer one is not looked for.
pub(crate) fn is_string(strings: &[u8], offset: u64, name: &[u8]) -> bool {
    let rest = usize::try_from(offset).ok().and_then(|offset| strings.get(offset..)?.strip_prefix(name));
    rest.is_some_and(|rest| rest.first() == Some(&0))
}

/// How many bytes of names may still be read: together, real ones are hardly longer than the file, but in a hostile one very many
/// records can share one very long name.
#[derive(Debug)]
pub(crate) struct NameRoom(u64);

impl NameRoom {
    /// For the names in this file.
    pub(crate) fn of(image: &Image<'_>) -> Self {
        Self((image.source.bytes.len() as u64).saturating_mul(4))
    }

    /// The string at an offset, if it exists and there is room for it.
    pub(crate) fn string<'a>(&mut self, strings: &'a [u8], offset: u64) -> Option<&'a [u8]> {
        let name = string(strings, offset)?;
        // A name counts with its end.
        let left = self.0.checked_sub((name.len() as u64).saturating_add(1));
        self.0 = left.unwrap_or(0);
        left.map(|_| name)
    }
}

/// A symbol table with its strings, for looking up names.
#[derive(Clone, Copy)]
pub(crate) struct Names<'n> {
    pub(crate) image: &'n Image<'n>,
    pub(crate) symbols: &'n [u8],
    pub(crate) strings: &'n [u8],
}

impl Names<'_> {
    /// Whether the symbol at an index has this name.
    pub(crate) fn is(&self, number: u64, name: &[u8]) -> bool {
        symbol(self.image, self.symbols, number).is_some_and(|symbol| is_string(self.strings, symbol.name, name))
    }
}
