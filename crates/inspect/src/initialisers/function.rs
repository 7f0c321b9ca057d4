//! A function referred to by a pointer: its code, name, size and file offset.

use coldstart_elf::{ByteOrder, Class, NameRoom, UnwindTable, Vaddr, readable_name};

use super::tables::Entry;
use super::{Initialiser, SizeSource};
use crate::file_pages::page_of;
use crate::names::{NameSource, Named};
use crate::object::Object;
use crate::slots::{Target, Words};

/// `EM_PPC64`.
const POWERPC_64: u16 = 21;

/// Describes functions of one object.
pub(super) struct Describe<'object, 'data> {
    object: &'object Object<'data>,
    words: Words<'object, 'data>,
    /// For functions without a symbol; a malformed table counts as none.
    unwind: Option<UnwindTable<'data>>,
    /// For the names that are shown: in a hostile file, very many entries can be one function with a very long name.
    name_room: NameRoom,
}

/// What is known of a function before the lookup by address.
#[derive(Default)]
struct Code<'data> {
    address: Option<Vaddr>,
    /// The name by which relocation looks it up.
    wanted: Option<&'data [u8]>,
}

impl<'object, 'data> Describe<'object, 'data> {
    pub(super) fn new(object: &'object Object<'data>) -> Self {
        let unwind = UnwindTable::parse(&object.file).ok().flatten();
        Self { object, words: Words::new(&object.file), unwind, name_room: NameRoom::of(&object.file) }
    }

    pub(super) fn entry(&mut self, entry: &Entry) -> Initialiser {
        let code = self.code(entry.target);
        let named = code.address.and_then(|address| self.object.names.function_at(address));
        let (name, source) = match (named, code.wanted) {
            (Some(named), _) => (Some(named.name), Some(self.object.names.source())),
            (None, Some(wanted)) => (Some(wanted), Some(NameSource::DynamicSymbols)),
            (None, None) => (None, None),
        };
        let name = name.filter(|name| self.name_room.take(name).is_ok());
        let source = source.filter(|_| name.is_some());
        let size = code.address.and_then(|address| self.size(address, named));
        let file_offset = code.address.and_then(|address| self.object.file.offset_of(address)).map(|offset| offset.0);
        Initialiser {
            kind: entry.kind,
            slot_address: entry.slot.map(|slot| slot.0),
            address: code.address.map(|address| address.0),
            name: name.map(readable_name),
            mangled_name: name.map(|name| String::from_utf8_lossy(name).into_owned()),
            name_is_from: source,
            bytes: size.map(|(bytes, _)| bytes),
            bytes_are_from: size.map(|(_, source)| source),
            file_offset,
            page: file_offset.map(page_of),
        }
    }

    fn code(&mut self, target: Target) -> Code<'data> {
        match target {
            Target::Address(address) | Target::Chosen(address) => {
                Code { address: Some(self.code_address(address)), wanted: None }
            }
            Target::Symbol(index) => {
                let symbol = self.object.dynamic_symbols.get(index);
                let to_name = symbol.as_ref().filter(|_| !self.name_room.is_exhausted());
                let wanted = to_name.map(|symbol| self.object.dynamic_symbols.name(symbol));
                let defined = symbol.filter(|symbol| symbol.has_address());
                Code {
                    address: defined.map(|symbol| self.code_address(symbol.value)),
                    wanted: wanted.filter(|name| !name.is_empty()),
                }
            }
            Target::Other => Code::default(),
        }
    }

    /// The address of the code for a function pointer with this value.
    fn code_address(&mut self, pointer: Vaddr) -> Vaddr {
        let encoding = self.object.file.encoding();
        // The first ABI of 64-bit PowerPC: the pointer refers to three words in `.opd`, and the first is the code's
        // address. (`e_flags` is 2 for the second ABI; 0 leaves it open, and only big-endian files used the first.)
        let version = self.object.file.header().flags & 3;
        let is_descriptor = encoding.machine == POWERPC_64
            && encoding.class == Class::Elf64
            && encoding.byte_order == ByteOrder::Big
            && version != 2;
        if !is_descriptor {
            return encoding.code_address(pointer);
        }
        match self.object.slots.target_at(pointer) {
            Some(Target::Address(code)) => code,
            _ => self.words.at(pointer).filter(|word| *word != 0).map_or(pointer, Vaddr),
        }
    }

    /// Its size from `address` on.
    fn size(&self, address: Vaddr, named: Option<Named<'_>>) -> Option<(u64, SizeSource)> {
        let rest = |end: u64| end.checked_sub(address.0).filter(|bytes| *bytes > 0);
        let by_symbol = named.and_then(|named| rest(named.start.0.checked_add(named.size)?));
        if let Some(bytes) = by_symbol {
            return Some((bytes, SizeSource::Symbol));
        }
        let function = self.unwind.as_ref()?.function_at(address)?;
        rest(function.end.0).map(|bytes| (bytes, SizeSource::UnwindTable))
    }
}
