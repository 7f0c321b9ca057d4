//! Faults in a file with an ELF header, and the point at which the loader detects them.
//!
//! The order of checks is part of the rules: an object for another architecture is skipped although it is not a
//! library, but not if its `e_version` is odd (`open_verify` and `_dl_map_object_from_fd` in elf/dl-load.c). For the
//! rest of its identification, distributions differ; see [`Environment::strict_identification`](crate::Environment).

use std::fmt;

use coldstart_elf::{DynamicTable, ElfError, ElfFile, FileType, SegmentKind};

use crate::{Class, ObjectFacts};

/// Why an ELF file is not a library, in glibc's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// `e_ident` or `e_version`: checked after class and byte order, before the architecture.
    Identification(&'static str),
    /// File type or segment table: checked after the architecture.
    Header(&'static str),
    /// Detected when the file is mapped, after the search has accepted it and found that it is not loaded yet.
    Mapping(&'static str),
}

impl Fault {
    /// Whether it is in `e_ident`; `e_version` comes after that.
    pub(crate) fn is_in_identification(self) -> bool {
        matches!(self, Self::Identification(reason) if reason != OTHER_VERSION)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Identification(reason) | Self::Header(reason) | Self::Mapping(reason) => formatter.write_str(reason),
        }
    }
}

/// The fault for an odd `e_version`.
const OTHER_VERSION: &str = "ELF file version does not match current one";
/// `ELFOSABI_GNU`.
const GNU: u8 = 3;
/// Page size for the alignment check: the smallest of any architecture.
const PAGE: u64 = 0x1000;

impl Fault {
    /// What prevents a file that our reader accepts from being loaded as a library.
    pub(crate) fn of(file: &ElfFile<'_>) -> Result<Option<Self>, ElfError> {
        Ok(match header_fault(file.bytes(), file.size()) {
            Some(fault) => Some(fault),
            None => Self::of_mapping(file, file.dynamic()?.as_ref()),
        })
    }

    /// What prevents a file with a valid header from being mapped; only the headers of `file` are read.
    pub(crate) fn of_mapping(file: &ElfFile<'_>, dynamic: Option<&DynamicTable<'_>>) -> Option<Self> {
        let mut loaded = file.load_segments().peekable();
        let reason = if loaded.peek().is_none() {
            "object file has no loadable segments"
        } else if loaded.any(|load| load.address.0.wrapping_sub(load.offset.0) % PAGE != 0) {
            "ELF load command address/offset not page-aligned"
        } else if file.header().file_type == FileType::Executable {
            "cannot dynamically load executable"
        } else {
            let segment = file.segment(SegmentKind::Dynamic);
            if segment.is_none_or(|segment| segment.file_size == 0) {
                "object file has no dynamic section"
            } else if dynamic.is_some_and(DynamicTable::is_pie) {
                "cannot dynamically load position-independent executable"
            } else {
                return None;
            }
        };
        Some(Self::Mapping(reason))
    }
}

/// The facts of a file's content; an error if it does not even begin as an object.
pub(crate) fn read(content: &[u8]) -> Result<ObjectFacts, &'static str> {
    let bare = read_header(content, content.len() as u64)?;
    if bare.fault.is_some() {
        return Ok(bare);
    }
    let facts = ElfFile::parse(content).and_then(|file| ObjectFacts::of(&file));
    Ok(facts.unwrap_or(ObjectFacts { fault: Some(Fault::Mapping("cannot read file data")), ..bare }))
}

/// The facts and faults in the ELF header alone; an error if the file does not even begin as an object. `start` holds
/// at least the header of a file of `size` bytes, or the whole file.
pub(crate) fn read_header(start: &[u8], size: u64) -> Result<ObjectFacts, &'static str> {
    // Class and byte order determine the offsets in the header. An undefined value counts as the other one.
    let wide = start.get(4) == Some(&2);
    let header = start.get(..if wide { 64 } else { 52 }).ok_or("file too short")?;
    if !header.starts_with(b"\x7fELF") {
        return Err("invalid ELF header");
    }
    let little = header.get(5) == Some(&1);
    Ok(ObjectFacts {
        class: match header.get(4) {
            Some(1) => Class::Bits32,
            Some(2) => Class::Bits64,
            _ => Class::Neither,
        },
        little_endian: little,
        machine: half(header, 18, little),
        fault: header_fault(header, size),
        ..ObjectFacts::default()
    })
}

/// Faults in a header with the magic number, in a file of `size` bytes.
fn header_fault(header: &[u8], size: u64) -> Option<Fault> {
    let at = |place: usize| header.get(place).copied().unwrap_or_default();
    let (wide, little) = (at(4) == 2, at(5) == 1);
    let (os_abi, abi_version) = (at(7), at(8));
    let identification = if at(6) != 1 {
        "ELF file version ident does not match current one"
    } else if os_abi != 0 && os_abi != GNU {
        "ELF file OS ABI invalid"
    } else if abi_version != 0 && (os_abi != GNU || abi_version > newest_abi_version(half(header, 18, little))) {
        "ELF file ABI version invalid"
    } else if (9..16).any(|place| at(place) != 0) {
        "nonzero padding in e_ident"
    } else if word(header, 20, 4, little) != 1 {
        OTHER_VERSION
    } else {
        return later_fault(header, size, wide, little);
    };
    Some(Fault::Identification(identification))
}

/// Newest `EI_ABIVERSION` that glibc accepts for an object marked as its own: one less than `LIBC_ABI_MAX`, which the
/// build counts from the file libc-abis. Every architecture has UNIQUE and, since 2.28, ABSOLUTE; IFUNC is listed for
/// x86, POWER and SPARC only, although others have such functions, too. Measured: 3 on x86-64 and i386, 2 on AArch64.
/// MIPS has three of its own by 2.31.
fn newest_abi_version(machine: u16) -> u8 {
    match machine {
        // EM_SPARC, EM_386, EM_PPC, EM_PPC64, EM_SPARCV9, EM_X86_64
        2 | 3 | 20 | 21 | 43 | 62 => 3,
        // EM_MIPS
        8 => 5,
        _ => 2,
    }
}

/// Faults that are checked after the architecture.
fn later_fault(header: &[u8], size: u64, wide: bool, little: bool) -> Option<Fault> {
    // Offsets of `e_phoff`, `e_phentsize` and `e_phnum`, and the size of one entry (gABI, "ELF Header").
    let (offset, entry_size, expected) =
        if wide { (word(header, 32, 8, little), 54, 56) } else { (word(header, 28, 4, little), 42, 32) };
    let count = half(header, entry_size + 2, little);
    let reason = if !matches!(half(header, 16, little), 2 | 3) {
        "only ET_DYN and ET_EXEC can be loaded"
    } else if half(header, entry_size, little) != expected {
        "ELF file's phentsize not the expected size"
    } else if offset.saturating_add(u64::from(count) * u64::from(expected)) > size {
        "cannot read file data"
    } else {
        return None;
    };
    Some(Fault::Header(reason))
}

fn half(content: &[u8], place: usize, little: bool) -> u16 {
    u16::try_from(word(content, place, 2, little)).unwrap_or_default()
}

/// A number of up to eight bytes; zero beyond the end.
fn word(content: &[u8], place: usize, size: usize, little: bool) -> u64 {
    let bytes = place.checked_add(size).and_then(|end| content.get(place..end)).unwrap_or_default();
    let add = |sum: u64, byte: &u8| (sum << 8) | u64::from(*byte);
    if little { bytes.iter().rev().fold(0, add) } else { bytes.iter().fold(0, add) }
}

#[cfg(test)]
mod tests {
    use super::{Fault, read};

    /// The header of a library for x86-64 without segments.
    fn header() -> Vec<u8> {
        let mut header = b"\x7fELF\x02\x01\x01".to_vec();
        header.resize(64, 0);
        for (place, value) in [(16, 3), (18, 62), (20, 1), (52, 64), (54, 56)] {
            header[place] = value;
        }
        header
    }

    fn fault(changes: &[(usize, u8)]) -> Option<Fault> {
        let mut header = header();
        changes.iter().for_each(|&(place, value)| header[place] = value);
        read(&header).unwrap().fault
    }

    #[test]
    fn faults_are_those_the_loader_names() {
        assert_eq!(fault(&[]), Some(Fault::Mapping("object file has no loadable segments")));
        assert_eq!(fault(&[(16, 1)]), Some(Fault::Header("only ET_DYN and ET_EXEC can be loaded")));
        assert_eq!(
            fault(&[(20, 2), (16, 1)]),
            Some(Fault::Identification("ELF file version does not match current one"))
        );
        assert_eq!(fault(&[(7, 3), (8, 3)]), fault(&[]));
        assert_eq!(fault(&[(7, 3), (8, 4)]), Some(Fault::Identification("ELF file ABI version invalid")));
        // Fewer features are counted on AArch64.
        assert_eq!(fault(&[(7, 3), (8, 2), (18, 183)]), fault(&[]));
        assert_eq!(fault(&[(7, 3), (8, 3), (18, 183)]), Some(Fault::Identification("ELF file ABI version invalid")));
        assert_eq!(fault(&[(56, 2)]), Some(Fault::Header("cannot read file data")));
        assert_eq!(read(b"\x7fELF"), Err("file too short"));
        assert_eq!(read(&[0; 64]), Err("invalid ELF header"));
    }
}
