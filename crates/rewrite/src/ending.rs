//! The end of every file that we write: our note with the identity of the whole file, and the section headers.

use coldstart_elf::{ElfFile, FileOffset, FileSpan, Position};
use coldstart_prove::Source;

use crate::anatomy::records;
use crate::assembly::NewSection;
use crate::layout::file_header;
use crate::note::NoteContent;
use crate::note::identity::{Recorded, Survey, fill};
use crate::refusal::Refusal;
use crate::script::{Piece, Script};

/// The end of a new file, and the table fields of its ELF header.
pub(crate) struct Ending<'a> {
    pub(crate) note: NoteContent<'a>,
    /// Headers of all sections but our note's.
    pub(crate) section_headers: Vec<u8>,
    /// Offset of our note's name in the section names.
    pub(crate) our_name: u32,
    /// Offset and number of the program headers.
    pub(crate) program_headers: (FileOffset, usize),
}

impl Ending<'_> {
    /// The script for the whole file, from one that ends at the note.
    ///
    /// The identity is that of the finished file, which is read once more to compute it.
    pub(crate) fn close(self, file: &ElfFile<'_>, script: &Script) -> Result<Script, Refusal> {
        let encoding = file.encoding();
        let entry_size = usize::from(file.header().section_entry_size);
        let our_header = |span: FileSpan| NewSection::of_our_note(span).header(encoding, entry_size, self.our_name);
        let mut headers = [self.section_headers.as_slice(), &our_header(FileSpan::default())].concat();
        let count = headers.len().checked_div(entry_size.max(1)).unwrap_or(0);
        let own = self.section_headers.len().checked_div(entry_size.max(1)).unwrap_or(0);
        let (segments_at, segment_count) = self.program_headers;
        let segments = records(segments_at, file.header().segment_entry_size, segment_count)?;
        let mut survey = Survey::new(file, segments, &headers, own, script.size())?;
        let identity_size = Recorded::size_for(count, survey.entry_count());
        let (note, identity) = self.note.write(encoding, identity_size);
        let before_note = FileOffset(script.size());
        let note_span = FileSpan::new(before_note.aligned_up(4)?, note.len() as u64)?;
        let headers_offset = note_span.end().aligned_up(encoding.word_size())?;
        headers.truncate(self.section_headers.len());
        headers.extend(our_header(note_span));

        let mut pieces = script.pieces().to_vec();
        if let Some(Piece::Bytes(header)) = pieces.first_mut() {
            file_header::SEGMENTS_OFFSET.set_word(header, encoding, segments_at.0);
            file_header::SECTIONS_OFFSET.set_word(header, encoding, headers_offset.0);
            file_header::SEGMENT_COUNT.set_u16(header, encoding, header_count(segment_count)?);
            file_header::SECTION_COUNT.set_u16(header, encoding, header_count(count)?);
        }
        let before = Script::new(encoding, pieces, script.patches().to_vec())?;
        let unreadable = |error: std::io::Error| Refusal::Layout(format!("a table extends past its end: {error}"));
        before.write(Source::in_memory(file.bytes()), &mut survey).map_err(unreadable)?;

        // Less than a word each.
        let gap = |from: FileOffset, to: FileOffset| Ok::<_, Refusal>(vec![0; to.since(from)? as usize]);
        let mut end = gap(before_note, note_span.start())?;
        // Offsets in memory: they do not wrap.
        let section = end.len()..end.len().wrapping_add(note.len());
        let identity = section.start.wrapping_add(identity.start);
        end.extend(note);
        end.extend(gap(note_span.end(), headers_offset)?);
        end.extend(&headers);
        let size = before_note.plus(end.len() as u64)?.0;
        let (parts, digest) = survey.finish(&headers);
        fill(digest, (&mut end, section, identity), size, &parts);
        let pieces = before.pieces().iter().cloned().chain([Piece::Bytes(end)]).collect();
        Ok(Script::new(encoding, pieces, before.patches().to_vec())?)
    }
}

fn header_count(count: usize) -> Result<u16, Refusal> {
    u16::try_from(count).map_err(|_| Refusal::Layout("its header count is at the limit".to_owned()))
}
