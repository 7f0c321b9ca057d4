//! The preloaded library: machine code that is the same for all, followed by a table, which the loader maps together with it.
//!
//! The section headers are dropped: the loader does not use them, and they would have to be moved.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;

use thiserror::Error;

use crate::guard::Guard;
use crate::identity::Identity;

/// The machine code for this architecture, if there is any.
#[cfg(target_arch = "x86_64")]
const TEMPLATE: Option<&[u8]> = Some(include_bytes!("../../../../stubs/preload/x86-64.so"));
#[cfg(target_arch = "aarch64")]
const TEMPLATE: Option<&[u8]> = Some(include_bytes!("../../../../stubs/preload/aarch64.so"));
#[cfg(target_arch = "riscv64")]
const TEMPLATE: Option<&[u8]> = Some(include_bytes!("../../../../stubs/preload/riscv64.so"));
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
const TEMPLATE: Option<&[u8]> = None;

/// A library for 32-bit x86 that does nothing when it is preloaded: the one for audits, without a table.
const OTHER: &[u8] = include_bytes!("../../../../stubs/audit/i386.so");

/// The beginning of the table, as `stubs/preload/table.h` has it.
const MAGIC: &[u8; 8] = b"COLDABS1";
/// Sizes of its records, in bytes.
const HEADER: usize = 48;
const PROGRAM: usize = 32;
const GUARD: usize = 48;
const ABSENCE: usize = 12;

/// Offsets in `Elf64_Ehdr` and `Elf64_Phdr` (gABI, "ELF Header" and "Program Header").
const SECTIONS: std::ops::Range<usize> = 40..48;
const SECTION_COUNTS: std::ops::Range<usize> = 58..64;
const SEGMENTS: usize = 32;
const SEGMENT: usize = 56;
const SEGMENT_COUNT: usize = 56;
const PT_LOAD: u64 = 1;

/// Why there is no library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LibraryError {
    /// No machine code was built for this architecture.
    #[error("there is no preloaded library for this architecture")]
    Architecture,
    /// More than 2 GB.
    #[error("there are too many absent names for one library")]
    TooLarge,
}

/// Whether there is a library for this architecture.
pub fn is_supported() -> bool {
    TEMPLATE.is_some()
}

/// The library without a table: it only writes the log of a recorded start.
///
/// # Errors
/// [`LibraryError`].
pub fn empty_library() -> Result<Vec<u8>, LibraryError> {
    with_table(&[], &[], &BTreeMap::new())
}

/// A library for programs of 32 bits, which does nothing.
pub fn other_library() -> &'static [u8] {
    OTHER
}

/// The library with a table. A number beside a name is that of its guard.
pub(super) fn with_table(
    programs: &[Identity],
    guards: &[Guard],
    absences: &BTreeMap<Vec<u8>, usize>,
) -> Result<Vec<u8>, LibraryError> {
    let template = TEMPLATE.ok_or(LibraryError::Architecture)?;
    let table = table(programs, guards, absences)?;
    enlarged(template, &table).ok_or(LibraryError::Architecture)
}

/// FNV-1a (<http://www.isthe.com/chongo/tech/comp/fnv/>).
fn hash(name: &[u8]) -> u32 {
    name.iter().fold(0x811c_9dc5, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

fn identity(out: &mut Vec<u8>, identity: &Identity) {
    out.extend(identity.device.unwrap_or(0).to_le_bytes());
    out.extend(identity.inode.to_le_bytes());
    out.extend(identity.modified.to_le_bytes());
    out.extend(identity.changed.to_le_bytes());
}

/// The table in its bytes.
fn table(
    programs: &[Identity],
    guards: &[Guard],
    absences: &BTreeMap<Vec<u8>, usize>,
) -> Result<Vec<u8>, LibraryError> {
    let number = |size: usize| u32::try_from(size).ok().filter(|size| *size < 1 << 31).ok_or(LibraryError::TooLarge);
    let mut strings = vec![0];
    let mut text = |parts: &[&[u8]]| {
        let place = number(strings.len());
        strings.extend(parts.concat());
        strings.push(0);
        place
    };
    let mut guarding = Vec::new();
    for guard in guards {
        // Absences are only known below what was there.
        let was = guard.identity.unwrap_or(Identity { device: None, inode: u64::MAX, modified: 0, changed: 0 });
        identity(&mut guarding, &was);
        guarding.extend(0_u64.to_le_bytes());
        guarding.extend(text(&[guard.path.as_os_str().as_bytes(), b"/."])?.to_le_bytes());
        guarding.extend(0_u32.to_le_bytes());
    }
    // Half of the slots stay empty, so that a search is short.
    let slots = match absences.len() {
        0 => 0,
        count => count.saturating_mul(2).next_power_of_two(),
    };
    number(slots.saturating_mul(ABSENCE))?;
    let mut filled: Vec<[u32; 3]> = vec![[0; 3]; slots];
    for (name, &guard) in absences {
        let hash = hash(name);
        let entry = [hash, text(&[name])?, number(guard)?];
        let free = (0..slots).map(|probe| (hash as usize).wrapping_add(probe) & slots.wrapping_sub(1));
        let free = free.into_iter().find(|&slot| filled.get(slot).is_some_and(|[_, path, _]| *path == 0));
        if let Some(slot) = free.and_then(|slot| filled.get_mut(slot)) {
            *slot = entry;
        }
    }
    let slot_bytes: Vec<u8> = filled.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
    let mut table = vec![0; HEADER];
    let mut places = Vec::new();
    let mut identities = Vec::new();
    programs.iter().for_each(|program| identity(&mut identities, program));
    for (part, size) in [(&identities, PROGRAM), (&guarding, GUARD), (&slot_bytes, ABSENCE), (&strings, 1)] {
        table.resize(table.len().next_multiple_of(8), 0);
        places.push(number(table.len())?);
        places.push(number(part.len() / size)?);
        table.extend_from_slice(part);
    }
    let size = number(table.len())?;
    let header =
        MAGIC.iter().copied().chain(size.to_le_bytes()).chain(places.iter().flat_map(|word| word.to_le_bytes()));
    for (place, byte) in table.iter_mut().zip(header) {
        *place = byte;
    }
    Ok(table)
}

/// The library with this table in place of the empty one, at the end of its last segment. `None` if the template is not as expected.
fn enlarged(template: &[u8], table: &[u8]) -> Option<Vec<u8>> {
    let word = |at: usize, width: usize| -> Option<u64> {
        let bytes = template.get(at..at + width)?;
        Some(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    };
    let segments = usize::try_from(word(SEGMENTS, 8)?).ok()?;
    let count = usize::try_from(word(SEGMENT_COUNT, 2)?).ok()?;
    let loads = (0..count).map(|number| segments + number * SEGMENT).filter(|&at| word(at, 4) == Some(PT_LOAD));
    let last = loads.max_by_key(|&at| word(at + 8, 8))?;
    let (offset, size) = (usize::try_from(word(last + 8, 8)?).ok()?, usize::try_from(word(last + 32, 8)?).ok()?);
    let place = (offset + size).checked_sub(HEADER)?;
    let mut library = template.get(..place)?.to_vec();
    if !template.get(place..)?.starts_with(MAGIC) {
        return None;
    }
    library.extend_from_slice(table);
    let grown = (library.len() - offset) as u64;
    library.get_mut(last + 32..last + 40)?.copy_from_slice(&grown.to_le_bytes());
    library.get_mut(last + 40..last + 48)?.copy_from_slice(&grown.to_le_bytes());
    library.get_mut(SECTIONS)?.fill(0);
    library.get_mut(SECTION_COUNTS)?.fill(0);
    // The size of a section header stays: 0 would be as good, but readers warn of it.
    library.get_mut(58..60)?.copy_from_slice(template.get(58..60)?);
    Some(library)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_by_its_hash() {
        let names: BTreeMap<Vec<u8>, usize> =
            (0..1000).map(|number: usize| (format!("/d/{number}").into_bytes(), number % 3)).collect();
        let guard = |path: &str| Guard {
            path: path.into(),
            identity: Some(Identity { device: Some(7), inode: 8, modified: -1, changed: 9 }),
        };
        let table = table(&[], &["/a", "/b", "/c"].map(guard), &names).unwrap();
        let word = |at: usize| u32::from_le_bytes(table[at..at + 4].try_into().unwrap()) as usize;
        assert_eq!((&table[..8], word(8)), (&MAGIC[..], table.len()));
        let (guards, guard_count, slots, count, strings) = (word(20), word(24), word(28), word(32), word(36));
        assert_eq!((guard_count, count), (3, 2048));
        let text = |place: usize| table[strings + place..].split(|&byte| byte == 0).next().unwrap();
        assert_eq!(text(word(guards + GUARD + 40)), b"/b/.");
        for (name, &guard) in &names {
            let found = (0..count)
                .map(|probe| slots + (hash(name) as usize + probe) % count * ABSENCE)
                .take_while(|&slot| word(slot + 4) != 0)
                .find(|&slot| text(word(slot + 4)) == name.as_slice());
            assert_eq!(word(found.unwrap() + 8), guard);
        }
    }

    #[test]
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
    fn the_template_is_as_expected() {
        let empty = empty_library().unwrap();
        let long = BTreeMap::from([(vec![b'/'; 100_000], 0)]);
        assert!(with_table(&[], &[], &long).unwrap().len() > empty.len() + 100_000);
        assert_eq!(enlarged(b"not a library", b""), None);
    }
}
