//! Nix's resolution note: an object's own list of its libraries' paths (`patchelf --build-resolution-cache`).
//!
//! A loader that supports it opens each library at its path instead of trying all directories of the run path. It is
//! consulted after `LD_LIBRARY_PATH` and before the run path. The section is `.note.nixos.ldcache`, in a `PT_NOTE`
//! segment.
//!
//! The note preserves the run path's *order*, not only its result. A directory with unpredictable contents
//! (`$ORIGIN`, a relative one, a missing one, one with builds for processor levels) stays in the list as a hint, so
//! that the loader searches it before it uses the paths after it.

use std::io;

use coldstart_elf::{ByteOrder, ElfFile, Note, Notes, SegmentKind, notes};

use crate::{FileSystem, ObjectFacts, Probe, names};

/// Name of the section that holds the note.
pub const SECTION: &str = ".note.nixos.ldcache";
/// Owner of the note, with its terminating zero.
const OWNER: &[u8] = b"NixOS\0";
/// Type of the note.
const KIND: u32 = 0x63a8_6cb6;
/// Notes are aligned to four bytes in both classes.
const ALIGNMENT: usize = 4;
/// Limit on the paths of one name.
const MOST_PLACES: usize = 65_536;

/// The paths of an object's libraries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NixNote {
    /// One entry for each name, in byte order of the names.
    pub entries: Vec<NixEntry>,
}

/// The paths of one library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NixEntry {
    /// The name in `DT_NEEDED`; never empty.
    pub needed: Vec<u8>,
    /// Paths in search order; at least one.
    pub places: Vec<NixPlace>,
}

/// One path of a library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NixPlace {
    /// `=PATH`: the file's path.
    Exact(Vec<u8>),
    /// `?DIRECTORY`: the loader searches it. Tokens such as `$ORIGIN` are not expanded; empty for the current
    /// directory.
    Search(Vec<u8>),
}

/// Why bytes are not a resolution note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NixNoteError {
    /// A string is not terminated.
    #[error("the string at {offset:#x} of the note is not terminated")]
    Text {
        /// Its offset in the descriptor, in bytes.
        offset: usize,
    },
    /// A name has no paths.
    #[error("the name at {offset:#x} of the note has no paths")]
    NoPlaces {
        /// Its offset in the descriptor, in bytes.
        offset: usize,
    },
    /// A path begins with neither `=` nor `?`.
    #[error("a path at {offset:#x} of the note begins with neither `=` nor `?`")]
    Place {
        /// Offset of its list in the descriptor, in bytes.
        offset: usize,
    },
    /// More paths than any run path has directories.
    #[error("the name at {offset:#x} of the note has more than {MOST_PLACES} paths")]
    TooMany {
        /// Its offset in the descriptor, in bytes.
        offset: usize,
    },
}

impl NixNote {
    /// The note of an object, from its run path (`DT_RUNPATH`, without it `DT_RPATH`) and the files that exist now.
    ///
    /// Names with a slash are opened directly and get no entry; neither do names that no directory contains or may
    /// contain, and names with a colon, the separator. Empty if the object has no run path.
    pub fn of(facts: &ObjectFacts, system: &impl FileSystem) -> Self {
        let run_path = facts.runpath.as_deref().or(facts.rpath.as_deref()).unwrap_or_default();
        if run_path.is_empty() {
            return Self::default();
        }
        let directories: Vec<Directory<'_>> = run_path
            .split(|&byte| byte == b':')
            .map(|name| Directory { name, is_hint: is_hint(name, system) })
            .collect();
        let mut names: Vec<&Vec<u8>> = facts.needed.iter().filter(|name| is_searched(name)).collect();
        names.sort_unstable();
        names.dedup();
        let entry = |needed: &Vec<u8>| {
            let places = directories.iter().filter_map(|directory| directory.place(needed, facts, system));
            NixEntry { needed: needed.clone(), places: places.collect() }
        };
        let entries = names.into_iter().map(entry).filter(|entry| !entry.places.is_empty());
        Self { entries: entries.collect() }
    }

    /// The paths of a name; none if the note does not contain it.
    pub fn places(&self, needed: &[u8]) -> Option<&[NixPlace]> {
        let entry = self.entries.iter().find(|entry| entry.needed == needed)?;
        Some(&entry.places)
    }

    /// The descriptor: pairs of strings, each ended by a zero byte, and one more zero byte.
    pub fn descriptor(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for entry in &self.entries {
            bytes.extend_from_slice(&entry.needed);
            bytes.push(0);
            for (number, place) in entry.places.iter().enumerate() {
                if number > 0 {
                    bytes.push(b':');
                }
                let (mark, text) = match place {
                    NixPlace::Exact(path) => (b'=', path),
                    NixPlace::Search(directory) => (b'?', directory),
                };
                bytes.push(mark);
                bytes.extend_from_slice(text);
            }
            bytes.push(0);
        }
        bytes.push(0);
        bytes
    }

    /// The whole note: sizes and type, owner, descriptor, each padded to four bytes. Its address must be a multiple
    /// of four, in a `PT_NOTE` segment aligned to four.
    pub fn to_bytes(&self, byte_order: ByteOrder) -> Vec<u8> {
        let descriptor = self.descriptor();
        // No run path or list of names approaches 4 GiB: both are tables of one file in memory.
        let size = u32::try_from(descriptor.len()).unwrap_or(u32::MAX);
        let mut bytes = Vec::with_capacity(descriptor.len() + 24);
        for number in [OWNER.len() as u32, size, KIND] {
            bytes.extend(match byte_order {
                ByteOrder::Little => number.to_le_bytes(),
                ByteOrder::Big => number.to_be_bytes(),
            });
        }
        for part in [OWNER, &descriptor] {
            bytes.extend_from_slice(part);
            bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
        }
        bytes
    }

    /// Parses a descriptor. It ends at an empty name or at the end of its bytes.
    ///
    /// # Errors
    /// What is damaged and where.
    pub fn parse(descriptor: &[u8]) -> Result<Self, NixNoteError> {
        let mut note = Self::default();
        let mut offset = 0;
        loop {
            let rest = descriptor.get(offset..).unwrap_or_default();
            if rest.is_empty() || rest.first() == Some(&0) {
                return Ok(note);
            }
            let needed = text(rest).ok_or(NixNoteError::Text { offset })?;
            let list_offset = offset + needed.len() + 1;
            let list = descriptor.get(list_offset..).filter(|rest| !rest.is_empty());
            let list = text(list.ok_or(NixNoteError::NoPlaces { offset })?);
            let list = list.ok_or(NixNoteError::Text { offset: list_offset })?;
            if list.is_empty() {
                return Err(NixNoteError::NoPlaces { offset });
            }
            let mut places = Vec::new();
            for place in list.split(|&byte| byte == b':') {
                if places.len() == MOST_PLACES {
                    return Err(NixNoteError::TooMany { offset });
                }
                places.push(match place.split_first() {
                    Some((b'=', path)) => NixPlace::Exact(path.to_vec()),
                    Some((b'?', directory)) => NixPlace::Search(directory.to_vec()),
                    _ => return Err(NixNoteError::Place { offset: list_offset }),
                });
            }
            note.entries.push(NixEntry { needed: needed.to_vec(), places });
            offset = list_offset + list.len() + 1;
        }
    }

    /// Whether a file's note is in a `PT_NOTE` segment: loaders look for it there and not in sections.
    pub fn is_loaded(file: &ElfFile<'_>) -> bool {
        let segments = file.segments().iter().filter(|segment| segment.kind == SegmentKind::Note);
        segments.into_iter().any(|segment| {
            let start = usize::try_from(segment.offset.0).ok().and_then(|start| file.bytes().get(start..));
            let bytes = start.zip(usize::try_from(segment.file_size).ok()).and_then(|(rest, size)| rest.get(..size));
            let notes = bytes.map(|bytes| Notes::new(bytes, segment.offset, segment.alignment, file.encoding()));
            notes.is_some_and(|notes| notes.is_ok_and(|notes| notes.flatten().any(|note| is_ours(&note))))
        })
    }

    /// The note of a file; none if it has none.
    ///
    /// # Errors
    /// If its note is damaged.
    pub fn read(file: &ElfFile<'_>) -> Result<Option<Self>, NixNoteError> {
        let note = notes(file).flatten().find(is_ours);
        note.map(|note| Self::parse(note.description)).transpose()
    }
}

fn is_ours(note: &Note<'_>) -> bool {
    note.whole_name == OWNER && note.kind == KIND
}

/// The string at the beginning; none if it is not terminated.
fn text(bytes: &[u8]) -> Option<&[u8]> {
    bytes.get(..bytes.iter().position(|&byte| byte == 0)?)
}

/// Whether a name is searched and can be in the note.
fn is_searched(name: &[u8]) -> bool {
    !name.is_empty() && !name.iter().any(|byte| matches!(byte, b'/' | b':'))
}

/// A directory of the run path.
struct Directory<'a> {
    name: &'a [u8],
    is_hint: bool,
}

/// Whether the directory's contents are unknown until the start.
fn is_hint(name: &[u8], system: &impl FileSystem) -> bool {
    let is_directory = |name: &[u8]| system.is_directory(names::path(name));
    !name.starts_with(b"/")
        || name.contains(&b'$')
        || !is_directory(name)
        || is_directory(&[name, b"/glibc-hwcaps"].concat())
}

impl Directory<'_> {
    /// The directory's entry for a name; none if it does not contain the library.
    fn place(&self, needed: &[u8], asking: &ObjectFacts, system: &impl FileSystem) -> Option<NixPlace> {
        let search = NixPlace::Search(self.name.to_vec());
        if self.is_hint {
            return Some(search);
        }
        let file = [self.name, b"/", needed].concat();
        match system.object(names::path(&file)) {
            // A loader skips an object for another architecture.
            Probe::Object { facts, .. } if crate::draft::misfit(asking, &facts).is_some() => None,
            // It ends a start; omitting its path would hide that.
            Probe::Object { .. } | Probe::NotAnObject(_) => Some(NixPlace::Exact(file)),
            Probe::Absent(io::ErrorKind::NotFound) => None,
            // The user who starts the program may be allowed to read it.
            Probe::Absent(_) => Some(search),
        }
    }
}
