//! The end of every file that we write: our note, with the identity of the whole file, and the section headers.

use coldstart_elf::ElfFile;

use crate::identity::{Recorded, Survey, fill};
use crate::layout::{align_up, file_header};
use crate::note::NoteContent;
use crate::refusal::Refusal;
use crate::script::{Piece, Script};
use coldstart_prove::Source;

/// What stands at the end of a new file, and what its ELF header says of its tables.
pub(crate) struct Ending<'a> {
    pub(crate) note: NoteContent<'a>,
    /// Headers of the sections that were there before.
    pub(crate) section_headers: Vec<u8>,
    /// Where the program headers are, and how many.
    pub(crate) program_headers: (u64, usize),
}

impl Ending<'_> {
    /// The script that writes the whole file, where `script` writes it up to the note. `added` are the headers of new
    /// sections, the note's last, for a note at an offset and of a size in bytes.
    ///
    /// The identity is that of the finished file, which is read once more for it.
    pub(crate) fn close(
        self,
        file: &ElfFile<'_>,
        script: &Script,
        added: impl Fn(u64, u64) -> Vec<u8>,
    ) -> Result<Script, Refusal> {
        let encoding = file.encoding();
        let entry_size = usize::from(file.header().section_entry_size).max(1);
        let mut records = [self.section_headers.as_slice(), &added(0, 0)].concat();
        let count = records.len().checked_div(entry_size).unwrap_or(0);
        let own = count.saturating_sub(1);
        let (segments_at, segment_count) = self.program_headers;
        let segments_size = u64::from(file.header().segment_entry_size).saturating_mul(segment_count as u64);
        let segments = segments_at..segments_at.saturating_add(segments_size);
        let mut survey = Survey::new(file, segments, &records, own, script.size());
        let identity_size = Recorded::size_for(count, survey.entry_count());
        let (note, identity) = self.note.write(encoding, identity_size);
        let note_offset = align_up(script.size(), 4);
        let note_end = note_offset.saturating_add(note.len() as u64);
        let headers_offset = align_up(note_end, encoding.word_size());
        records.truncate(self.section_headers.len());
        records.extend(added(note_offset, note.len() as u64));

        let mut pieces = script.pieces().to_vec();
        if let Some(Piece::Bytes(header)) = pieces.first_mut() {
            file_header::SEGMENTS_OFFSET.set_word(header, encoding, segments_at);
            file_header::SECTIONS_OFFSET.set_word(header, encoding, headers_offset);
            file_header::SEGMENT_COUNT.set_u16(header, encoding, header_count(segment_count)?);
            file_header::SECTION_COUNT.set_u16(header, encoding, header_count(count)?);
        }
        let before = Script::new(encoding, pieces, script.patches().to_vec());
        let unreadable = |error: std::io::Error| Refusal::Layout(format!("a table reaches beyond its end: {error}"));
        before.write(Source::in_memory(file.bytes()), &mut survey).map_err(unreadable)?;

        let gap = |from: u64, to: u64| vec![0; usize::try_from(to.saturating_sub(from)).unwrap_or(0)];
        let mut end = gap(before.size(), note_offset);
        let section = end.len()..end.len().saturating_add(note.len());
        let identity = section.start.saturating_add(identity.start);
        end.extend(note);
        end.extend(gap(note_end, headers_offset));
        end.extend(&records);
        let size = before.size().saturating_add(end.len() as u64);
        let (parts, digest) = survey.finish(&records);
        fill(digest, (&mut end, section, identity), size, &parts);
        let pieces = before.pieces().iter().cloned().chain([Piece::Bytes(end)]).collect();
        Ok(Script::new(encoding, pieces, before.patches().to_vec()))
    }
}

fn header_count(count: usize) -> Result<u16, Refusal> {
    u16::try_from(count).map_err(|_| Refusal::Layout("it has no number left for one more header".to_owned()))
}
