//! What an output is to differ in: nothing, or what an edit of the search for libraries says.
//!
//! The edit and the original say what may be new; the output's headers are only asked where it is. So a writer that puts
//! more there than it was asked for is found, and all checks but those that ask here are the same for every edit.

use object::elf::{ET_DYN, ET_EXEC, PF_R, PF_W, PF_X, PT_INTERP, PT_LOAD, PT_NOTE, PT_NULL, PT_PHDR, ProgramType};

use crate::edit::SearchEdit;
use crate::image::Image;
use crate::image::dynamic::tag;
use crate::image::headers::Segment;
use crate::tables::notes;
use crate::tables::relocations::relative_kind;
use crate::verdict::{NotProven, broken, differs, hex, same};

const WHAT: &str = "load segment";
const NOTE: &str = "loaded note";
/// Older kernels refuse a program header table that is larger (`ELF_MIN_ALIGN`, `load_elf_phdrs` of `fs/binfmt_elf.c`).
const TABLE_LIMIT: u64 = 4096;

/// What the output may have that the original has not.
#[derive(Debug, Default)]
pub(crate) struct Expected<'e> {
    /// The edit, if its kind changes what the file means.
    pub(crate) search: Option<&'e SearchEdit>,
    /// `PT_LOAD` that only the output has, behind all others.
    loads: Vec<Segment>,
    /// `PT_NOTE` of the loaded note.
    pub(crate) note: Option<Segment>,
}

impl<'e> Expected<'e> {
    /// Nothing new: to the loader, the output is the original.
    pub(crate) fn nothing() -> Self {
        Self::default()
    }

    /// Finds the segments that are new, and holds them against the rules for such.
    pub(crate) fn of_search(edit: &'e SearchEdit, original: &Image<'_>, output: &Image<'_>) -> Result<Self, NotProven> {
        if ![ET_EXEC, ET_DYN].contains(&original.header.kind) {
            return Err(broken(original.which, "ELF header", "e_type", "it is neither a program nor a library"));
        }
        let loads = added_loads(original, output)?;
        let note = added_note(edit, original, output, &loads)?;
        let expected = Self { search: Some(edit), loads, note };
        let kinds = |image: &Image<'_>| -> Vec<u32> {
            let old = image.segments.iter().filter(|segment| !expected.is_new(segment));
            old.map(|segment| segment.kind).filter(|kind| !may_go(original, *kind)).map(|kind| kind.0).collect()
        };
        let (from, to) = (kinds(original), kinds(output));
        if from != to {
            return Err(differs("segment", "their types, in order", format!("{from:x?}"), format!("{to:x?}")));
        }
        let size =
            |image: &Image<'_>| u64::from(image.header.program_header_size).saturating_mul(image.segments.len() as u64);
        if size(output) > TABLE_LIMIT.max(size(original)) {
            let problem = format!("their table has {} bytes, and kernels refuse more than {TABLE_LIMIT}", size(output));
            return Err(broken(output.which, "program headers", "their number", problem));
        }
        Ok(expected)
    }

    /// Whether only the output has a segment, and may have it.
    pub(crate) fn is_new(&self, segment: &Segment) -> bool {
        self.note.as_ref() == Some(segment) || self.loads.contains(segment)
    }

    /// Whether a segment stands for nothing that has to be in both files.
    pub(crate) fn ignores(&self, segment: &Segment) -> bool {
        self.is_new(segment) || (self.search.is_some() && segment.kind == PT_NULL)
    }

    /// Whether the dynamic table may stand elsewhere, and does.
    pub(crate) fn moves_dynamic(&self, original: &Image<'_>, output: &Image<'_>) -> bool {
        self.search.is_some() && original.dynamic.memory != output.dynamic.memory
    }

    /// Whether the value of an entry of the dynamic table is what the edit says, and not what it was.
    pub(crate) fn sets(&self, tag: u64) -> bool {
        self.search.is_some_and(|edit| match tag {
            tag::NEEDED | tag::RPATH | tag::RUNPATH => true,
            tag::AUDIT => edit.audit.is_some(),
            _ => false,
        })
    }

    /// Load biases at which memory is compared: for a program that is linked to a place, that place alone.
    pub(crate) fn load_biases(&self, original: &Image<'_>, usual: [u64; 3]) -> Vec<u64> {
        if self.is_fixed(original) { vec![0] } else { usual.to_vec() }
    }

    /// Whether pointers of the object need no relocations, so that none shows them: it is loaded where it was linked to, and
    /// nowhere else.
    pub(crate) fn is_fixed(&self, original: &Image<'_>) -> bool {
        self.search.is_some() && original.header.kind == ET_EXEC
    }
}

/// Program headers that say nothing may give their places to new ones: `PT_NULL`, and `PT_PHDR` of what is no program
/// (`rtld_setup_main_map` of glibc looks at the program's own only).
fn may_go(original: &Image<'_>, kind: ProgramType) -> bool {
    kind == PT_NULL || (kind == PT_PHDR && original.segments_of(PT_INTERP).next().is_none())
}

/// New segments behind those of the original, which stay as they are; or more of the last of them.
fn added_loads(original: &Image<'_>, output: &Image<'_>) -> Result<Vec<Segment>, NotProven> {
    let (from, to): (Vec<&Segment>, Vec<&Segment>) = (original.loads().collect(), output.loads().collect());
    let added = to.get(from.len()..).unwrap_or(&[]);
    if to.len() < from.len() || added.len() > 2 {
        return Err(differs(WHAT, "their number", from.len(), to.len()));
    }
    for (number, (old, new)) in from.iter().zip(&to).enumerate() {
        let field = |name: &str| format!("{name} of number {number}");
        same(WHAT, field("p_vaddr"), old.address, new.address)?;
        same(WHAT, field("p_flags"), old.flags.0, new.flags.0)?;
        same(WHAT, field("p_align"), old.align, new.align)?;
        let is_last = number.checked_add(1) == Some(from.len());
        let grown = is_last && (new.file_size > old.file_size || new.memory_size > old.memory_size);
        if grown {
            check_growth(output, old, new, !added.is_empty())?;
        } else {
            same(WHAT, field("p_filesz"), old.file_size, new.file_size)?;
            same(WHAT, field("p_memsz"), old.memory_size, new.memory_size)?;
        }
    }
    for (number, load) in added.iter().enumerate() {
        let before = to.get(from.len().saturating_add(number).saturating_sub(1));
        check_added(original, output, before.copied(), load)?;
    }
    Ok(added.iter().map(|load| **load).collect())
}

fn check_growth(output: &Image<'_>, old: &Segment, new: &Segment, others: bool) -> Result<(), NotProven> {
    let wrong = |problem: &str| Err(broken(output.which, WHAT, hex(new.address), problem));
    if old.memory_size != old.file_size || new.memory_size != new.file_size {
        return wrong("it grows where memory is filled with zeros");
    }
    if new.flags.contains(PF_X) {
        return wrong("it grows, though it is executable");
    }
    if others { wrong("it grows, and there are new ones, too") } else { Ok(()) }
}

fn check_added(
    original: &Image<'_>,
    output: &Image<'_>,
    before: Option<&Segment>,
    load: &Segment,
) -> Result<(), NotProven> {
    let wrong = |problem: &str| Err(broken(output.which, WHAT, hex(load.address), problem));
    let Some(before) = before else { return wrong("it is new, but the original has none") };
    let known = original.loads().any(|old| old.align == load.align && old.align >= before.align);
    if !known {
        return wrong("it is new, and its alignment is none of the original's, or less than that of the one before it");
    }
    // Kernels and loaders reserve the whole span of a position-independent object at once: a hole costs addresses.
    let hole = load.address.saturating_sub(before.memory().end);
    if hole > load.align.max(1).saturating_mul(2) {
        return wrong("it is new, and leaves a hole of more than two alignments");
    }
    if load.file_size == 0 || load.file_size != load.memory_size {
        return wrong("it is new, and not all of it is in the file");
    }
    if ![PF_R, PF_R | PF_W].contains(&load.flags) {
        return wrong("it is new, and not just readable, or readable and writable");
    }
    let shift = |segment: &Segment| segment.physical.wrapping_sub(segment.address);
    same(WHAT, format!("{:#x} (physical address)", load.address), shift(before), shift(load))
}

/// The `PT_NOTE` that the edit asks for, with exactly its bytes.
fn added_note(
    edit: &SearchEdit,
    original: &Image<'_>,
    output: &Image<'_>,
    loads: &[Segment],
) -> Result<Option<Segment>, NotProven> {
    let Some(note) = &edit.loaded_note else { return Ok(None) };
    if notes::may_be_loaded(output, &note.bytes) != Some(true) {
        let problem = "its bytes are no whole notes, or some are of GNU, which say to loaders what the object is";
        return Err(broken(output.which, NOTE, "the edit", problem));
    }
    let is_it = |segment: &&Segment| {
        segment.kind == PT_NOTE
            && segment.memory_size == segment.file_size
            && output.at(segment.backed()) == Some(note.bytes.as_slice())
            && output.file(segment.offset, segment.file_size) == Some(note.bytes.as_slice())
    };
    let Some(found) = output.segments.iter().rev().find(is_it).copied() else {
        return Err(differs(NOTE, "PT_NOTE", "asked for", "none with its bytes"));
    };
    if found.flags != PF_R || found.align != 4 || found.address.checked_rem(4) != Some(0) {
        return Err(broken(output.which, NOTE, hex(found.address), "it is not just readable, or not aligned to 4"));
    }
    let shift = |segment: &Segment| segment.physical.wrapping_sub(segment.address);
    let last = loads.last().or_else(|| original.loads().last());
    same(NOTE, "p_paddr", last.map_or(0, shift), shift(&found))?;
    match output.offset_of(found.address) == Some(found.offset) {
        true => Ok(Some(found)),
        false => {
            Err(broken(output.which, NOTE, hex(found.address), "its place in the file is not that of its address"))
        }
    }
}

/// A dynamic table that moved: where it may be, and in which files.
pub(crate) fn check_moved_dynamic(original: &Image<'_>, output: &Image<'_>) -> Result<(), NotProven> {
    const WHAT: &str = "dynamic table";
    let (old, new) = (&original.dynamic.memory, &output.dynamic.memory);
    let wrong = |problem: &str| Err(broken(output.which, WHAT, hex(new.start), problem));
    // The loader itself and static programs find their table by their own code, before anything is relocated.
    if original.segments_of(PT_INTERP).next().is_none() {
        return wrong("it has moved, but a file without PT_INTERP may look for it where it was");
    }
    if relative_kind(original.header.machine, original.encoding.wide).is_none() {
        return wrong("it has moved, but which words point to it is not known for this machine");
    }
    let end = original.loads().map(|load| load.memory().end).max().unwrap_or(0);
    if new.start < end {
        return wrong("it has moved, but not behind all that was there");
    }
    let word = output.word_size();
    let size = new.end.saturating_sub(new.start);
    if new.start.checked_rem(word) != Some(0) || size.checked_rem(word.saturating_mul(2)) != Some(0) {
        return wrong("it is not aligned, or not whole");
    }
    // elf_get_dynamic_info of glibc adds the load bias to values in place, and rtld.c sets DT_DEBUG.
    let writable =
        |image: &Image<'_>, address: u64| image.piece(address).is_some_and(|piece| piece.flags.contains(PF_W));
    if writable(original, old.start) && !writable(output, new.start) {
        return wrong("loaders write into it, but it is not writable any more");
    }
    // An offset from the entry itself.
    if original.dynamic.get(tag::MIPS_RLD_MAP_REL).is_some() {
        return wrong("it has moved, but an entry's value is relative to its own place (DT_MIPS_RLD_MAP_REL)");
    }
    match output.segments.iter().filter(|segment| segment.kind == PT_LOAD).any(|load| {
        let backed = load.backed();
        backed.start <= new.start && new.end <= backed.end
    }) {
        true => Ok(()),
        false => wrong("it is not in one segment"),
    }
}
