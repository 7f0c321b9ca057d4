//! The requirements for packing a file.

use coldstart_elf::{ByteOrder, Class, DynamicTable, ElfFile, FileType, Symbol, Tag};

use super::decision::PackOptions;
use super::relatives::TableTags;
use crate::anatomy::check_parts;
use crate::libc_floor::LibcFloor;
use crate::refusal::Refusal;

/// Architectures whose packed files we have run: x86-64, i386, AArch64, ARM, RISC-V (`e_machine`), with the required
/// class.
const MACHINES: &[(u16, Option<Class>)] =
    &[(62, Some(Class::Elf64)), (3, None), (183, Some(Class::Elf64)), (40, None), (243, Some(Class::Elf64))];

/// Tags that relrhack hides from loaders: the official ones with this bit (its source, `relrhack.cpp`).
const RELRHACK: u64 = 0x0800_0000;

/// Refuses files other than supported shared objects.
pub(super) fn check_file(file: &ElfFile<'_>) -> Result<(), Refusal> {
    match file.header().file_type {
        FileType::Dynamic => {}
        FileType::Executable => return Err(Refusal::NotDynamic("a program at a fixed address")),
        FileType::Relocatable => return Err(Refusal::NotDynamic("an object file or a kernel module")),
        FileType::Core => return Err(Refusal::NotDynamic("a core dump")),
        FileType::Other(_) => return Err(Refusal::NotDynamic("of an undefined type")),
    }
    let encoding = file.encoding();
    let known = MACHINES
        .iter()
        .any(|(machine, class)| *machine == encoding.machine && class.is_none_or(|class| class == encoding.class));
    if !known || encoding.byte_order != ByteOrder::Little {
        let bits = if encoding.word_size() == 4 { 32 } else { 64 };
        let end = if encoding.byte_order == ByteOrder::Big { "big" } else { "little" };
        return Err(Refusal::Machine(format!("{} ({bits} bits, {end}-endian)", encoding.machine)));
    }
    check_parts(file)
}

/// Refuses objects edited by other tools, and those that relocate themselves.
pub(super) fn check_dynamic(file: &ElfFile<'_>, dynamic: &DynamicTable<'_>) -> Result<(), Refusal> {
    let is_elfhack = |name: &[u8]| name.starts_with(b".elfhack");
    if file.sections().iter().any(|section| is_elfhack(section.name)) {
        return Err(Refusal::PackedByOther("elfhack"));
    }
    let hidden = [Tag::RELR, Tag::RELRSZ, Tag::RELRENT].map(|tag| Tag(tag.0 | RELRHACK));
    if dynamic.entries().any(|entry| hidden.contains(&entry.tag)) {
        return Err(Refusal::PackedByOther("relrhack"));
    }
    if dynamic.get(Tag::ANDROID_REL).or(dynamic.get(Tag::ANDROID_RELA)).is_some() {
        return Err(Refusal::AndroidPacked);
    }
    if dynamic.get(Tag::GNU_PRELINKED).is_some() {
        return Err(Refusal::Prelinked("DT_GNU_PRELINKED"));
    }
    if file.section(".gnu.prelink_undo").is_some() {
        return Err(Refusal::Prelinked(".gnu.prelink_undo"));
    }
    if dynamic.has_text_relocations() {
        return Err(Refusal::TextRelocations);
    }
    match relocates_itself(file, dynamic)? {
        Some(why) => Err(Refusal::RelocatesItself(why)),
        None => Ok(()),
    }
}

/// Symbols defined only by loaders: glibc's `rtld` and musl's libc, which is its own loader.
const OF_LOADERS: &[&[u8]] = &[b"_r_debug", b"_dl_debug_state", b"_rtld_global", b"_dlstart"];

/// Whether no loader relocates the object, and the evidence.
///
/// An entry point alone is no evidence: mold and old GNU linkers set one in every library.
fn relocates_itself(file: &ElfFile<'_>, dynamic: &DynamicTable<'_>) -> Result<Option<&'static str>, Refusal> {
    if file.interpreter().is_some() {
        return Ok(None);
    }
    if dynamic.is_pie() {
        return Ok(Some("a static position-independent program"));
    }
    if file.header().entry.0 == 0 || dynamic.get(Tag::NEEDED).is_some() {
        return Ok(None);
    }
    let symbols = file.dynamic_symbols(dynamic)?;
    let mut defined = symbols.iter().filter(Symbol::has_address).peekable();
    if dynamic.get(Tag::DEBUG).is_some() || defined.peek().is_none() {
        return Ok(Some("a static position-independent program"));
    }
    let is_loader = defined.any(|symbol| OF_LOADERS.iter().any(|name| symbols.is_named(&symbol, name)));
    Ok(is_loader.then_some("a dynamic loader"))
}

/// Refuses duplicate tags, where loaders differ in using the first or the last.
pub(super) fn check_tags(dynamic: &DynamicTable<'_>, relocations: &TableTags, machine: u16) -> Result<(), Refusal> {
    let single = [
        Tag::HASH,
        Tag::GNU_HASH,
        Tag::SYMTAB,
        Tag::STRTAB,
        Tag::STRSZ,
        Tag::VERSYM,
        Tag::VERDEF,
        Tag::VERNEED,
        Tag::JMPREL,
        Tag::PLTRELSZ,
        Tag::FLAGS,
        Tag::FLAGS_1,
        relocations.address,
        relocations.size,
        relocations.entry_size,
        relocations.relative_count,
    ];
    if let Some(tag) = [Tag::RELRSZ, Tag::RELRENT].into_iter().find(|tag| dynamic.get(*tag).is_some()) {
        return Err(Refusal::Layout(format!("it has {} without DT_RELR", tag.name(machine))));
    }
    match single.into_iter().find(|tag| dynamic.all(*tag).nth(1).is_some()) {
        Some(tag) => Err(Refusal::RepeatedTag(tag.name(machine))),
        None => Ok(()),
    }
}

/// The C library that an object is built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Library {
    Glibc,
    Musl,
    Android,
    /// None, or an unknown one.
    Unknown,
}

/// Refuses if the loader that will read the file may not support RELR.
pub(super) fn check_libc(file: &ElfFile<'_>, dynamic: &DynamicTable<'_>, options: &PackOptions) -> Result<(), Refusal> {
    if let Some(floor) = options.libc_floor {
        return match floor.reads_relr() {
            true => Ok(()),
            false => Err(Refusal::LoaderTooOld { floor, first: floor.first_with_relr() }),
        };
    }
    match library(file, dynamic)? {
        Library::Glibc | Library::Unknown => Ok(()),
        Library::Musl => {
            Err(Refusal::LibcUnknown { library: "musl", first: LibcFloor::Musl(0, 0, 0).first_with_relr() })
        }
        Library::Android => {
            Err(Refusal::LibcUnknown { library: "Android", first: LibcFloor::Android(0).first_with_relr() })
        }
    }
}

/// Whether an object needs glibc.
pub(super) fn is_for_glibc(file: &ElfFile<'_>, dynamic: &DynamicTable<'_>) -> Result<bool, Refusal> {
    Ok(library(file, dynamic)? == Library::Glibc)
}

fn library(file: &ElfFile<'_>, dynamic: &DynamicTable<'_>) -> Result<Library, Refusal> {
    let interpreter = file.interpreter().unwrap_or_default();
    let strings = file.dynamic_strings(dynamic)?;
    let needs = |wanted: &[u8]| dynamic.all(Tag::NEEDED).any(|at| strings.get(at) == Some(wanted));
    let needs_musl =
        dynamic.all(Tag::NEEDED).any(|at| strings.get(at).is_some_and(|name| name.starts_with(b"libc.musl-")));
    let has = |text: &[u8]| interpreter.windows(text.len()).any(|part| part == text);
    if needs(b"libc.so.6") {
        return Ok(Library::Glibc);
    }
    if has(b"ld-musl") || needs_musl {
        return Ok(Library::Musl);
    }
    if has(b"/linker") || file.section(".note.android.ident").is_some() {
        return Ok(Library::Android);
    }
    // Both musl and bionic use this name; bionic's objects are marked.
    Ok(if needs(b"libc.so") { Library::Musl } else { Library::Unknown })
}
