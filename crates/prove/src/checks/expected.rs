//! The expected differences of an output: none, those of a search edit, or bound references.
//!
//! The edit and the original determine what may be new; the output's headers only give its location. So a writer that
//! adds more than requested is detected, and all checks that do not ask here are the same for every edit.

use object::elf::{ET_DYN, ET_EXEC, PF_R, PF_W, PF_X, PT_INTERP, PT_LOAD, PT_NOTE, PT_NULL, PT_PHDR, ProgramType};

use super::pure_virtual::Jump;
use super::stub::Stub;
use crate::edit::{BindEdit, SearchEdit};
use crate::image::Image;
use crate::image::dynamic::tag;
use crate::image::headers::Segment;
use crate::tables::notes;
use crate::tables::relocations::relative_kind;
use crate::verdict::{NotProven, broken, differs, hex, same};

const WHAT: &str = "load segment";
const NOTE: &str = "loaded note";
/// Older kernels refuse a larger program header table (`ELF_MIN_ALIGN`, `load_elf_phdrs` of `fs/binfmt_elf.c`).
const TABLE_LIMIT: u64 = 4096;

/// The allowed differences of the output.
#[derive(Debug, Default)]
pub(crate) struct Expected<'e> {
    /// The edit, if it changes the search for libraries.
    pub(crate) search: Option<&'e SearchEdit>,
    /// The edit, if it binds references.
    pub(crate) bind: Option<&'e BindEdit>,
    /// The jump to pure virtual functions, if the edit has one.
    pub(crate) jump: Option<Jump>,
    /// The stub, if the output relocates itself.
    pub(crate) stub: Option<Stub>,
    /// `PT_LOAD` segments only in the output, after all others.
    loads: Vec<Segment>,
    /// `PT_NOTE` of the loaded note.
    pub(crate) note: Option<Segment>,
}

impl<'e> Expected<'e> {
    /// References to own definitions may be bound.
    pub(crate) fn of_bind(edit: &'e BindEdit) -> Self {
        Self { bind: Some(edit), ..Self::default() }
    }

    /// Finds the new segments and checks them.
    pub(crate) fn of_search(edit: &'e SearchEdit, original: &Image<'_>, output: &Image<'_>) -> Result<Self, NotProven> {
        if ![ET_EXEC, ET_DYN].contains(&original.header.kind) {
            return Err(broken(original.which, "ELF header", "e_type", "neither a program nor a library"));
        }
        let loads = added_loads(original, output)?;
        let note = added_note(edit, original, output, &loads)?;
        let expected = Self { search: Some(edit), bind: None, jump: None, stub: None, loads, note };
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
            let problem = format!("their table has {} bytes; kernels refuse more than {TABLE_LIMIT}", size(output));
            return Err(broken(output.which, "program headers", "their number", problem));
        }
        Ok(expected)
    }

    /// Whether a segment is expected only in the output.
    pub(crate) fn is_new(&self, segment: &Segment) -> bool {
        self.note.as_ref() == Some(segment) || self.loads.contains(segment)
    }

    /// Whether a segment has no meaning that both files must share.
    pub(crate) fn ignores(&self, segment: &Segment) -> bool {
        self.is_new(segment) || (self.search.is_some() && segment.kind == PT_NULL)
    }

    /// Whether the dynamic table may move, and did.
    pub(crate) fn moves_dynamic(&self, original: &Image<'_>, output: &Image<'_>) -> bool {
        self.search.is_some() && original.dynamic.memory != output.dynamic.memory
    }

    /// Whether an entry's value comes from the edit instead of the original.
    pub(crate) fn sets(&self, tag: u64) -> bool {
        self.search.is_some_and(|edit| match tag {
            tag::NEEDED | tag::RPATH | tag::RUNPATH => true,
            tag::AUDIT => edit.audit.is_some(),
            _ => false,
        })
    }

    /// Whether an entry leads to the stub, which has been found to go on to what the original's leads to.
    pub(crate) fn leads_to_stub(&self, tag: u64) -> bool {
        tag == tag::INIT && self.stub.is_some()
    }

    /// Load biases for comparing memory: only 0 for a program at fixed addresses.
    pub(crate) fn load_biases(&self, original: &Image<'_>, usual: [u64; 3]) -> Vec<u64> {
        if self.is_fixed(original) { vec![0] } else { usual.to_vec() }
    }

    /// Whether the object has pointers without relocations: it is loaded only at its fixed addresses.
    pub(crate) fn is_fixed(&self, original: &Image<'_>) -> bool {
        self.search.is_some() && original.header.kind == ET_EXEC
    }
}

/// Program headers without meaning may be replaced by new ones: `PT_NULL`, and `PT_PHDR` of files other than programs
/// (`rtld_setup_main_map` of glibc reads only the program's).
fn may_go(original: &Image<'_>, kind: ProgramType) -> bool {
    kind == PT_NULL || (kind == PT_PHDR && original.segments_of(PT_INTERP).next().is_none())
}

/// New segments after those of the original, which are unchanged; or a longer last segment.
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
        return wrong("it grows over zero-filled memory");
    }
    if new.flags.contains(PF_X) {
        return wrong("it grows, but is executable");
    }
    if others { wrong("it grows although there are new ones") } else { Ok(()) }
}

fn check_added(
    original: &Image<'_>,
    output: &Image<'_>,
    before: Option<&Segment>,
    load: &Segment,
) -> Result<(), NotProven> {
    let wrong = |problem: &str| Err(broken(output.which, WHAT, hex(load.address), problem));
    let Some(before) = before else { return wrong("new, but the original has none") };
    let known = original.loads().any(|old| old.align == load.align && old.align >= before.align);
    if !known {
        return wrong("new, with an alignment that the original does not use or that is less than the previous one's");
    }
    // Kernels and loaders reserve the whole span of a position-independent object at once: a hole wastes address
    // space.
    let hole = load.address.saturating_sub(before.memory().end);
    if hole > load.align.max(1).saturating_mul(2) {
        return wrong("new, with a hole of more than two alignments before it");
    }
    if load.file_size == 0 || load.file_size != load.memory_size {
        return wrong("new, but not entirely in the file");
    }
    if ![PF_R, PF_R | PF_W].contains(&load.flags) {
        return wrong("new, with flags other than read or read-write");
    }
    let shift = |segment: &Segment| segment.physical.wrapping_sub(segment.address);
    same(WHAT, format!("{:#x} (physical address)", load.address), shift(before), shift(load))
}

/// The `PT_NOTE` of the edit, with exactly its bytes.
fn added_note(
    edit: &SearchEdit,
    original: &Image<'_>,
    output: &Image<'_>,
    loads: &[Segment],
) -> Result<Option<Segment>, NotProven> {
    let Some(note) = &edit.loaded_note else { return Ok(None) };
    if notes::may_be_loaded(output, &note.bytes) != Some(true) {
        let problem = "its bytes are malformed notes or contain a GNU note";
        return Err(broken(output.which, NOTE, "the edit", problem));
    }
    let is_it = |segment: &&Segment| {
        segment.kind == PT_NOTE
            && segment.memory_size == segment.file_size
            && output.at(segment.backed()) == Some(note.bytes.as_slice())
            && output.file(segment.offset, segment.file_size) == Some(note.bytes.as_slice())
    };
    let Some(found) = output.segments.iter().rev().find(is_it).copied() else {
        return Err(differs(NOTE, "PT_NOTE", "asked for", "missing or different"));
    };
    if found.flags != PF_R || found.align != 4 || found.address.checked_rem(4) != Some(0) {
        return Err(broken(output.which, NOTE, hex(found.address), "not read-only, or not aligned to 4"));
    }
    let shift = |segment: &Segment| segment.physical.wrapping_sub(segment.address);
    let last = loads.last().or_else(|| original.loads().last());
    same(NOTE, "p_paddr", last.map_or(0, shift), shift(&found))?;
    match output.offset_of(found.address) == Some(found.offset) {
        true => Ok(Some(found)),
        false => Err(broken(output.which, NOTE, hex(found.address), "its file offset does not match its address")),
    }
}

/// A moved dynamic table: where it may be, and in which files.
pub(crate) fn check_moved_dynamic(original: &Image<'_>, output: &Image<'_>) -> Result<(), NotProven> {
    const WHAT: &str = "dynamic table";
    let (old, new) = (&original.dynamic.memory, &output.dynamic.memory);
    let wrong = |problem: &str| Err(broken(output.which, WHAT, hex(new.start), problem));
    // The loader itself and static programs access their table by their own code, before anything is relocated.
    if original.segments_of(PT_INTERP).next().is_none() {
        return wrong("it has moved, but a file without PT_INTERP may access it at its old address");
    }
    if relative_kind(original.header.machine, original.encoding.wide).is_none() {
        return wrong("it has moved, but the pointers to it are unknown on this architecture");
    }
    let end = original.loads().map(|load| load.memory().end).max().unwrap_or(0);
    if new.start < end {
        return wrong("it has moved, but not to the end");
    }
    let word = output.word_size();
    let size = new.end.saturating_sub(new.start);
    if new.start.checked_rem(word) != Some(0) || size.checked_rem(word.saturating_mul(2)) != Some(0) {
        return wrong("misaligned or truncated");
    }
    // elf_get_dynamic_info of glibc adds the load bias to values in place, and rtld.c sets DT_DEBUG.
    let writable =
        |image: &Image<'_>, address: u64| image.piece(address).is_some_and(|piece| piece.flags.contains(PF_W));
    if writable(original, old.start) && !writable(output, new.start) {
        return wrong("loaders write to it, but it is no longer writable");
    }
    // Relative to the entry itself.
    if original.dynamic.get(tag::MIPS_RLD_MAP_REL).is_some() {
        return wrong("it has moved, but contains a self-relative entry (DT_MIPS_RLD_MAP_REL)");
    }
    match output.segments.iter().filter(|segment| segment.kind == PT_LOAD).any(|load| {
        let backed = load.backed();
        backed.start <= new.start && new.end <= backed.end
    }) {
        true => Ok(()),
        false => wrong("not within one segment"),
    }
}
