//! Reads what the loader checks in an object from a few small pieces of its file.
//!
//! A program may load hundreds of libraries. For most of them, a page fault in a mapped file would cost more than
//! everything else; so the beginning, the dynamic table and its strings are read: one or two kilobytes in three
//! calls.
//!
//! A newcomer would not guess that this may fail on a sound file. It succeeds only on simple files, with the same
//! result as [`Probe::of_content`](crate::Probe::of_content). For a file that is truncated, inconsistent or unusual
//! it gives up, and the caller reads the whole file.

use std::ffi::CStr;
use std::io;

use coldstart_elf::{DynamicTable, ElfFile, FileOffset, FileType, Notes, Segment, SegmentKind, Table, Tag, Vaddr};

use crate::{Fault, ObjectFacts, fault};

/// Bytes that are read from a file's beginning. All but one in 300 libraries have their program headers and notes
/// there; up to a page, reading more costs almost nothing.
const START: usize = 2048;
/// Bytes read at a time from the string table. The strings of an object's dynamic table are close together.
const STRINGS: usize = 1024;
/// The same for a string that is longer.
const LONG_STRING: usize = 1 << 14;
/// Limit on reads from the string table: a hostile file must not cause endless reads.
const MOST_READS: u32 = 16;
/// The largest dynamic table or note to be read, in bytes.
const MOST: u64 = 1 << 16;

/// The properties read from a few pieces of an object's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glance {
    /// The properties that the loader checks. `set_user_id` is not part of a file's content and stays false.
    pub facts: ObjectFacts,
    /// `e_type`.
    pub file_type: FileType,
    /// Bits of `DT_FLAGS_1`; none for an object without a dynamic table.
    pub dynamic_flags: Option<u64>,
    /// The texts of dlopen notes, as [`dlopen_texts`](crate::dlopen_notes::dlopen_texts) returns them, if they are in
    /// a segment. Notes known only from section headers are not found.
    pub dlopen_texts: Vec<Vec<u8>>,
}

impl Glance {
    /// Reads the pieces of a file of `size` bytes. `read_at` fills a part of its buffer from an offset in the file,
    /// as `pread` does, and returns its length.
    ///
    /// None where the whole file must be read, and for files that cannot be read or have disappeared.
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

/// A file that is read in pieces.
struct Pieces<ReadAt> {
    /// In bytes.
    size: u64,
    read_at: ReadAt,
}

impl<ReadAt: Fn(&mut [u8], u64) -> io::Result<usize>> Pieces<ReadAt> {
    /// Fills a buffer from an offset, up to the end of the file; none if the file ends before its stated size.
    fn some<'a>(&self, buffer: &'a mut [u8], offset: u64) -> Option<&'a [u8]> {
        let left = usize::try_from(self.size.checked_sub(offset)?).unwrap_or(usize::MAX);
        let wanted = left.min(buffer.len());
        let wanted = buffer.get_mut(..wanted)?;
        let count = (self.read_at)(wanted, offset).ok()?;
        (count == wanted.len()).then_some(wanted)
    }

    /// `size` bytes from an offset; none if they are too many, or the file ends before.
    fn all(&self, offset: u64, size: u64) -> Option<Vec<u8>> {
        let end = offset.checked_add(size)?;
        if size > MOST || end > self.size {
            return None;
        }
        let mut bytes = vec![0; usize::try_from(size).ok()?];
        self.some(&mut bytes, offset)?;
        Some(bytes)
    }

    /// The strings of the dynamic table; none if the file does not contain all of them.
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

/// A string table that is read in pieces.
struct PiecedStrings<'a, ReadAt> {
    file: &'a Pieces<ReadAt>,
    /// Its file offset and size, in bytes.
    offset: u64,
    size: u64,
    /// The last piece and its offset in the table.
    piece: Vec<u8>,
    begin: u64,
    /// Pieces read so far.
    reads: u32,
    /// A string could not be read, although the table may contain it.
    has_failed: bool,
}

impl<ReadAt: Fn(&mut [u8], u64) -> io::Result<usize>> PiecedStrings<'_, ReadAt> {
    /// The string at `offset` in the table.
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
