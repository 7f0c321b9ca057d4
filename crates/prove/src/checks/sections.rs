//! Section headers: the view of debuggers, strip and symbol servers.

use std::ops::Range;

use object::elf::{
    PT_GNU_PROPERTY, PT_INTERP, PT_NOTE, SHF_ALLOC, SHF_EXECINSTR, SHT_DYNAMIC, SHT_NOTE, SHT_PROGBITS, SHT_REL,
    SHT_RELA, SHT_RELR, SHT_SYMTAB,
};

use super::expected::Expected;
use super::our_note;
use super::static_symbols::{self, Shifts, Table};
use crate::image::Image;
use crate::image::dynamic::tag;
use crate::image::headers::Section;
use crate::tables::Tables;
use crate::verdict::{NotProven, Proof, broken, differs, hex, same, same_bytes};

const WHAT: &str = "section";

/// Each section of the original keeps its index, and sections with tables follow the tables.
pub(crate) fn check(
    original: (&Image<'_>, &Tables<'_>),
    output: (&Image<'_>, &Tables<'_>),
    expected: &Expected<'_>,
    proof: &mut Proof,
) -> Result<Shifts, NotProven> {
    let (from, to) = (&original.0.sections, &output.0.sections);
    let common = from.len().min(to.len());
    if expected.search.is_some() && to.len() < from.len() {
        return Err(differs(WHAT, "their number", from.len(), to.len()));
    }
    let mut noted = 0;
    for (image, sections) in [(original.0, from), (output.0, to)] {
        for section in sections.iter().skip(common) {
            if is_loaded_note(section, expected) {
                noted = 1_usize.saturating_add(noted);
            } else {
                check_extra(image, section, expected)?;
            }
        }
    }
    let asked = usize::from(expected.note.is_some() && common > 0);
    if noted != asked {
        return Err(differs(WHAT, "sections of the loaded note", asked, noted));
    }
    if common == 0 && from.len() != to.len() {
        return Err(differs(WHAT, "their number", from.len(), to.len()));
    }
    let mut shifts = Vec::with_capacity(common);
    for (number, (old, new)) in from.iter().zip(to).enumerate() {
        let moved = expected.moves_dynamic(original.0, output.0);
        check_pair((original.0, original.1, old), (output.0, output.1, new), number, moved)?;
        if old.is_allocated() && old.memory() != new.memory() {
            proof.moved_sections.push(new.shown_name());
        }
        shifts.push(if old.is_allocated() { new.address.wrapping_sub(old.address) } else { 0 });
    }
    proof.sections = common as u64;
    check_offsets(original.0, output.0)?;
    check_apart(original.0, output.0)?;
    Ok(shifts)
}

/// Only the RELR table, the stub with its words, and our own note may be added or removed, at the end.
fn check_extra(image: &Image<'_>, section: &Section<'_>, expected: &Expected<'_>) -> Result<(), NotProven> {
    let relr = section.kind == SHT_RELR
        && section.name == b".relr.dyn"
        && (section.flags, section.link, section.info) == (SHF_ALLOC, 0, 0)
        && (section.align, section.entry_size) == (image.word_size(), image.word_size())
        && image.dynamic.get(tag::RELR) == Some(section.address)
        && image.dynamic.get(tag::RELRSZ) == Some(section.size);
    if our_note::is_named(section) {
        return our_note::check(image, section);
    }
    if (relr || is_of_stub(section, expected)) && image.file(section.offset, section.size).is_some() {
        return Ok(());
    }
    Err(broken(image.which, WHAT, section.shown_name(), "only in this file, and neither the RELR table nor our note"))
}

/// The section of the stub's code or of its words.
fn is_of_stub(section: &Section<'_>, expected: &Expected<'_>) -> bool {
    let Some(stub) = &expected.stub else { return false };
    let wanted = match section.name {
        b".coldstart.stub" => (&stub.code, SHF_ALLOC | SHF_EXECINSTR),
        b".coldstart.words" => (&stub.words, SHF_ALLOC),
        _ => return false,
    };
    section.kind == SHT_PROGBITS
        && (&section.memory(), section.flags) == wanted
        && (section.link, section.info, section.entry_size) == (0, 0, 0)
}

/// The section of the note that has its own `PT_NOTE`.
fn is_loaded_note(section: &Section<'_>, expected: &Expected<'_>) -> bool {
    let asked = expected.search.and_then(|edit| edit.loaded_note.as_ref());
    asked.zip(expected.note).is_some_and(|(asked, note)| {
        section.name == asked.section.as_bytes()
            && section.kind == SHT_NOTE
            && section.flags == SHF_ALLOC
            && section.memory() == note.backed()
            && section.offset == note.offset
            && section.align == 4
            && (section.link, section.info, section.entry_size) == (0, 0, 0)
    })
}

fn check_pair(
    (original, old_tables, old): (&Image<'_>, &Tables<'_>, &Section<'_>),
    (output, new_tables, new): (&Image<'_>, &Tables<'_>, &Section<'_>),
    number: usize,
    moved_dynamic: bool,
) -> Result<(), NotProven> {
    let field = |name: &str| format!("{name} of number {number} `{}`", old.shown_name());
    if old.name != new.name {
        return Err(differs(WHAT, field("name"), old.shown_name(), new.shown_name()));
    }
    same(WHAT, field("sh_type"), old.kind.0, new.kind.0)?;
    same(WHAT, field("sh_flags"), old.flags.0, new.flags.0)?;
    same(WHAT, field("sh_link"), old.link, new.link)?;
    same(WHAT, field("sh_info"), old.info, new.info)?;
    same(WHAT, field("sh_addralign"), old.align, new.align)?;
    same(WHAT, field("sh_entsize"), old.entry_size, new.entry_size)?;
    if old.is_allocated() && old.is_in_file() {
        if moved_dynamic && old.kind == SHT_DYNAMIC && old.memory() == original.dynamic.memory {
            if new.memory() != output.dynamic.memory {
                let now = format!("the table at {:x?}", output.dynamic.memory);
                return Err(differs(WHAT, field("the address"), now, format!("{:x?}", new.memory())));
            }
            return Ok(());
        }
        let table = old_tables.list.iter().find(|table| table.memory == old.memory() && old.size > 0);
        if let Some(table) = table {
            let now = new_tables.get(table.tag);
            if now != Some(&new.memory()) && !(now.is_none() && new.size == 0) {
                let now = format!("the table at {now:x?}");
                return Err(differs(WHAT, field("the address"), now, format!("{:x?}", new.memory())));
            }
        } else if old.memory() != new.memory() {
            check_moved((original, old), (output, new_tables, new), &field("the address"))?;
        }
        if old.memory() != new.memory()
            && new.size > 0
            && new.align > 1
            && new.address.checked_rem(new.align) != Some(0)
        {
            return Err(broken(output.which, WHAT, field("sh_addr"), "misaligned"));
        }
        return Ok(());
    }
    same(WHAT, field("sh_addr"), old.address, new.address)?;
    let may_grow = number == usize::from(original.header.section_names);
    if !may_grow {
        same(WHAT, field("sh_size"), old.size, new.size)?;
    }
    Ok(())
}

/// A moved section that was not in a known table: an empty table, the interpreter's path, or a note.
fn check_moved(
    (original, old): (&Image<'_>, &Section<'_>),
    (output, new_tables, new): (&Image<'_>, &Tables<'_>, &Section<'_>),
    place: &str,
) -> Result<(), NotProven> {
    let within = |image: &Image<'_>, section: &Section<'_>| {
        let kinds = [PT_INTERP, PT_NOTE, PT_GNU_PROPERTY];
        let mut all = image.segments.iter().filter(|segment| kinds.contains(&segment.kind));
        all.any(|segment| segment.address <= section.address && section.memory().end <= segment.backed().end)
    };
    let carried = within(original, old) && within(output, new) && original.at(old.memory()) == output.at(new.memory());
    let refilled = old.size == 0 && new_tables.list.iter().any(|table| table.memory == new.memory());
    // An empty table has nothing that could have moved.
    let empty = old.size == 0 && new.size == 0 && [SHT_RELA, SHT_REL, SHT_RELR].contains(&old.kind);
    if carried || refilled || empty {
        return Ok(());
    }
    Err(differs(WHAT, place, format!("{:x?}", old.memory()), format!("{:x?}", new.memory())))
}

/// Offsets of allocated sections must match their addresses.
fn check_offsets(original: &Image<'_>, output: &Image<'_>) -> Result<(), NotProven> {
    for (number, new) in output.sections.iter().enumerate() {
        if !new.is_in_file() {
            continue;
        }
        if output.file(new.offset, new.size).is_none() {
            return Err(broken(output.which, WHAT, new.shown_name(), "extends past the end of the file"));
        }
        let consistent = |image: &Image<'_>, section: &Section<'_>| {
            section.size == 0
                || image.offset_of(section.address) == Some(section.offset) && image.at(section.memory()).is_some()
        };
        if new.is_allocated()
            && !consistent(output, new)
            && original.sections.get(number).is_none_or(|old| consistent(original, old))
        {
            let problem =
                format!("its file offset {} does not match its address {}", hex(new.offset), hex(new.address));
            return Err(broken(output.which, WHAT, new.shown_name(), problem));
        }
    }
    Ok(())
}

/// Sections must not overlap in the file, unless they did before.
fn check_apart(original: &Image<'_>, output: &Image<'_>) -> Result<(), NotProven> {
    let overlap = |image: &Image<'_>| -> Option<(u64, String)> {
        let used = image.sections.iter().filter(|section| section.is_in_file() && section.size > 0);
        let mut used: Vec<(u64, u64, &Section<'_>)> =
            used.map(|section| (section.offset, section.offset.saturating_add(section.size), section)).collect();
        used.sort_unstable_by_key(|(start, end, _)| (*start, *end));
        let pair = used.iter().zip(used.iter().skip(1)).find(|(first, second)| second.0 < first.1)?;
        Some((pair.1.0, format!("{} and {}", pair.0.2.shown_name(), pair.1.2.shown_name())))
    };
    match overlap(output) {
        Some((offset, names)) if overlap(original).is_none() => {
            Err(broken(output.which, WHAT, hex(offset), format!("{names} overlap in the file")))
        }
        _ => Ok(()),
    }
}

/// Contents of unmapped sections: the same, except for added names and symbols that moved with their section.
pub(crate) fn check_contents(
    original: &Image<'_>,
    output: &Image<'_>,
    shifts: &Shifts,
    expected: &Expected<'_>,
    proof: &mut Proof,
) -> Result<(), NotProven> {
    const WHAT: &str = "section contents";
    let mut behind = [0, 0];
    for (number, (old, new)) in original.sections.iter().zip(&output.sections).enumerate() {
        if old.is_allocated() || !old.is_in_file() {
            continue;
        }
        let wrong = || broken(output.which, WHAT, old.shown_name(), "outside the file");
        let (from, to) = (original.file(old.offset, old.size), output.file(new.offset, new.size));
        let (from, to) = (from.ok_or_else(wrong)?, to.ok_or_else(wrong)?);
        if number == usize::from(original.header.section_names) {
            let common = from.len().min(to.len());
            same_bytes(WHAT, from.get(..common).unwrap_or(&[]), to.get(..common).unwrap_or(&[]))?;
        } else if old.kind == SHT_SYMTAB {
            let names = original.sections.get(old.link as usize);
            let names = names.and_then(|names| original.file(names.offset, names.size)).unwrap_or(&[]);
            let moved = expected.moves_dynamic(original, output);
            let moved = moved.then_some([original, output].map(|image| image.dynamic.memory.start));
            let table = Table { moved, names, shifts };
            static_symbols::check((original, from), (output, to), &table)?;
        } else {
            for (portion, (old_part, new_part)) in from.chunks(PORTION).zip(to.chunks(PORTION)).enumerate() {
                if let Err(NotProven::Differs { place, original, output, .. }) = same_bytes(WHAT, old_part, new_part) {
                    let place = format!("{place} in chunk {portion} of `{}`", old.shown_name());
                    return Err(NotProven::Differs { what: WHAT, place, original, output });
                }
                let done = portion.saturating_mul(PORTION) as u64;
                let [old_behind, new_behind] = &mut behind;
                original.release_behind(old_behind, old.offset.saturating_add(done));
                output.release_behind(new_behind, new.offset.saturating_add(done));
            }
        }
        proof.unloaded_bytes = proof.unloaded_bytes.saturating_add(old.size);
    }
    Ok(())
}

/// Sections are compared in chunks of this size; memory is released between chunks.
const PORTION: usize = 1 << 20;

/// The file ranges of a file's sections.
pub(crate) fn used_ranges(image: &Image<'_>) -> impl Iterator<Item = Range<u64>> {
    let used = image.sections.iter().filter(|section| section.is_in_file());
    used.map(|section| section.offset..section.offset.saturating_add(section.size))
}
