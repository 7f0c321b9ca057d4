//! The resolution note of Nix: an object's own list of where its libraries are (`patchelf --build-resolution-cache`).
//!
//! A loader that reads it opens each library at its path instead of trying all directories of the run path; it is
//! consulted after `LD_LIBRARY_PATH` and before the run path. The section is `.note.nixos.ldcache`, in a `PT_NOTE` segment.
//!
//! The note holds the run path's *order*, not only its result: a directory that may hold something else when the program
//! starts (`$ORIGIN`, a relative one, one that is not there yet, one with builds for processor levels) stays in its place as a
//! hint, so that the loader still looks there before it takes the path that was found behind it.

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
/// Places that are read at most for one name.
const MOST_PLACES: usize = 65_536;

/// Where the libraries of an object are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NixNote {
    /// One entry for each name, in the order of the names' bytes.
    pub entries: Vec<NixEntry>,
}

/// Where one library is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NixEntry {
    /// The name in `DT_NEEDED`; never empty.
    pub needed: Vec<u8>,
    /// Places in the order in which they are tried; at least one.
    pub places: Vec<NixPlace>,
}

/// One place of a library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NixPlace {
    /// `=PATH`: the file is there.
    Exact(Vec<u8>),
    /// `?DIRECTORY`: the loader is to look there. Tokens as `$ORIGIN` stand as they are; empty for the current directory.
    Search(Vec<u8>),
}

/// Why bytes are no resolution note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NixNoteError {
    /// A string does not end.
    #[error("the string at {offset:#x} of the note does not end within it")]
    Text {
        /// Where it begins, in bytes from the descriptor's beginning.
        offset: usize,
    },
    /// A name has no places.
    #[error("the name at {offset:#x} of the note has no places behind it")]
    NoPlaces {
        /// Where it begins, in bytes from the descriptor's beginning.
        offset: usize,
    },
    /// A place begins with neither `=` nor `?`.
    #[error("a place at {offset:#x} of the note begins with neither `=` nor `?`")]
    Place {
        /// Where its list begins, in bytes from the descriptor's beginning.
        offset: usize,
    },
    /// More places than any run path has directories.
    #[error("the name at {offset:#x} of the note has more than {MOST_PLACES} places")]
    TooMany {
        /// Where it begins, in bytes from the descriptor's beginning.
        offset: usize,
    },
}

impl NixNote {
    /// The note of an object, from its run path (`DT_RUNPATH`, without it `DT_RPATH`) and the files that are there now.
    ///
    /// Names with a slash are opened as they are and get no entry; so do names that no directory holds or may come to hold,
    /// and names with a colon, which separates places. Empty when the object has no run path.
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

    /// Where a name is; none when the note does not tell.
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

    /// The whole note: sizes and type, owner, descriptor, each padded to four bytes. It is to lie at an address that is a
    /// multiple of four, in a segment `PT_NOTE` aligned to four.
    pub fn to_bytes(&self, byte_order: ByteOrder) -> Vec<u8> {
        let descriptor = self.descriptor();
        // No run path and no list of names comes near 4 GiB: both are tables of one file in memory.
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

    /// Reads a descriptor. It ends at an empty name or with its bytes.
    ///
    /// # Errors
    /// Says what is damaged and where.
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

    /// Whether a `PT_NOTE` segment leads to the note of a file: loaders look for it there and not in sections.
    pub fn is_loaded(file: &ElfFile<'_>) -> bool {
        let segments = file.segments().iter().filter(|segment| segment.kind == SegmentKind::Note);
        segments.into_iter().any(|segment| {
            let start = usize::try_from(segment.offset.0).ok().and_then(|start| file.bytes().get(start..));
            let bytes = start.zip(usize::try_from(segment.file_size).ok()).and_then(|(rest, size)| rest.get(..size));
            let notes = bytes.map(|bytes| Notes::new(bytes, segment.offset, segment.alignment, file.encoding()));
            notes.is_some_and(|notes| notes.is_ok_and(|notes| notes.flatten().any(|note| is_ours(&note))))
        })
    }

    /// The note of a file; none when it has none.
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

/// The string at the beginning; none when no zero byte ends it.
fn text(bytes: &[u8]) -> Option<&[u8]> {
    bytes.get(..bytes.iter().position(|&byte| byte == 0)?)
}

/// Whether a name is searched for, and can stand in the note.
fn is_searched(name: &[u8]) -> bool {
    !name.is_empty() && !name.iter().any(|byte| matches!(byte, b'/' | b':'))
}

/// A directory of the run path.
struct Directory<'a> {
    name: &'a [u8],
    is_hint: bool,
}

/// Whether only a start can tell what a directory holds.
fn is_hint(name: &[u8], system: &impl FileSystem) -> bool {
    let is_directory = |name: &[u8]| system.is_directory(names::path(name));
    !name.starts_with(b"/")
        || name.contains(&b'$')
        || !is_directory(name)
        || is_directory(&[name, b"/glibc-hwcaps"].concat())
}

impl Directory<'_> {
    /// What the directory has to say about a name; none when the library is not in it.
    fn place(&self, needed: &[u8], asking: &ObjectFacts, system: &impl FileSystem) -> Option<NixPlace> {
        let search = NixPlace::Search(self.name.to_vec());
        if self.is_hint {
            return Some(search);
        }
        let file = [self.name, b"/", needed].concat();
        match system.object(names::path(&file)) {
            // A loader passes an object for another machine over.
            Probe::Object { facts, .. } if crate::draft::misfit(asking, &facts).is_some() => None,
            // It ends a start, which a path that is not in the note would not.
            Probe::Object { .. } | Probe::NotAnObject(_) => Some(NixPlace::Exact(file)),
            Probe::Absent(io::ErrorKind::NotFound) => None,
            // Who starts the program may be allowed to read it.
            Probe::Absent(_) => Some(search),
        }
    }
}
