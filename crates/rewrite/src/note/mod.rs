//! The note in a rewritten file: the tool, its edits, the undo data, and the identity of the file.
//!
//! It is a section that is not loaded, so a running program does not see it and LLVM's `strip -s` may drop it.
//! docs/formats/rewrite-note.md describes it byte by byte.

pub(crate) mod identity;

use std::ops::Range;

use coldstart_elf::{ElfFile, Encoding, Notes, Section, SectionHeader};
use serde::{Deserialize, Serialize};

use self::identity::Recorded;
use crate::layout::u32_bytes;
use crate::way_back::WayBack;

/// The section's name.
pub(crate) const SECTION: &str = ".note.coldstart";
/// The same, as stored in the section names.
pub(crate) const SECTION_NAME: &[u8] = b".note.coldstart\0";
/// The notes' owner, with its final zero.
pub(crate) const OWNER: &[u8] = b"coldstart\0";
/// Types of the notes.
const ABOUT: u32 = 1;
const UNDO: u32 = 2;
const CONTENT: u32 = 3;
pub(crate) const IDENTITY: u32 = 4;

/// The first note's data, as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Version of the tool that wrote the file.
    pub coldstart: String,
    /// Names of the edits in order: `bind-local`, `relr`, `bind`.
    pub edits: Vec<String>,
    /// The closed world of `bind-local`, if it was made for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub world: Option<World>,
    /// Whether the note has undo data.
    #[serde(default)]
    pub way_back: WayBack,
}

/// The programs for which a file was rewritten: in others it may be another object to the loader.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct World {
    /// The path of the file when it was rewritten.
    pub file: String,
    /// The programs, and the traces of their starts.
    pub programs: Vec<String>,
}

/// The contents of our note in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OurNote<'data> {
    pub(crate) about: About,
    /// The second note's content, if present.
    pub(crate) undo: Option<&'data [u8]>,
    /// The third note's content, if present.
    pub(crate) content: Option<&'data str>,
    /// The fourth note's content, if present and complete.
    pub(crate) identity: Option<Recorded<'data>>,
    /// Index of their section.
    pub(crate) section: usize,
}

impl About {
    /// A file's description of our edits in it; `None` without a note of ours.
    pub fn read(file: &ElfFile<'_>) -> Option<Self> {
        read(file).map(|note| note.about)
    }
}

/// Private data of the tool that requested an edit, as JSON: from the last edit with such data, even if other edits
/// were made later.
pub fn binding_note<'data>(file: &ElfFile<'data>) -> Option<&'data str> {
    ours(file).find_map(|(number, section)| of_section(file, number, &section.header)?.content)
}

/// Our sections with their indices, the last one first.
fn ours<'file, 'data>(file: &'file ElfFile<'data>) -> impl Iterator<Item = (usize, &'file Section<'data>)> {
    file.sections().iter().enumerate().rev().filter(|(_, section)| section.name == SECTION.as_bytes())
}

/// Finds our note: the last one, because each edit appends its own.
pub(crate) fn read<'data>(file: &ElfFile<'data>) -> Option<OurNote<'data>> {
    ours(file).find_map(|(number, section)| of_section(file, number, &section.header))
}

fn of_section<'data>(file: &ElfFile<'data>, number: usize, header: &SectionHeader) -> Option<OurNote<'data>> {
    let bytes = file.section_bytes(header).ok()?;
    let notes = Notes::new(bytes, header.offset, 4, file.encoding()).ok()?;
    let mut about = None;
    let mut undo = None;
    let mut content = None;
    let mut identity = None;
    for note in notes.map_while(Result::ok).filter(|note| note.name == b"coldstart") {
        match note.kind {
            ABOUT => about = serde_json::from_slice(note.description).ok(),
            UNDO => undo = Some(note.description),
            CONTENT => content = std::str::from_utf8(note.description).ok(),
            IDENTITY => identity = Recorded::read(note.description, note.description_offset),
            _ => {}
        }
    }
    Some(OurNote { about: about?, undo, content, identity, section: number })
}

/// The contents of a note except for the identity, which is filled in last.
pub(crate) struct NoteContent<'a> {
    /// Names of the edits.
    pub(crate) edits: &'a [&'a str],
    /// The closed world.
    pub(crate) world: Option<&'a World>,
    /// The second note's content, or why there is none.
    pub(crate) undo: Result<Vec<u8>, WayBack>,
    /// The third note's content.
    pub(crate) content: Option<&'a str>,
}

impl NoteContent<'_> {
    /// The section's bytes, with zeros for an identity of `identity_size` bytes, and their range.
    pub(crate) fn write(&self, encoding: Encoding, identity_size: usize) -> (Vec<u8>, Range<usize>) {
        let about = About {
            coldstart: env!("CARGO_PKG_VERSION").to_owned(),
            edits: self.edits.iter().map(|edit| (*edit).to_owned()).collect(),
            world: self.world.cloned(),
            way_back: self.undo.as_ref().err().copied().unwrap_or_default(),
        };
        // Strings and lists of strings always have a JSON form.
        let about = serde_json::to_vec(&about).unwrap_or_default();
        let mut bytes = one(encoding, ABOUT, &about);
        bytes.extend(self.undo.iter().flat_map(|undo| one(encoding, UNDO, undo)));
        bytes.extend(self.content.iter().flat_map(|content| one(encoding, CONTENT, content.as_bytes())));
        let header = one(encoding, IDENTITY, &[]).len();
        let place = bytes.len().wrapping_add(header);
        bytes.extend(one(encoding, IDENTITY, &vec![0; identity_size]));
        // Offsets in memory: they do not wrap.
        (bytes, place..place.wrapping_add(identity_size))
    }
}

/// One note: three numbers of 4 bytes, owner, content, both padded to a multiple of 4 (gABI, "Note Section").
fn one(encoding: Encoding, kind: u32, content: &[u8]) -> Vec<u8> {
    let number = |number: u32| u32_bytes(encoding, number).to_vec();
    let padded = |bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        while !bytes.len().is_multiple_of(4) {
            bytes.push(0);
        }
        bytes
    };
    [number(OWNER.len() as u32), number(content.len() as u32), number(kind), padded(OWNER), padded(content)].concat()
}
