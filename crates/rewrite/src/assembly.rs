//! From a planner's decisions to the whole new file; shared by all edits.
//!
//! A planner decides which bytes change and where segments and sections are. The common part is done here: the end of
//! the file, the symbols, the undo data, our note, and the identity of the finished file.

use coldstart_elf::{ElfFile, Encoding, FileOffset, FileSpan, VaddrSpan};

use crate::anatomy::tail::Tail;
use crate::anatomy::{program_header_range, records, section_header_range};
use crate::edits::Edits;
use crate::ending::Ending;
use crate::layout::{part, section_header as field};
use crate::note::identity::digest;
use crate::note::{self, NoteContent, World};
use crate::refusal::Refusal;
use crate::script::{Piece, Script, WordPatch};
use crate::undo::{Copies, Held, Known, Origin, Undo, encode, steps_back};
use crate::way_back::WayBack;

/// `SHT_NOTE`.
pub(crate) const NOTE: u32 = 7;
/// `SHF_ALLOC`.
pub(crate) const ALLOC: u64 = 2;

/// The new program headers as bytes, each with its old index.
pub(crate) type NewHeaders = Vec<(Option<usize>, Vec<u8>)>;

/// A section only in the new file.
#[derive(Clone, Debug)]
pub(crate) struct NewSection {
    pub(crate) name: Vec<u8>,
    /// `SHT_*`.
    pub(crate) kind: u32,
    /// `SHF_*`.
    pub(crate) flags: u64,
    /// Its address range; for an unloaded section, its size at address 0.
    pub(crate) memory: VaddrSpan,
    pub(crate) offset: FileOffset,
    pub(crate) alignment: u64,
    pub(crate) entry_size: u64,
}

impl NewSection {
    /// The section of our own note.
    pub(crate) fn of_our_note(span: FileSpan) -> Self {
        Self {
            name: note::SECTION.as_bytes().to_vec(),
            kind: NOTE,
            flags: 0,
            memory: VaddrSpan::first(span.size()),
            offset: span.start(),
            alignment: 4,
            entry_size: 0,
        }
    }

    /// Its header, with its name at an offset in the section names.
    pub(crate) fn header(&self, encoding: Encoding, entry_size: usize, name: u32) -> Vec<u8> {
        let mut raw = vec![0; entry_size];
        field::NAME.set_u32(&mut raw, encoding, name);
        field::KIND.set_u32(&mut raw, encoding, self.kind);
        field::FLAGS.set_word(&mut raw, encoding, self.flags);
        field::ADDRESS.set_word(&mut raw, encoding, self.memory.start().0);
        field::OFFSET.set_word(&mut raw, encoding, self.offset.0);
        field::SIZE.set_word(&mut raw, encoding, self.memory.size());
        field::ALIGNMENT.set_word(&mut raw, encoding, self.alignment);
        field::ENTRY_SIZE.set_word(&mut raw, encoding, self.entry_size);
        raw
    }
}

/// The names to be added: those of new sections, in order, and that of our note.
pub(crate) fn added_names<'n>(new: impl IntoIterator<Item = &'n [u8]>) -> Vec<u8> {
    let mut names = Vec::new();
    for name in new {
        names.extend(name);
        names.push(0);
    }
    names.extend(note::SECTION_NAME);
    names
}

/// A dynamic table that is rewritten in place.
#[derive(Debug)]
pub(crate) struct DynamicInPlace {
    /// Its range in the original.
    pub(crate) old: FileSpan,
    /// Its offset in the new file.
    pub(crate) at: FileOffset,
    /// Its bytes.
    pub(crate) bytes: Vec<u8>,
}

/// The size limit of the undo data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WayBackRule {
    /// No undo data, as requested.
    Declined,
    /// Omitted if it exceeds this many bytes.
    AtMost(u64),
    /// Required.
    Demanded,
}

/// A planner's decisions about a file.
pub(crate) struct Assembly<'a, 'data> {
    pub(crate) file: &'a ElfFile<'data>,
    /// Changes before the end, except for those with a field of their own here.
    pub(crate) edits: Edits,
    pub(crate) tail: Tail,
    pub(crate) program_headers: NewHeaders,
    /// File offset of the new end.
    pub(crate) program_headers_at: FileOffset,
    /// None if it was moved or is unchanged.
    pub(crate) dynamic: Option<DynamicInPlace>,
    /// New values of symbols.
    pub(crate) symbols: Vec<WordPatch>,
    /// New headers of the old sections.
    pub(crate) section_headers: Vec<u8>,
    pub(crate) new_sections: Vec<NewSection>,
    /// Parts of the original that are derived from the new file other than headers and the dynamic table.
    pub(crate) known: Vec<(FileSpan, Known)>,
    /// Words of the original that differ in the new file, with their old values, except for symbols.
    pub(crate) words_before: Vec<WordPatch>,
    /// The old values of RELR's words.
    pub(crate) held: Held,
    /// The old order of the relative relocations that became RELR, if it differs.
    pub(crate) order: Vec<u32>,
}

/// The note's description of an edit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoteText<'a> {
    /// The names of its edits.
    pub(crate) edits: &'a [&'a str],
    /// The programs for which the file was made, if it is made for these only.
    pub(crate) world: Option<&'a World>,
    /// Private data of the tool that requested it.
    pub(crate) content: Option<&'a str>,
}

impl Assembly<'_, '_> {
    /// The script that writes the whole file, and whether its note leads back.
    ///
    /// # Errors
    /// If two changes overlap, an offset overflows, or the required undo data is too large.
    pub(crate) fn finish(mut self, note: NoteText<'_>, rule: WayBackRule) -> Result<(Script, WayBack), Refusal> {
        let (file, encoding) = (self.file, self.file.encoding());
        let mut edits = std::mem::take(&mut self.edits);
        if let Some(dynamic) = &self.dynamic {
            edits.replace(dynamic.old, vec![Piece::Bytes(dynamic.bytes.clone())]);
        }
        edits.patch(self.symbols.iter().copied());
        let size = FileOffset(file.size());
        edits.replace(FileSpan::between(self.tail.from, size)?, std::mem::take(&mut self.tail.pieces));
        // The undo data refers to offsets in the new file; all of them are before the note, whose size depends on it.
        let script = edits.into_script(encoding, file.size())?;
        let undo = self.way_back(&script, rule)?;
        let kept = undo.as_ref().err().copied().unwrap_or_default();
        let ending = Ending {
            note: NoteContent { edits: note.edits, world: note.world, undo, content: note.content },
            program_headers: (self.program_headers_at, self.program_headers.len()),
            our_name: self.our_name()?,
            section_headers: self.all_section_headers()?,
        };
        Ok((ending.close(file, &script)?, kept))
    }

    /// Headers of all sections but our note's.
    fn all_section_headers(&mut self) -> Result<Vec<u8>, Refusal> {
        let entry_size = usize::from(self.file.header().section_entry_size);
        let mut headers = std::mem::take(&mut self.section_headers);
        let mut name = self.tail.added_names;
        for section in &self.new_sections {
            headers.extend(section.header(self.file.encoding(), entry_size, name));
            name = behind_name(name, section)?;
        }
        Ok(headers)
    }

    /// Offset of our note's name in the section names.
    fn our_name(&self) -> Result<u32, Refusal> {
        self.new_sections.iter().try_fold(self.tail.added_names, behind_name)
    }

    fn way_back(&mut self, script: &Script, rule: WayBackRule) -> Result<Result<Vec<u8>, WayBack>, Refusal> {
        if rule == WayBackRule::Declined {
            return Ok(Err(WayBack::Declined));
        }
        let copies = Copies::of(script)?;
        let words = self.words(&copies)?;
        let known = self.known()?;
        let undo = Undo {
            size: self.file.size(),
            digest: digest(self.file.bytes(), &|_| {}),
            held: self.held,
            order: std::mem::take(&mut self.order),
            steps: steps_back(self.file.bytes(), &copies, &known)?,
            words,
        };
        match (encode(&undo), rule) {
            (Some(undo), WayBackRule::AtMost(longest)) if undo.len() as u64 > longest => Ok(Err(WayBack::TooLong)),
            (Some(undo), _) => Ok(Ok(undo)),
            (None, WayBackRule::Demanded) => Err(Refusal::Layout("its undo data is too large for a note".to_owned())),
            (None, _) => Ok(Err(WayBack::TooLong)),
        }
    }

    /// Words of the new file with their old values, by offset; words that are not copied are restored in other ways.
    fn words(&self, copies: &Copies) -> Result<Vec<WordPatch>, Refusal> {
        let encoding = self.file.encoding();
        let mut before = self.words_before.clone();
        for symbol in &self.symbols {
            let held = part(self.file.bytes(), FileSpan::new(symbol.at, encoding.word_size())?);
            before.extend(held.and_then(|word| encoding.word(word)).map(|value| WordPatch { value, ..*symbol }));
        }
        let mut words = Vec::with_capacity(before.len());
        for word in before {
            if let Some(at) = copies.place(word.at)? {
                words.push(WordPatch { at, ..word });
            }
        }
        words.sort_unstable();
        Ok(words)
    }

    /// Ranges of the original that are derived from the new file, in order.
    fn known(&mut self) -> Result<Vec<(FileSpan, Known)>, Refusal> {
        let file = self.file;
        let mut known = std::mem::take(&mut self.known);
        let size = file.header().segment_entry_size;
        let at = |start: FileOffset, number: usize| Ok::<_, Refusal>(records(start, size, number)?.end());
        let old_start = program_header_range(file)?.start();
        for (place, (number, raw)) in self.program_headers.iter().enumerate() {
            let Some(number) = number else { continue };
            let old = FileSpan::new(at(old_start, *number)?, size.into())?;
            known.push((old, Known::Like(Origin::At(at(self.program_headers_at, place)?), raw.clone())));
        }
        if let Some(dynamic) = self.dynamic.take() {
            known.push((dynamic.old, Known::Like(Origin::At(dynamic.at), dynamic.bytes)));
        }
        let headers = Known::Like(Origin::SectionHeaders, self.section_headers.clone());
        known.push((section_header_range(file)?, headers));
        known.sort_by_key(|(range, _)| range.start());
        Ok(known)
    }
}

/// Offset of the next name after that of a section.
fn behind_name(name: u32, section: &NewSection) -> Result<u32, Refusal> {
    // Including its terminating zero.
    let size = u32::try_from(section.name.len()).ok().and_then(|size| size.checked_add(1));
    let next = size.and_then(|size| name.checked_add(size));
    next.ok_or_else(|| Refusal::Layout("its section name table is too large".to_owned()))
}
