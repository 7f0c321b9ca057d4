//! Describes an object for a trace, so that a reader of the trace needs no other file.

use coldstart_elf::{ElfFile, SymbolTable, Tag, build_id};
use coldstart_profile::trace::{FileId, ObjectSegment, ObjectSymbol, TracedObject};

use super::debug_names::DebugNames;
use super::error::ObjectError;
use super::file::ObjectFile;
use super::names::names;
use super::relocation_runs::relocation_runs;
use super::sections::{LoadedSection, loaded_sections};
use super::touched::TouchedPages;

/// Describes an object for a trace. Its symbols are limited to the `touched` ones.
///
/// # Errors
/// If it is not an ELF file, or its headers are wrong, or it was shortened meanwhile. What is wrong in single tables
/// is left out.
pub fn describe(object: &ObjectFile, id: FileId, touched: &TouchedPages) -> Result<TracedObject, ObjectError> {
    let debug = match touched.is_empty() {
        true => DebugNames::None,
        false => object.read(|file| DebugNames::of(object.path(), file))?,
    };
    object.read(|file| {
        let sections = loaded_sections(file);
        let mut symbols = named(file, debug.symbols(), &sections, touched);
        if debug.shrank() {
            symbols = named(file, None, &sections, touched);
        }
        TracedObject {
            file: id,
            soname: soname(file),
            build_id: build_id(file).map(|id| id.bytes().iter().map(|byte| format!("{byte:02x}")).collect()),
            machine: file.encoding().machine,
            is_64_bit: file.encoding().word_size() == 8,
            entry: file.header().entry.0,
            segments: segments(file),
            relocations: relocation_runs(file, &sections),
            sections: sections.into_iter().map(|section| section.section).collect(),
            symbols,
        }
    })
}

fn named<'data>(
    file: &ElfFile<'data>,
    debug: Option<SymbolTable<'data>>,
    sections: &[LoadedSection],
    touched: &TouchedPages,
) -> Vec<ObjectSymbol> {
    let code = touched.code_addresses(file);
    names(file, debug, sections, &touched.ranges(file, &code), &code)
}

fn soname(file: &ElfFile<'_>) -> Option<String> {
    let dynamic = file.dynamic().ok()??;
    let name = file.dynamic_strings(&dynamic).ok()?.get(dynamic.get(Tag::SONAME)?)?;
    Some(String::from_utf8_lossy(name).into_owned())
}

fn segments(file: &ElfFile<'_>) -> Vec<ObjectSegment> {
    let segment = |segment: &coldstart_elf::Segment| ObjectSegment {
        address: segment.address.0,
        offset: segment.offset.0,
        file_size: segment.file_size,
        memory_size: segment.memory_size,
        flags: segment.flags,
    };
    let mut segments: Vec<ObjectSegment> = file.load_segments().map(segment).collect();
    segments.sort_by_key(|segment| segment.address);
    segments
}
