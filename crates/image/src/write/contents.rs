//! The contents of regular files: read once, hashed, and written to their places.

use std::fs::File;
use std::ops::{ControlFlow, Range};
use std::os::unix::fs::FileExt;
use std::path::Path;

use blake3::Hasher;
use coldstart_sys::named_file::{LastLink, NamedFile};
use rustix::fs::{Advice, Stat, fadvise, fstat};

use crate::entry::{Attributes, Content, Entry, FilePart, Source};
use crate::index::Digest;
use crate::plan::layout::BLOCK;
use crate::plan::{FileMap, Segment};

use super::error::WriteError;

/// How much is read at once, in pages: 1 MiB.
const WINDOW: u64 = 256;
const ZEROS: &[u8] = &[0; 1 << 16];

/// The buffer of all copies.
pub(super) struct Buffer {
    bytes: Vec<u8>,
}

/// A file that is being copied.
pub(super) enum Opened<'content> {
    File { file: File, path: &'content Path, before: Box<Stat> },
    Bytes(&'content [u8]),
    Part(&'content FilePart),
}

impl Buffer {
    pub(super) fn new() -> Self {
        Self { bytes: vec![0; (WINDOW * BLOCK) as usize] }
    }

    /// Copies one file to its places in the image. Returns its digest.
    pub(super) fn copy(
        &mut self,
        image: &File,
        entry: &Entry,
        content: &Content,
        map: &FileMap,
        progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<Digest, WriteError> {
        if content.size == 0 {
            // Not opened: an empty file may be unreadable.
            return Ok(*blake3::hash(b"").as_bytes());
        }
        let source = Opened::open(content, &entry.attributes)?;
        let mut hasher = Hasher::new();
        // Pages in the buffer.
        let mut window = 0..0;
        for Segment { pages, block } in map.segments() {
            let Some(block) = block else {
                hash_zeros(&mut hasher, (pages.end * BLOCK).min(content.size) - pages.start * BLOCK);
                continue;
            };
            let mut page = pages.start;
            while page < pages.end {
                if page >= window.end {
                    window = page..self.window_end(map, page);
                    self.fill(&source, &window, content.size, &mut hasher)?;
                    let read = (window.end * BLOCK).min(content.size) - window.start * BLOCK;
                    if progress(read).is_break() {
                        return Err(WriteError::Interrupted);
                    }
                }
                let end = pages.end.min(window.end);
                let (from, to) = ((page - window.start) * BLOCK, (end - window.start) * BLOCK);
                let bytes = self.bytes.get(from as usize..to as usize).unwrap_or_default();
                image.write_all_at(bytes, (block + page - pages.start) * BLOCK).map_err(WriteError::Image)?;
                page = end;
            }
        }
        source.check()?;
        Ok(*hasher.finalize().as_bytes())
    }

    /// The end of the pages that are read with `page`: no hole is among them.
    fn window_end(&self, map: &FileMap, page: u64) -> u64 {
        let next_hole = map.holes.partition_point(|hole| hole.start <= page);
        let end = map.holes.get(next_hole).map_or(map.pages, |hole| hole.start);
        end.min(page + WINDOW)
    }

    /// Reads whole pages; what lies behind the file's end is zero.
    fn fill(&mut self, source: &Opened, window: &Range<u64>, size: u64, hasher: &mut Hasher) -> Result<(), WriteError> {
        let start = window.start * BLOCK;
        let length = ((window.end * BLOCK).min(size) - start) as usize;
        let (bytes, rest) = self.bytes.split_at_mut(length);
        source.read(bytes, start)?;
        rest.fill(0);
        // Below this the threads take longer than the digest.
        if length >= 1 << 18 {
            hasher.update_rayon(bytes)
        } else {
            hasher.update(bytes)
        };
        Ok(())
    }
}

impl<'content> Opened<'content> {
    pub(super) fn open(content: &'content Content, attributes: &Attributes) -> Result<Self, WriteError> {
        let path = match &content.source {
            Source::Bytes(bytes) => return Ok(Self::Bytes(bytes)),
            Source::Part(part) => return Ok(Self::Part(part)),
            Source::File(path) => path,
        };
        let opened = NamedFile::find(path, LastLink::Keep).and_then(NamedFile::regular);
        let (file, stat) =
            opened.and_then(|file| file.open_quietly()).map_err(|error| WriteError::source(path, error))?;
        let modified = attributes.modified;
        let same = u64::try_from(stat.st_size) == Ok(content.size)
            && (stat.st_mtime, stat.st_mtime_nsec as i64) == (modified.seconds, modified.nanoseconds.into());
        if !same {
            return Err(WriteError::changed(path));
        }
        // Only advice.
        let _ = fadvise(&file, 0, None, Advice::Sequential);
        Ok(Self::File { file, path, before: Box::new(stat) })
    }

    pub(super) fn read(&self, buffer: &mut [u8], offset: u64) -> Result<(), WriteError> {
        match self {
            Self::Bytes(bytes) => {
                let from = offset as usize;
                let bytes = bytes.get(from..from + buffer.len()).unwrap_or_default();
                buffer.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
                Ok(())
            }
            Self::File { file, path, .. } => read_exact(file, path, buffer, offset),
            Self::Part(part) => read_exact(&part.file, &part.path, buffer, part.offset.saturating_add(offset)),
        }
    }

    /// Fails if the file was changed while it was read.
    pub(super) fn check(&self) -> Result<(), WriteError> {
        let Self::File { file, path, before } = self else { return Ok(()) };
        let after = fstat(file).map_err(|errno| WriteError::source(path, errno.into()))?;
        let facts = |stat: &Stat| (stat.st_size, stat.st_mtime, stat.st_mtime_nsec, stat.st_ctime, stat.st_ctime_nsec);
        if facts(&after) == facts(before) { Ok(()) } else { Err(WriteError::changed(path)) }
    }
}

fn read_exact(file: &File, path: &Path, buffer: &mut [u8], offset: u64) -> Result<(), WriteError> {
    file.read_exact_at(buffer, offset).map_err(|error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof => WriteError::changed(path),
        _ => WriteError::source(path, error),
    })
}

pub(super) fn hash_zeros(hasher: &mut Hasher, mut length: u64) {
    while length > 0 {
        let part = length.min(ZEROS.len() as u64);
        hasher.update(ZEROS.get(..part as usize).unwrap_or_default());
        length -= part;
    }
}
