//! The segments that are not mapped themselves, but describe mapped memory.

use object::elf::{PT_DYNAMIC, PT_GNU_EH_FRAME, PT_GNU_PROPERTY, PT_GNU_RELRO, PT_INTERP, PT_LOAD, PT_NOTE, PT_PHDR};

use super::expected::Expected;
use super::notes;
use crate::image::Image;
use crate::image::headers::Segment;
use crate::verdict::{NotProven, Proof, broken, differs, hex, same};

const WHAT: &str = "segment";

/// Compares them one by one, in order. `PT_PHDR` of an object without `PT_INTERP` may be removed: only the program's
/// own is used (`rtld_setup_main_map` of glibc). So may a note segment that holds no notes but program headers.
pub(crate) fn check(
    original: &Image<'_>,
    output: &Image<'_>,
    expected: &Expected<'_>,
    proof: &mut Proof,
) -> Result<(), NotProven> {
    let is_described = |segment: &&Segment| ![PT_LOAD, PT_PHDR].contains(&segment.kind);
    let described = |image: &Image<'_>| -> Vec<Segment> {
        let segments = image.segments.iter().filter(|segment| !expected.ignores(segment)).filter(is_described);
        segments.filter(|segment| !notes::is_stale(image, segment)).copied().collect()
    };
    let headers = |image: &Image<'_>| image.segments_of(PT_PHDR).count();
    if headers(original) != headers(output) && original.segments_of(PT_INTERP).next().is_some() {
        return Err(differs(WHAT, "PT_PHDR", headers(original), headers(output)));
    }
    if let (Some(old), Some(new)) = (original.segments_of(PT_PHDR).next(), output.segments_of(PT_PHDR).next()) {
        same(WHAT, "p_flags of PT_PHDR", old.flags.0, new.flags.0)?;
        same(WHAT, "p_paddr of PT_PHDR", old.physical, new.physical)?;
        same(WHAT, "p_align of PT_PHDR", old.align, new.align)?;
    }
    let (from, to) = (described(original), described(output));
    if from.len() != to.len() {
        return Err(differs(WHAT, "the number of those that are not mapped", from.len(), to.len()));
    }
    for (number, (old, new)) in from.iter().zip(&to).enumerate() {
        check_pair((original, old), (output, new), number, expected, proof)?;
    }
    proof.unwind_entries =
        original.segments_of(PT_GNU_EH_FRAME).filter_map(|segment| unwind_entries(original, segment)).sum();
    Ok(())
}

fn check_pair(
    original: (&Image<'_>, &Segment),
    output: (&Image<'_>, &Segment),
    number: usize,
    expected: &Expected<'_>,
    proof: &mut Proof,
) -> Result<(), NotProven> {
    let (old, new) = (original.1, output.1);
    let field = |name: &str| format!("{name} of number {number} (type {:#x}, not mapped)", old.kind);
    same(WHAT, field("p_type"), old.kind.0, new.kind.0)?;
    same(WHAT, field("p_flags"), old.flags.0, new.flags.0)?;
    let moves = old.kind == PT_DYNAMIC && expected.moves_dynamic(original.0, output.0);
    if moves {
        same(WHAT, field("p_memsz"), new.file_size, new.memory_size)?;
    } else {
        same(WHAT, field("p_filesz"), old.file_size, new.file_size)?;
        same(WHAT, field("p_memsz"), old.memory_size, new.memory_size)?;
    }
    same(WHAT, field("p_align"), old.align, new.align)?;
    match old.kind {
        PT_INTERP => check_interpreter(original, output)?,
        PT_NOTE | PT_GNU_PROPERTY => {
            let count = notes::check(original, output)?;
            if old.kind == PT_NOTE {
                proof.notes = proof.notes.saturating_add(count);
            }
        }
        PT_DYNAMIC if moves => {
            let (old, new) = (old.backed(), new.backed());
            proof.dynamic_left_relro = original.0.segments_of(PT_GNU_RELRO).any(|relro| {
                let covered = relro.memory();
                let holds = |range: &std::ops::Range<u64>| covered.start <= range.start && range.end <= covered.end;
                holds(&old) && !holds(&new)
            });
        }
        _ => {
            same(WHAT, field("p_vaddr"), old.address, new.address)?;
            same(WHAT, field("p_paddr"), old.physical, new.physical)?;
        }
    }
    let shift = |segment: &Segment| segment.physical.wrapping_sub(segment.address);
    same(WHAT, field("p_paddr"), shift(old), shift(new))?;
    check_offset(original, output, &field("p_offset"))
}

/// The file offset must match the address; segments without memory keep their offset.
fn check_offset(
    (original, old): (&Image<'_>, &Segment),
    (output, new): (&Image<'_>, &Segment),
    place: &str,
) -> Result<(), NotProven> {
    if new.memory_size == 0 {
        return check_unmapped((original, old), (output, new), place);
    }
    let expected = output.offset_of(new.address);
    if expected == Some(new.offset) {
        return Ok(());
    }
    // .tbss alone may begin anywhere, and so may unmapped segments.
    let was_odd = original.offset_of(old.address) != Some(old.offset);
    if was_odd && (old.file_size == 0 || old.offset == new.offset) {
        return Ok(());
    }
    let expected = expected.map_or_else(|| "nowhere".to_owned(), hex);
    Err(broken(
        output.which,
        WHAT,
        place,
        format!("it is {}, but its address maps to file offset {expected}", hex(new.offset)),
    ))
}

/// A segment for tools only (`PT_RISCV_ATTRIBUTES`): its contents are the same, at any offset.
fn check_unmapped(
    (original, old): (&Image<'_>, &Segment),
    (output, new): (&Image<'_>, &Segment),
    place: &str,
) -> Result<(), NotProven> {
    if new.file_size == 0 {
        return same(WHAT, place, old.offset, new.offset);
    }
    if original.file(old.offset, old.file_size) == output.file(new.offset, new.file_size) {
        return Ok(());
    }
    Err(differs(WHAT, place.to_owned(), hex(old.offset), format!("{}, with different contents", hex(new.offset))))
}

fn check_interpreter(original: (&Image<'_>, &Segment), output: (&Image<'_>, &Segment)) -> Result<(), NotProven> {
    let path =
        |(image, segment): (&Image<'_>, &Segment)| image.file(segment.offset, segment.file_size).map(<[u8]>::to_vec);
    let mapped = |(image, segment): (&Image<'_>, &Segment)| image.at(segment.backed()).map(<[u8]>::to_vec);
    let (from, to) = (path(original), path(output));
    if from.is_none() || from != to || mapped(output) != to {
        let [from, to] = [from, to].map(|path| String::from_utf8_lossy(&path.unwrap_or_default()).into_owned());
        return Err(differs("interpreter", hex(output.1.address), from, to));
    }
    Ok(())
}

/// Entries of the search table of `.eh_frame_hdr` (LSB Core, "Exception Frames").
fn unwind_entries(image: &Image<'_>, segment: &Segment) -> Option<u64> {
    let bytes = image.at(segment.backed())?;
    let size = |encoding: u8| match encoding & 0x0f {
        2 | 10 => Some(2),
        3 | 11 => Some(4),
        4 | 12 => Some(8),
        0 => Some(image.word_size() as usize),
        _ => None,
    };
    let (pointer, count) = (*bytes.get(1)?, *bytes.get(2)?);
    if *bytes.first()? != 1 || pointer == 0xff || count == 0xff {
        return None;
    }
    image.number(bytes.get(size(pointer)?.checked_add(4)?..)?, size(count)?)
}

/// Loaders write to `.dynamic` (`DT_DEBUG`), so it must stay in writable memory.
pub(crate) fn check_dynamic_mapped(output: &Image<'_>) -> Result<(), NotProven> {
    match output.segments_of(PT_DYNAMIC).find(|segment| output.at(segment.backed()).is_none()) {
        Some(segment) => Err(broken(output.which, WHAT, hex(segment.address), "PT_DYNAMIC is not mapped")),
        None => Ok(()),
    }
}
