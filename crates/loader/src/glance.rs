//! What the loader looks at in an object, by reading a few pieces of its file.
//!
//! A program may load hundreds of libraries, most of which a page fault in a mapped file would cost more than everything
//! else: so the beginning, the dynamic table and its strings are read, one or two kilobytes in all, which takes three calls.
//!
//! A newcomer would not guess that a glance may fail on a sound file. It answers only where the answer is plain and the same
//! as that of [`Probe::of_content`](crate::Probe::of_content); for whatever is cut off, contradicts itself or lies at an
//! unusual place it has none, and the whole file is to be asked.

use std::ffi::CStr;
use std::io;

use coldstart_elf::{DynamicTable, ElfFile, FileOffset, FileType, Notes, Segment, SegmentKind, Table, Tag, Vaddr};

use crate::{Fault, ObjectFacts, fault};

/// Bytes that are read from a file's beginning. All but one in 300 libraries have their program headers and notes there;
/// what is read beyond costs next to nothing up to a page.
const START: usize = 2048;
/// Bytes that are read at a time from the table of strings. What an object names lies there together.
const STRINGS: usize = 1024;
/// The same for a string that did not end in those.
const LONG_STRING: usize = 1 << 14;
/// Pieces that are read of the table of strings at most: a file must not have the same ones read for ever.
const MOST_READS: u32 = 16;
/// The largest dynamic table or note that is looked at, in bytes.
const MOST: u64 = 1 << 16;

/// What a few pieces of an object's file say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glance {
    /// What the loader looks at. `set_user_id` is no part of a file's content and stays false.
    pub facts: ObjectFacts,
    /// `e_type`.
    pub file_type: FileType,
    /// Bits of `DT_FLAGS_1`; none for an object without a dynamic table.
    pub dynamic_flags: Option<u64>,
    /// The texts of notes about libraries opened later, as [`dlopen_texts`](crate::dlopen_notes::dlopen_texts) has them,
    /// if they are in a segment. Notes that only the section headers lead to are not found.
    pub dlopen_texts: Vec<Vec<u8>>,
}

impl Glance {
    /// Reads the pieces of a file of `size` bytes. `read_at` fills a part of its buffer from an offset in the file, as
    /// `pread` does, and tells how large a part.
    ///
    /// None where the whole file must be asked. That is so of everything that cannot be read, or is not there by now.
    pub fn of(size: u64, read_at: impl Fn(&mut [u8], u64) -> io::Result<usize>) -> Option<Self> {
        let pieces = Pieces { size, read_at };
        let start = &mut [0; START];
        let start = pieces.some(start, 0)?;
        let bare = fault::read_header(start, size).ok()?;
        let file = ElfFile::parse(start).ok()?;
        let file_type = file.header().file_type;
        if bare.fault.is_some() {
            return Some(Self { facts: bare, file_type, dynamic_flags: None, dlopen_texts: Vec::new() });
        }
        let is_read = |segment: &Segment| {
            let end = segment.offset.0.checked_add(segment.file_size);
            end.is_some_and(|end| end <= start.len() as u64)
        };
        let mut facts = ObjectFacts::of_headers(&file);
        if let Some(segment) = file.segment(SegmentKind::Interpreter).filter(|segment| !is_read(segment)) {
            let path = pieces.all(segment.offset.0, segment.file_size)?;
            let path = path.split(|&byte| byte == 0).next().filter(|path| !path.is_empty());
            facts.interpreter = path.map(<[u8]>::to_vec);
        }
        let mut dynamic_flags = None;
        match file.segment(SegmentKind::Dynamic).filter(|segment| segment.file_size > 0) {
            None => facts.fault = Fault::of_mapping(&file, None),
            Some(segment) => {
                let bytes = pieces.all(segment.offset.0, segment.file_size)?;
                let table = Table::new(&bytes, segment.offset, file.encoding());
                let dynamic = DynamicTable::new(table, segment.address);
                facts.fault = Fault::of_mapping(&file, Some(&dynamic));
                dynamic_flags = Some(dynamic.flags_1());
                let mut strings = pieces.strings(&file, &dynamic)?;
                facts.enter_dynamic(&dynamic, |offset| strings.get(offset));
                if strings.has_failed {
                    return None;
                }
            }
        }
        let mut dlopen_texts = Vec::new();
        for segment in file.segments().iter().filter(|segment| segment.kind == SegmentKind::Note) {
            let beyond;
            let bytes = if is_read(segment) {
                let range = usize::try_from(segment.offset.0).ok()?..;
                start.get(range)?.get(..usize::try_from(segment.file_size).ok()?)?
            } else {
                beyond = pieces.all(segment.offset.0, segment.file_size)?;
                &beyond
            };
            let notes = Notes::new(bytes, segment.offset, segment.alignment, file.encoding());
            let texts = notes.into_iter().flatten().flatten().filter_map(|note| note.dlopen().map(<[u8]>::to_vec));
            dlopen_texts.extend(texts);
        }
        Some(Self { facts, file_type, dynamic_flags, dlopen_texts })
    }
}

/// A file of which pieces are read.
struct Pieces<ReadAt> {
    /// In bytes.
    size: u64,
    read_at: ReadAt,
}

impl<ReadAt: Fn(&mut [u8], u64) -> io::Result<usize>> Pieces<ReadAt> {
    /// Fills a buffer from an offset, up to the file's end; none when the file ends earlier than it said.
    fn some<'a>(&self, buffer: &'a mut [u8], offset: u64) -> Option<&'a [u8]> {
        let left = usize::try_from(self.size.checked_sub(offset)?).unwrap_or(usize::MAX);
        let wanted = left.min(buffer.len());
        let wanted = buffer.get_mut(..wanted)?;
        let count = (self.read_at)(wanted, offset).ok()?;
        (count == wanted.len()).then_some(wanted)
    }

    /// So many bytes from an offset; none when they are many, or the file ends before.
    fn all(&self, offset: u64, size: u64) -> Option<Vec<u8>> {
        let end = offset.checked_add(size)?;
        if size > MOST || end > self.size {
            return None;
        }
        let mut bytes = vec![0; usize::try_from(size).ok()?];
        self.some(&mut bytes, offset)?;
        Some(bytes)
    }

    /// The strings that the dynamic table leads to; none when they are not all in the file.
    fn strings(&self, file: &ElfFile<'_>, dynamic: &DynamicTable<'_>) -> Option<PiecedStrings<'_, ReadAt>> {
        let (address, size) = (Vaddr(dynamic.get(Tag::STRTAB)?), dynamic.get(Tag::STRSZ)?);
        let segment = file.segment_at(address)?;
        let FileOffset(offset) = file.offset_of(address)?;
        let end = address.0.checked_add(size)?;
        if end > segment.file_end().0 || offset.checked_add(size)? > self.size {
            return None;
        }
        let mut strings =
            PiecedStrings { file: self, offset, size, piece: Vec::new(), begin: 0, reads: 0, has_failed: false };
        let is_string = |tag| [Tag::NEEDED, Tag::SONAME, Tag::RPATH, Tag::RUNPATH].contains(&tag);
        let first = dynamic.entries().filter(|entry| is_string(entry.tag)).map(|entry| entry.value).min();
        if let Some(first) = first {
            strings.read(first, STRINGS)?;
        }
        Some(strings)
    }
}

/// A table of strings of which a piece is read.
struct PiecedStrings<'a, ReadAt> {
    file: &'a Pieces<ReadAt>,
    /// Where it lies in the file, and its size, in bytes.
    offset: u64,
    size: u64,
    /// What was read of it last, and where in the table that begins.
    piece: Vec<u8>,
    begin: u64,
    /// Pieces read so far.
    reads: u32,
    /// A string was asked for that could not be read; the table may have it all the same.
    has_failed: bool,
}

impl<ReadAt: Fn(&mut [u8], u64) -> io::Result<usize>> PiecedStrings<'_, ReadAt> {
    /// The string that begins `offset` bytes into the table.
    fn get(&mut self, offset: u64) -> Option<Vec<u8>> {
        let mut string = self.in_piece(offset);
        for length in [STRINGS, LONG_STRING] {
            if string.is_none() && !self.has_failed {
                string = self.read(offset, length).and_then(|()| self.in_piece(offset));
            }
        }
        self.has_failed |= string.is_none();
        string
    }

    fn in_piece(&self, offset: u64) -> Option<Vec<u8>> {
        let place = usize::try_from(offset.checked_sub(self.begin)?).ok()?;
        let string = CStr::from_bytes_until_nul(self.piece.get(place..)?).ok()?;
        Some(string.to_bytes().to_vec())
    }

    /// Reads another piece, up to the end of the table.
    fn read(&mut self, begin: u64, length: usize) -> Option<()> {
        let left = self.size.checked_sub(begin)?;
        self.reads = self.reads.checked_add(1).filter(|&reads| reads <= MOST_READS)?;
        let length = usize::try_from(left).unwrap_or(length).min(length);
        self.begin = begin;
        self.piece = self.file.all(self.offset.checked_add(begin)?, length as u64)?;
        Some(())
    }
}
