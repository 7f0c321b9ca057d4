//! Classifies sections by name and address.
//!
//! Names come first, as linkers agree on them; for others the access rights of the segment decide. What a newcomer
//! would not guess: most of what is read-only after relocation looks like data, and a trace does not keep
//! PT_GNU_RELRO, so it is told from the names that linkers put there (binutils `scripttempl/elf.sc`, lld
//! `isRelroSection`).

use coldstart_profile::trace::{ObjectSection, ObjectSegment, TracedObject};

/// `PF_X`.
const EXECUTE: u32 = 1;
/// `PF_W`.
const WRITE: u32 = 2;
/// How many sections are asked whether they show that one in front of them is read-only after relocation. There are a
/// handful, and a hostile file must not make us ask each of all.
const ASKED: usize = 64;

/// Names by class; what follows after a dot makes no difference (`.text.unlikely`).
const CLASSES: [(&str, &[&str]); 7] = [
    ("relocations", &[".rela", ".rel", ".relr", ".gnu.conflict"]),
    ("symbols", &[".dynsym", ".dynstr", ".hash", ".gnu.hash", ".gnu.liblist", ".symtab", ".strtab"]),
    (
        "unwind",
        &[
            ".eh_frame",
            ".eh_frame_hdr",
            ".gcc_except_table",
            ".debug_frame",
            ".sframe",
            ".ARM.exidx",
            ".ARM.extab",
            ".IA_64.unwind",
            ".IA_64.unwind_info",
        ],
    ),
    (
        "relro",
        &[
            ".data.rel.ro",
            ".bss.rel.ro",
            ".relro_padding",
            ".init_array",
            ".fini_array",
            ".preinit_array",
            ".ctors",
            ".dtors",
            ".jcr",
            ".dynamic",
            ".tdata",
        ],
    ),
    ("code", &[".text", ".plt", ".iplt", ".init", ".fini", ".ltext"]),
    ("constants", &[".rodata", ".lrodata", ".stapsdt", ".gopclntab"]),
    ("other", &[".note", ".interp", ".gnu.build.attributes"]),
];

/// The id of a section's class among `sections` of the palette.
pub(crate) fn section_class(section: &ObjectSection, object: &TracedObject) -> &'static str {
    let name = section.name.as_str();
    if let Some(class) = by_name(name) {
        return class;
    }
    if section.is_zero_filled {
        return "zeros";
    }
    let Some(segment) = segment_of(section, object) else { return "other" };
    if segment.flags & EXECUTE != 0 {
        // Older linkers put everything that is not written to into one segment with the code.
        if has_read_only_segment(object) { "code" } else { "other" }
    } else if segment.flags & WRITE == 0 {
        "constants"
    } else if is_before_relro(section, segment, object) {
        "relro"
    } else {
        "data"
    }
}

fn by_name(name: &str) -> Option<&'static str> {
    if name == ".got" {
        return Some("relro");
    }
    if name.starts_with(".gnu.version") {
        return Some("symbols");
    }
    let is = |stem: &str| name.strip_prefix(stem).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    CLASSES.iter().find(|(_, stems)| stems.iter().any(|stem| is(stem))).map(|(class, _)| *class)
}

/// What becomes read-only begins with its segment and ends after `.got`, so all in front of such a section is of it:
/// lists of a library's own, like `__libc_IO_vtables`. `.got.plt` is after it, and is of it only where lld and mold,
/// asked to bind at once, give the part a segment of its own in front of that of the data.
fn is_before_relro(section: &ObjectSection, segment: &ObjectSegment, object: &TracedObject) -> bool {
    if section.name == ".got.plt" {
        return object.segments.iter().any(|other| other.flags & WRITE != 0 && other.address > segment.address);
    }
    let is_data = section.name == ".data" || section.name.starts_with(".data.");
    let end = segment.address.saturating_add(segment.memory_size);
    let behind = object.sections.partition_point(|other| other.address <= section.address);
    let mut others = object.sections.iter().skip(behind).take(ASKED).take_while(|other| other.address < end);
    !is_data && others.any(|other| !other.is_zero_filled && by_name(&other.name) == Some("relro"))
}

fn segment_of<'a>(section: &ObjectSection, object: &'a TracedObject) -> Option<&'a ObjectSegment> {
    object
        .segments
        .iter()
        .find(|segment| section.address.checked_sub(segment.address).is_some_and(|inside| inside < segment.memory_size))
}

fn has_read_only_segment(object: &TracedObject) -> bool {
    object.segments.iter().any(|segment| segment.flags & (EXECUTE | WRITE) == 0)
}

#[cfg(test)]
mod tests {
    use coldstart_profile::trace::FileId;

    use super::*;
    use crate::palette::Palette;

    fn segment(address: u64, flags: u32) -> ObjectSegment {
        ObjectSegment { address, offset: address, file_size: 0x1000, memory_size: 0x1000, flags }
    }

    fn object(segments: Vec<ObjectSegment>) -> TracedObject {
        TracedObject {
            file: FileId(0),
            soname: None,
            build_id: None,
            machine: 62,
            is_64_bit: true,
            entry: 0,
            segments,
            sections: Vec::new(),
            symbols: Vec::new(),
            relocations: Vec::new(),
        }
    }

    fn class(name: &str, address: u64, object: &TracedObject) -> &'static str {
        let is_zero_filled = name.contains("bss");
        let section =
            ObjectSection { name: name.to_owned(), address, offset: address, size: 8, entry_size: 0, is_zero_filled };
        let class = section_class(&section, object);
        assert!(Palette::get().section(class).is_some(), "{class} has no colour");
        class
    }

    #[test]
    fn names_tell() {
        let object = object(vec![segment(0, 4), segment(0x1000, 5), segment(0x2000, 6)]);
        let expected = [
            (".rela.dyn", "relocations"),
            (".relr.dyn", "relocations"),
            (".rel.plt", "relocations"),
            (".gnu.version_r", "symbols"),
            (".gnu.hash", "symbols"),
            (".text.unlikely", "code"),
            (".plt.got", "code"),
            (".init", "code"),
            (".init_array", "relro"),
            (".data.rel.ro.local", "relro"),
            (".data.rel.ro", "relro"),
            (".got", "relro"),
            (".tdata", "relro"),
            (".got.plt", "data"),
            (".data", "data"),
            (".tbss", "zeros"),
            (".bss", "zeros"),
            (".bss.rel.ro", "relro"),
            (".eh_frame_hdr", "unwind"),
            (".gcc_except_table", "unwind"),
            (".rodata.str1.1", "constants"),
            (".note.gnu.build-id", "other"),
        ];
        for (name, is) in expected {
            assert_eq!(class(name, 0x2000, &object), is, "{name}");
        }
    }

    #[test]
    fn places_tell_what_names_do_not() {
        let modern = object(vec![segment(0, 4), segment(0x1000, 5), segment(0x2000, 6)]);
        let places = [0x10, 0x1010, 0x2010, 0x9000].map(|address| class("mine", address, &modern));
        assert_eq!(places, ["constants", "code", "data", "other"]);
        let old = object(vec![segment(0, 5), segment(0x2000, 6)]);
        assert_eq!(class("mine", 0x10, &old), "other");
        let of_lld = object(vec![segment(0, 4), segment(0x2000, 6), segment(0x4000, 6)]);
        assert_eq!((class(".got.plt", 0x2010, &of_lld), class(".got.plt", 0x4010, &of_lld)), ("relro", "data"));
    }

    #[test]
    fn what_stands_before_the_global_offset_table_is_read_only_as_well() {
        let mut object = object(vec![segment(0, 5), segment(0x2000, 6)]);
        let section = |name: &str, address| ObjectSection {
            name: name.to_owned(),
            address,
            offset: address,
            size: 8,
            entry_size: 0,
            is_zero_filled: false,
        };
        let names =
            [("__libc_atexit", 0x2000), (".data", 0x2010), (".got", 0x2020), (".got.plt", 0x2030), ("mine", 0x2040)];
        object.sections = names.map(|(name, address)| section(name, address)).into();
        let classes = names.map(|(name, address)| class(name, address, &object));
        assert_eq!(classes, ["relro", "data", "relro", "data", "data"]);
    }
}
