//! Decoded notes: the build id, the oldest kernel, properties, and libraries opened at run time.
//!
//! A build id identifies a file by its content, across stripping: a program and its debug file have the same one.

use std::fmt;

use crate::address::FileOffset;
use crate::encoding::Encoding;
use crate::error::{ElfError, Result};
use crate::file::ElfFile;
use crate::notes::{Note, notes};

/// `NT_GNU_ABI_TAG`.
const ABI_TAG: u32 = 1;
/// `NT_GNU_BUILD_ID`.
const BUILD_ID: u32 = 3;
/// `NT_GNU_PROPERTY_TYPE_0`.
const PROPERTIES: u32 = 5;
/// Kind of the note that lists libraries for `dlopen` (systemd's `docs/ELF_DLOPEN_METADATA.md`).
const DLOPEN: u32 = 0x407c_0c0a;

/// Identifies a file by its content; 20 bytes from GNU ld, fewer from others. Displayed as hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BuildId<'data>(pub &'data [u8]);

impl<'data> BuildId<'data> {
    /// Its bytes, at least one.
    pub fn bytes(&self) -> &'data [u8] {
        self.0
    }
}

impl fmt::Display for BuildId<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

/// The system that a file is built for, and the oldest kernel it runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbiTag {
    /// 0 Linux, 1 GNU Hurd, 2 Solaris, 3 FreeBSD, 4 NetBSD.
    pub system: u32,
    /// The kernel's version: major, minor, patch.
    pub kernel: [u32; 3],
}

impl fmt::Display for AbiTag {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.kernel;
        match self.system {
            0 => write!(formatter, "Linux {major}.{minor}.{patch}"),
            system => write!(formatter, "system {system} {major}.{minor}.{patch}"),
        }
    }
}

/// A property of the code in a file, such as shadow-stack support.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Property<'data> {
    /// `GNU_PROPERTY_*`.
    pub kind: u32,
    /// Its value.
    pub bytes: &'data [u8],
    /// Where it begins in the file.
    pub offset: FileOffset,
}

impl<'data> Note<'data> {
    /// The build id, if the note is one.
    pub fn build_id(&self) -> Option<BuildId<'data>> {
        (self.is_gnu(BUILD_ID) && !self.description.is_empty()).then_some(BuildId(self.description))
    }

    /// The ABI tag, if the note is one.
    pub fn abi_tag(&self, encoding: Encoding) -> Option<AbiTag> {
        let words = self.description.as_chunks::<4>().0;
        let mut words = words.iter().filter_map(|word| encoding.u32(word));
        let mut next = || words.next();
        let (system, kernel) = (next(), [next(), next(), next()]);
        match (self.is_gnu(ABI_TAG), system, kernel) {
            (true, Some(system), [Some(major), Some(minor), Some(patch)]) => {
                Some(AbiTag { system, kernel: [major, minor, patch] })
            }
            _ => None,
        }
    }

    /// The properties in the note; empty for another note.
    pub fn properties(&self, encoding: Encoding) -> Properties<'data> {
        let bytes = if self.is_gnu(PROPERTIES) { self.description } else { &[] };
        Properties { rest: bytes, offset: self.description_offset, encoding }
    }

    /// The JSON text that lists libraries for `dlopen`, without the final zeros, if the note is one.
    pub fn dlopen(&self) -> Option<&'data [u8]> {
        if self.name != b"FDO" || self.kind != DLOPEN {
            return None;
        }
        let end = self.description.iter().rposition(|byte| *byte != 0).map_or(0, |last| last.saturating_add(1));
        self.description.get(..end)
    }

    /// Whether it is a SystemTap probe: name `stapsdt`, kind 3.
    pub fn is_systemtap_probe(&self) -> bool {
        self.name == b"stapsdt" && self.kind == 3
    }

    fn is_gnu(&self, kind: u32) -> bool {
        self.name == b"GNU" && self.kind == kind
    }
}

/// The properties in a note. After an error there are no more.
#[derive(Clone, Debug)]
pub struct Properties<'data> {
    rest: &'data [u8],
    offset: FileOffset,
    encoding: Encoding,
}

impl<'data> Properties<'data> {
    /// Kind and size of the value, 4 bytes each, the value, and padding up to a word of the class
    /// (Linux ABI extensions, "Program Property").
    fn read(&mut self) -> Option<Property<'data>> {
        let kind = self.encoding.u32(self.rest)?;
        let after_kind = self.rest.get(4..)?;
        let size = self.encoding.u32(after_kind)?;
        let values = after_kind.get(4..)?;
        let bytes = values.get(..usize::try_from(size).ok()?)?;
        let property = Property { kind, bytes, offset: self.offset };
        let padded = u64::from(size).next_multiple_of(self.encoding.word_size());
        // The last property may lack its padding.
        self.rest = usize::try_from(padded).ok().and_then(|padded| values.get(padded..)).unwrap_or_default();
        self.offset = FileOffset(self.offset.0.saturating_add(padded).saturating_add(8));
        Some(property)
    }
}

impl<'data> Iterator for Properties<'data> {
    type Item = Result<Property<'data>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let offset = self.offset;
        let property = self.read();
        if property.is_none() {
            self.rest = &[];
        }
        let problem = "a property extends past the end of its note";
        Some(property.ok_or(ElfError::Malformed { table: "the property note", offset, problem }))
    }
}

/// The file's first build id. Malformed notes are skipped.
pub fn build_id<'data>(file: &ElfFile<'data>) -> Option<BuildId<'data>> {
    notes(file).flatten().find_map(|note| note.build_id())
}

/// The file's first ABI tag. Malformed notes are skipped.
pub fn abi_tag(file: &ElfFile<'_>) -> Option<AbiTag> {
    let encoding = file.encoding();
    notes(file).flatten().find_map(|note| note.abi_tag(encoding))
}

#[cfg(test)]
mod tests;
