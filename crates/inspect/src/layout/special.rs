//! Rare features with a cost: text relocations, copy relocations, executable stacks, static thread-local storage,
//! indirect functions.

use coldstart_elf::{Relocation, RelocationClass, RelocationClasses, SegmentKind, SymbolKind};
use serde::Serialize;

use super::text;
use crate::file_pages::page_of;
use crate::object::Object;
use crate::slots::Target;
use crate::writable::Writable;

/// `DF_STATIC_TLS`.
const STATIC_TLS: u64 = 0x10;
/// How many copied variables are listed.
const NAMED: usize = 5;

/// Rare features of a file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Special {
    /// Relocations in read-only memory.
    pub text_relocations: TextRelocations,
    /// Library variables that are copied into the program.
    pub copy_relocations: CopyRelocations,
    /// The stack's permissions.
    pub stack: Stack,
    /// Whether it uses static thread-local storage (`DF_STATIC_TLS`).
    pub has_static_tls: bool,
    /// Pointers set by a resolver at the start (`IRELATIVE`).
    pub chosen_functions: u64,
    /// Indirect functions in the dynamic symbol table (`STT_GNU_IFUNC`).
    pub indirect_function_symbols: u64,
}

/// Relocations in read-only segments. The loader makes the whole segment writable for them, and processes no longer
/// share the changed pages.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TextRelocations {
    /// Whether the file declares them (`DT_TEXTREL`, `DF_TEXTREL`).
    pub is_marked: bool,
    /// Number of relocated words in such segments.
    pub words: u64,
    /// Number of 4 KiB pages with such words.
    pub pages: u64,
}

/// Copied variables (`R_*_COPY`).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CopyRelocations {
    /// Number of variables.
    pub count: u64,
    /// Size of all of them in bytes.
    pub bytes: u64,
    /// The largest few, largest first.
    pub largest: Vec<CopiedVariable>,
}

/// A variable copied from a library.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CopiedVariable {
    /// Its name in the symbol table.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
}

/// Whether a file requests an executable stack (`PT_GNU_STACK`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stack {
    /// It does.
    Executable,
    /// It does not.
    NotExecutable,
    /// Unspecified; some architectures then make the stack executable.
    Unmarked,
}

pub(super) fn special(object: &Object<'_>) -> Special {
    let dynamic = object.dynamic.as_ref();
    let symbols = object.dynamic_symbols.iter();
    let indirect = symbols.filter(|symbol| symbol.is_defined() && symbol.kind == SymbolKind::IndirectFunction);
    let chosen = object.slots.iter().filter(|slot| matches!(slot.target, Target::Chosen(_)));
    Special {
        text_relocations: text_relocations(object),
        copy_relocations: copy_relocations(object),
        stack: match object.file.segment(SegmentKind::Stack) {
            Some(segment) if segment.is_executable() => Stack::Executable,
            Some(_) => Stack::NotExecutable,
            None => Stack::Unmarked,
        },
        has_static_tls: dynamic.is_some_and(|dynamic| dynamic.flags() & STATIC_TLS != 0),
        chosen_functions: chosen.count() as u64,
        indirect_function_symbols: indirect.count() as u64,
    }
}

fn text_relocations(object: &Object<'_>) -> TextRelocations {
    let is_marked = object.dynamic.as_ref().is_some_and(|dynamic| dynamic.has_text_relocations());
    let mut found = TextRelocations { is_marked, words: 0, pages: 0 };
    let mut last_page = None;
    let mut writable = Writable::new(&object.file);
    for slot in object.slots.iter() {
        if writable.at(slot.address) != Some(false) {
            continue;
        }
        found.words = found.words.saturating_add(1);
        let page = Some(page_of(slot.address.0));
        if page != last_page {
            found.pages = found.pages.saturating_add(1);
            last_page = page;
        }
    }
    found
}

fn copy_relocations(object: &Object<'_>) -> CopyRelocations {
    let mut classes = RelocationClasses::new(object.file.encoding().machine);
    let mut found = CopyRelocations::default();
    let mut symbols: Vec<(u64, u32)> = Vec::new();
    let mut visit = |relocation: Relocation| {
        // A copy always has a symbol; most relocations have none.
        if relocation.symbol != 0 && classes.of(relocation.kind) == RelocationClass::Copy {
            let bytes = object.dynamic_symbols.get(relocation.symbol).map_or(0, |symbol| symbol.size);
            found.count = found.count.saturating_add(1);
            found.bytes = found.bytes.saturating_add(bytes);
            symbols.push((bytes, relocation.symbol));
        }
    };
    object.relocations.tables().for_each(|table| table.for_each(&mut visit));
    symbols.sort_by_key(|(bytes, symbol)| (std::cmp::Reverse(*bytes), *symbol));
    let name = |symbol: u32| text(object.dynamic_symbols.name_at(symbol));
    found.largest = symbols
        .iter()
        .take(NAMED)
        .map(|(bytes, symbol)| CopiedVariable { name: name(*symbol), bytes: *bytes })
        .collect();
    found
}
