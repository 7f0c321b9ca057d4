//! The requirements for changing a file's library search.

use coldstart_elf::{
    ByteOrder, DynamicTable, ElfFile, FileType, RelocationClass, RelocationClasses, Tag, Vaddr, VaddrSpan,
};

use super::room::Room;
use crate::anatomy::{check_parts, tables, tail};
use crate::refusal::Refusal;

/// Architectures whose rewritten files we have run (`e_machine`): i386, ARM, x86-64, AArch64, RISC-V. Others have
/// tags relative to the dynamic table's own address (MIPS), or are untested.
const MACHINES: [u16; 5] = [3, 40, 62, 183, 243];

/// Refuses files other than supported dynamic objects.
pub(super) fn check(file: &ElfFile<'_>, dynamic: &DynamicTable<'_>) -> Result<(), Refusal> {
    match file.header().file_type {
        FileType::Dynamic | FileType::Executable => {}
        FileType::Relocatable => return Err(Refusal::NotLoaded("an object file or a kernel module")),
        FileType::Core => return Err(Refusal::NotLoaded("a core dump")),
        FileType::Other(_) => return Err(Refusal::NotLoaded("of an undefined type")),
    }
    let encoding = file.encoding();
    if !MACHINES.contains(&encoding.machine) || encoding.byte_order != ByteOrder::Little {
        let end = if encoding.byte_order == ByteOrder::Big { "big" } else { "little" };
        return Err(Refusal::UntriedMachine(format!("{} ({end}-endian)", encoding.machine)));
    }
    check_parts(file)?;
    if file.sections().iter().any(|section| section.name.starts_with(b".elfhack")) {
        return Err(Refusal::PackedByOther("elfhack"));
    }
    // They contain addresses of the libraries needed at that time.
    if dynamic.get(Tag::GNU_PRELINKED).is_some() || file.section(".gnu.prelink_undo").is_some() {
        return Err(Refusal::Prelinked("DT_GNU_PRELINKED"));
    }
    let single = [Tag::STRTAB, Tag::STRSZ, Tag::RPATH, Tag::RUNPATH, Tag::AUDIT];
    if let Some(tag) = single.into_iter().find(|tag| dynamic.all(*tag).nth(1).is_some()) {
        return Err(Refusal::RepeatedTag(tag.name(encoding.machine)));
    }
    tail::check_gaps(file)
}

/// Refuses pointers into moved tables: from the dynamic table, symbols and relocated words.
pub(super) fn check_pointers(
    file: &ElfFile<'_>,
    dynamic: &DynamicTable<'_>,
    room: &Room,
    dynamic_moves: bool,
) -> Result<(), Refusal> {
    let mut moving = vec![room.strings.memory];
    if let Some(grown) = &room.grown {
        tables::check_pointers(file, dynamic, &grown.run, Tag::STRTAB)?;
        moving.push(grown.run.memory_span());
    }
    if dynamic_moves {
        moving.push(VaddrSpan::new(dynamic.address(), dynamic.size())?);
    }
    let inside = |address: &Vaddr| moving.iter().any(|range| range.contains(*address));
    let relocations = file.dynamic_relocations(dynamic)?;
    let mask = if file.encoding().word_size() == 4 { u64::from(u32::MAX) } else { u64::MAX };
    let held = |address: Vaddr| file.memory_from(address).and_then(|bytes| file.encoding().word(bytes));
    let mut classes = RelocationClasses::new(file.encoding().machine);
    let mut pointing = None;
    for table in relocations.all_tables() {
        table.for_each(|relocation| {
            let class = classes.of(relocation.kind);
            if !matches!(class, RelocationClass::Relative | RelocationClass::IndirectRelative) {
                return;
            }
            let target = relocation.addend.map(|addend| addend as u64 & mask).or_else(|| held(relocation.offset));
            if let Some(target) = target.map(Vaddr).filter(inside) {
                pointing.get_or_insert((relocation.offset, target));
            }
        });
    }
    if let Some((word, address)) = pointing {
        return Err(Refusal::PointedTo { word, address });
    }
    for word in relocations.relr.iter().flat_map(|relr| relr.addresses()) {
        if let Some(address) = held(word).map(Vaddr).filter(inside) {
            return Err(Refusal::PointedTo { word, address });
        }
    }
    Ok(())
}
