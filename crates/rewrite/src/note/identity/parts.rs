//! Fingerprints of a file's parts, for reporting changes: headers, sections, entries of the dynamic table.
//!
//! They are computed while the file is written, from the stream of its bytes: the file need not fit into memory.

use std::io::{self, Write};

use coldstart_elf::{ElfFile, Encoding, FileOffset, FileSpan, Position, Tag};

use crate::anatomy::{first_bytes, program_header_range, section_header_range};
use crate::layout::{part, section_header as field};
use crate::refusal::Refusal;
use crate::script::Output;

/// More sections or dynamic entries than this are not distinguished, nor sections whose total size exceeds the file's
/// by this factor.
const MOST: usize = 1024;
const LARGEST: u64 = 4;
/// `SHT_NULL`, `SHT_DYNAMIC`, `SHT_NOBITS`.
const NULL: u32 = 0;
const DYNAMIC: u32 = 6;
const NOBITS: u32 = 8;
/// Entries with the offset of a name in the dynamic strings.
const NAMES: [Tag; 8] =
    [Tag::NEEDED, Tag::SONAME, Tag::RPATH, Tag::RUNPATH, Tag::AUDIT, Tag::DEPAUDIT, Tag::FILTER, Tag::AUXILIARY];

/// A truncated BLAKE3 hash.
pub(super) type Fingerprint = [u8; 4];

/// Fingerprints of all parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Parts {
    pub(super) file_header: Fingerprint,
    pub(super) program_headers: Fingerprint,
    /// Header, but for the name, and content of each section; of sections without bytes and of our own note, the
    /// content is that of nothing.
    pub(super) sections: Vec<[Fingerprint; 2]>,
    /// Every entry of the dynamic table.
    pub(super) entries: Vec<Fingerprint>,
}

impl Parts {
    /// Their size in bytes.
    pub(super) fn size_for(sections: usize, entries: usize) -> usize {
        // None exceeds `MOST`, so this does not overflow: two counts, two headers, two fingerprints of each section.
        let told = |count: usize| if count > MOST { 0 } else { count };
        told(sections).wrapping_mul(2).wrapping_add(told(entries)).wrapping_add(4).wrapping_mul(4)
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let counts = [self.sections.len(), self.entries.len()].map(|count| (count as u32).to_le_bytes());
        let headers = [self.file_header, self.program_headers];
        [
            counts.as_flattened(),
            headers.as_flattened(),
            self.sections.as_flattened().as_flattened(),
            self.entries.as_flattened(),
        ]
        .concat()
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let ([counts @ .., file_header, program_headers], rest) = bytes.as_chunks::<4>().0.split_first_chunk::<4>()?;
        let [sections, entries] = counts.map(|count| u32::from_le_bytes(count) as usize);
        let (sections, rest) = rest.split_at_checked(sections.checked_mul(2)?)?;
        Some(Self {
            file_header: *file_header,
            program_headers: *program_headers,
            sections: sections.as_chunks::<2>().0.to_vec(),
            entries: rest.get(..entries)?.to_vec(),
        })
    }

    /// Fingerprints of an existing file; section number `own` is our note.
    ///
    /// # Errors
    /// If a header exceeds the largest offset.
    pub(super) fn of_file(file: &ElfFile<'_>, own: usize) -> Result<Self, Refusal> {
        let records = part(file.bytes(), section_header_range(file)?).unwrap_or(&[]);
        let mut survey = Survey::new(file, program_header_range(file)?, records, own, file.size())?;
        // Hashing does not fail.
        let _ = survey.write_all(file.bytes());
        Ok(survey.parts(records))
    }
}

/// Computes fingerprints of a file from the stream of its bytes.
pub(crate) struct Survey {
    encoding: Encoding,
    entry_size: usize,
    at: FileOffset,
    /// The digest of all bytes so far.
    whole: blake3::Hasher,
    file_header: Watched,
    program_headers: Watched,
    contents: Vec<Watched>,
    dynamic: Watched,
    strings: Watched,
}

/// A range of the file to be hashed as it passes.
struct Watched {
    range: FileSpan,
    hasher: blake3::Hasher,
    /// Its bytes, if they are needed themselves.
    bytes: Option<Vec<u8>>,
}

impl Watched {
    fn new(range: FileSpan) -> Self {
        Self { range, hasher: blake3::Hasher::new(), bytes: None }
    }

    fn kept(range: FileSpan) -> Self {
        Self { bytes: Some(Vec::new()), ..Self::new(range) }
    }

    /// Takes what of `bytes`, which are `given` in the file, is in the range.
    fn take(&mut self, given: FileSpan, bytes: &[u8]) {
        let (from, to) = (self.range.start().max(given.start()), self.range.end().min(given.end()));
        if from >= to {
            return;
        }
        let within = |place: FileOffset| place.since(given.start()).ok().and_then(|place| usize::try_from(place).ok());
        let own = within(from).zip(within(to)).and_then(|(from, to)| bytes.get(from..to)).unwrap_or(&[]);
        match &mut self.bytes {
            Some(bytes) => bytes.extend(own),
            None => drop(self.hasher.update_rayon(own)),
        }
    }

    fn fingerprint(&self) -> Fingerprint {
        first_bytes_of(&self.hasher.finalize())
    }
}

impl Survey {
    /// A survey of a file of `size` bytes that is made of `file`, with its program headers at `program_headers` and
    /// these `records` of section headers, of which number `own` is that of our note.
    ///
    /// # Errors
    /// If a section reaches past the largest offset.
    pub(crate) fn new(
        file: &ElfFile<'_>,
        program_headers: FileSpan,
        records: &[u8],
        own: usize,
        size: u64,
    ) -> Result<Self, Refusal> {
        let encoding = file.encoding();
        let entry_size = usize::from(file.header().section_entry_size).max(1);
        let records: Vec<&[u8]> = records.chunks_exact(entry_size).collect();
        let content = |record: &[u8]| match field::KIND.u32(record, encoding) {
            NULL | NOBITS => Ok(FileSpan::default()),
            _ => FileSpan::new(FileOffset(field::OFFSET.word(record, encoding)), field::SIZE.word(record, encoding)),
        };
        let mut contents = records.iter().map(|record| content(record)).collect::<Result<Vec<_>, _>>()?;
        if let Some(own) = contents.get_mut(own) {
            *own = FileSpan::default();
        }
        // Together larger than any number is larger than the file, too.
        let together = contents.iter().try_fold(0_u64, |sum, range| sum.checked_add(range.size()));
        let are_told = contents.len() <= MOST && together.is_some_and(|together| together.div_ceil(LARGEST) <= size);
        let dynamic = records.iter().find(|record| field::KIND.u32(record, encoding) == DYNAMIC);
        let strings = dynamic.and_then(|record| records.get(field::LINK.u32(record, encoding) as usize));
        let range_of = |record: Option<&&[u8]>| record.map_or(Ok(FileSpan::default()), |record| content(record));
        Ok(Self {
            encoding,
            entry_size,
            at: FileOffset(0),
            whole: blake3::Hasher::new(),
            file_header: Watched::new(FileSpan::first(first_bytes(file).len() as u64)),
            program_headers: Watched::new(program_headers),
            contents: contents.into_iter().filter(|_| are_told).map(Watched::new).collect(),
            dynamic: Watched::kept(range_of(dynamic)?),
            strings: Watched::kept(range_of(strings)?),
        })
    }

    /// Number of entries in the dynamic table.
    pub(crate) fn entry_count(&self) -> usize {
        let entry = self.encoding.word_size().wrapping_mul(2);
        // More entries than fit in memory are not distinguished anyway.
        usize::try_from(self.dynamic.range.size().checked_div(entry).unwrap_or(0)).unwrap_or(usize::MAX)
    }

    /// The fingerprints of the file, with the final section headers.
    fn parts(&self, records: &[u8]) -> Parts {
        // Without the name's offset, which changes when other names are added or removed.
        let headers = records.chunks_exact(self.entry_size).map(|record| fingerprint(record.get(4..).unwrap_or(&[])));
        let sections = headers.zip(&self.contents).map(|(header, content)| [header, content.fingerprint()]);
        Parts {
            file_header: self.file_header.fingerprint(),
            program_headers: self.program_headers.fingerprint(),
            sections: sections.collect(),
            entries: self.entries(),
        }
    }

    /// Like [`Self::parts`], as bytes; and the digest so far.
    pub(crate) fn finish(self, records: &[u8]) -> (Vec<u8>, blake3::Hasher) {
        (self.parts(records).to_bytes(), self.whole)
    }

    /// An entry with a name is hashed by the name: tools that move names change nothing.
    fn entries(&self) -> Vec<Fingerprint> {
        if self.entry_count() > MOST {
            return Vec::new();
        }
        let word = self.encoding.word_size() as usize;
        let [table, strings] = [&self.dynamic, &self.strings].map(|span| span.bytes.as_deref().unwrap_or(&[]));
        let of_entry = |entry: &[u8]| {
            let (tag, value) = entry.split_at_checked(word)?;
            let is_name = self.encoding.word(tag).is_some_and(|tag| NAMES.contains(&Tag(tag)));
            let name = || {
                let at = usize::try_from(self.encoding.word(value)?).ok()?;
                strings.get(at..)?.split(|byte| *byte == 0).next()
            };
            Some(fingerprint(&[tag, name().filter(|_| is_name).unwrap_or(value)].concat()))
        };
        let entries = table.chunks_exact(word.wrapping_mul(2));
        let mut entries: Vec<Fingerprint> = entries.map(|entry| of_entry(entry).unwrap_or_default()).collect();
        entries.resize(self.entry_count(), Fingerprint::default());
        entries
    }
}

impl Write for Survey {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.whole.update_rayon(bytes);
        let given = FileSpan::new(self.at, bytes.len() as u64).map_err(io::Error::other)?;
        let others = [&mut self.file_header, &mut self.program_headers, &mut self.dynamic, &mut self.strings];
        for span in others.into_iter().chain(&mut self.contents) {
            span.take(given, bytes);
        }
        self.at = given.end();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Output for Survey {
    fn skip(&mut self, size: u64) -> io::Result<()> {
        io::copy(&mut io::Read::take(io::repeat(0), size), self).map(drop)
    }
}

fn fingerprint(bytes: &[u8]) -> Fingerprint {
    first_bytes_of(&blake3::hash(bytes))
}

fn first_bytes_of(digest: &blake3::Hash) -> Fingerprint {
    digest.as_bytes().first_chunk().copied().unwrap_or_default()
}
