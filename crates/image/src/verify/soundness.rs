//! Whether each byte of an image is what was written: by its own digests.
//!
//! The superblock's checksum covers the first block; its UUID is a digest of the index's front part, which has digests of the metadata and of
//! the table of originals, which has the digests of all contents. Bytes that belong to no file must be zero, and each block belongs to
//! one page. So a change anywhere is found. An image without an index is only checked for what the format demands.

#![cfg_attr(not(test), warn(clippy::indexing_slicing, clippy::arithmetic_side_effects))]

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use blake3::Hasher;
use coldstart_profile::{FileIdentity, PAGE_SIZE, page_count, printable};

use crate::index::{Digest, HotPages, INDEX, Index, Original, Sign, uuid};
use crate::read::{Found, Image, Inode, InodeType, Piece, ReadAt, ReadError};

/// Contents are read in portions of this many bytes.
const PORTION: usize = 1 << 20;
const ZEROS: &[u8] = &[0; 1 << 16];
/// Fields of the superblock that the digest of the metadata takes as zeros: checksum and UUID.
const NOT_DIGESTED: [std::ops::Range<usize>; 2] = [1024 + 4..1024 + 8, 1024 + 48..1024 + 64];

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Soundness {
    /// Names in the image.
    pub entries: u64,
    /// Bytes of regular files.
    pub bytes: u64,
    /// How it was made; `None` for an image that coldstart did not make, whose contents nothing tells.
    pub index: Option<Index>,
    /// What is wrong.
    pub flaws: Vec<Flaw>,
}

/// Something in an image that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// The UUID is not the digest of the index.
    Uuid,
    /// The metadata: superblock, inodes, directories.
    Metadata,
    /// A regular file that the index does not know, or knows with another size or time.
    Identity(PathBuf),
    /// A file of the index that is not in the image: the number of its inode.
    Missing(u64),
    /// A file's content.
    Content(PathBuf),
    /// Bytes behind a file's end that are not zero: a program that maps the file sees them.
    BehindEnd(PathBuf),
    /// A file's number of names.
    Links {
        /// One of the names.
        path: PathBuf,
        /// As the inode says.
        stated: u32,
        /// As the directories have.
        found: u32,
    },
    /// A hot run that does not lie where it should: its number.
    HotRun(usize),
    /// Compressed data, or the bytes between.
    Packed,
    /// A block that belongs to two pages.
    UsedTwice(u64),
    /// Blocks that belong to nothing: the first, and how many.
    Unused(u64, u64),
}

impl fmt::Display for Flaw {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uuid => write!(formatter, "the UUID is not that of the index"),
            Self::Metadata => write!(formatter, "inodes or directories are not what was written"),
            Self::Identity(path) => write!(formatter, "`{}`: the index knows another file", printable(path)),
            Self::Missing(number) => write!(formatter, "a file is missing: inode {number}"),
            Self::Content(path) => write!(formatter, "`{}`: the content is not what was written", printable(path)),
            Self::BehindEnd(path) => write!(formatter, "`{}`: there are bytes behind its end", printable(path)),
            Self::Links { path, stated, found } => {
                write!(formatter, "`{}`: it has {found} names, and its inode says {stated}", printable(path))
            }
            Self::HotRun(number) => write!(formatter, "hot run {number} does not lie in the hot range's order"),
            Self::Packed => write!(formatter, "compressed data is not what was written"),
            Self::UsedTwice(block) => write!(formatter, "block {block} belongs to two pages"),
            Self::Unused(block, count) => write!(formatter, "{count} blocks from {block} on belong to no file"),
        }
    }
}

/// Checks an image by itself.
///
/// # Errors
/// [`ReadError`], if it is damaged in such a way that it cannot be read to its end.
pub fn check<S: ReadAt>(image: &Image<S>) -> Result<Soundness, ReadError> {
    let index = image.index()?;
    let mut checker =
        Checker { image, index: index.as_ref(), blocks: None, packed: Vec::new(), result: Soundness::default() };
    if let Some(index) = &index {
        let front = image.index_front()?.unwrap_or_default();
        if uuid(&front) != image.superblock().uuid || image.superblock().block_size() != PAGE_SIZE {
            checker.result.flaws.push(Flaw::Uuid);
        }
        let mut first = [0; 32];
        image.raw("its sign", 0, &mut first)?;
        let is_right =
            Sign::decode(&first).is_ok_and(|sign| sign.hot == index.hot.start && sign.front == index.front_length());
        if !is_right || checker.metadata_digest(index.metadata_length)? != Some(index.metadata_digest) {
            checker.result.flaws.push(Flaw::Metadata);
        }
        let metadata = page_count(index.metadata_length);
        let mut blocks = Blocks::new(image.superblock().blocks.into());
        for block in 0..metadata {
            blocks.mark(block);
        }
        checker.blocks = Some(blocks);
    }
    checker.files()?;
    if let Some(index) = &index {
        checker.packed_data(index)?;
        checker.hot_runs(index)?;
    }
    if let Some(blocks) = &checker.blocks {
        checker.result.flaws.extend(blocks.unused());
    }
    let mut result = checker.result;
    result.index = index;
    Ok(result)
}

struct Checker<'image, S> {
    image: &'image Image<S>,
    index: Option<&'image Index>,
    /// Of a start image: which blocks belong to something.
    blocks: Option<Blocks>,
    /// Of files in units: where each unit lies.
    packed: Vec<Range<u64>>,
    result: Soundness,
}

impl<S: ReadAt> Checker<'_, S> {
    /// `None` if the metadata would be longer than the image.
    fn metadata_digest(&self, length: u64) -> Result<Option<Digest>, ReadError> {
        if length > self.image.superblock().length() {
            return Ok(None);
        }
        let mut hasher = Hasher::new();
        let mut offset = 0u64;
        let mut buffer = vec![0; PORTION];
        while offset < length {
            let part = usize::try_from(length.saturating_sub(offset)).unwrap_or(PORTION).min(PORTION);
            let bytes = buffer.get_mut(..part).unwrap_or_default();
            self.image.raw("the metadata", offset, bytes)?;
            if offset == 0 {
                for field in NOT_DIGESTED {
                    bytes.get_mut(field).unwrap_or_default().fill(0);
                }
            }
            hasher.update(bytes);
            offset = offset.saturating_add(part as u64);
        }
        Ok(Some(*hasher.finalize().as_bytes()))
    }

    fn files(&mut self) -> Result<(), ReadError> {
        // Of files that are no directories: one path, names found, names stated.
        let mut names: HashMap<u64, (PathBuf, u32, u32)> = HashMap::new();
        let mut originals = 0usize;
        for found in self.image.walk() {
            let Found { path, inode } = found?;
            self.result.entries = self.result.entries.saturating_add(1);
            // Attributes and targets must be readable, too.
            self.image.xattrs(&inode)?;
            match inode.file_type {
                InodeType::Directory => continue,
                InodeType::Symlink => drop(self.image.target(&inode)?),
                _ => {}
            }
            let known = names.entry(inode.number).or_insert_with(|| (path.clone(), 0, inode.links));
            known.1 = known.1.saturating_add(1);
            if inode.file_type == InodeType::Regular && known.1 == 1 {
                self.result.bytes = self.result.bytes.saturating_add(inode.size);
                let original = self.original(&path, &inode);
                originals = originals.saturating_add(original.is_some().into());
                self.regular(&path, &inode, original)?;
            }
        }
        for (path, found, stated) in names.into_values().filter(|(_, found, stated)| found != stated) {
            self.result.flaws.push(Flaw::Links { path, stated, found });
        }
        if let Some(index) = self.index
            && index.originals.len() != originals
        {
            let known = |number| self.image.inode(number).is_ok_and(|inode| inode.file_type == InodeType::Regular);
            let missing = index.originals.iter().find(|original| !known(original.number));
            self.result.flaws.push(Flaw::Missing(missing.map_or(0, |original| original.number)));
        }
        Ok(())
    }

    /// What the index says of a file.
    fn original(&mut self, path: &Path, inode: &Inode) -> Option<Original> {
        let index = self.index?;
        if path == Path::new(INDEX) {
            return None;
        }
        let place = index.originals.binary_search_by_key(&inode.number, |original| original.number).ok();
        let original = place.and_then(|place| index.originals.get(place)).copied();
        let time = inode.modified;
        let size = i64::try_from(inode.size).unwrap_or(i64::MAX);
        let identity = FileIdentity::from_stat(size, time.seconds, time.nanoseconds.into());
        if original.is_none_or(|original| original.identity != identity) {
            self.result.flaws.push(Flaw::Identity(path.to_owned()));
        }
        original
    }

    /// Reads a file's content once.
    fn regular(&mut self, path: &Path, inode: &Inode, original: Option<Original>) -> Result<(), ReadError> {
        let mut hasher = Hasher::new();
        let mut buffer = vec![0; PORTION.min(usize::try_from(inode.size).unwrap_or(PORTION))];
        let is_ours = self.index.is_some();
        for piece in self.image.pieces(inode) {
            let piece = piece?;
            let Some(place) = piece.place else {
                if original.is_some() {
                    hash_zeros(&mut hasher, piece.length);
                }
                continue;
            };
            if !is_ours {
                continue;
            }
            if inode.is_packed() {
                self.unit(place, &piece, &mut hasher)?;
                continue;
            }
            for block in place / PAGE_SIZE..page_count(place.saturating_add(piece.length)) {
                if self.blocks.as_mut().is_some_and(|blocks| !blocks.mark(block)) {
                    self.result.flaws.push(Flaw::UsedTwice(block));
                    return Ok(());
                }
            }
            let mut done = 0u64;
            while done < piece.length {
                let rest = piece.length.saturating_sub(done);
                let part = usize::try_from(rest).unwrap_or(PORTION).min(PORTION);
                let bytes = buffer.get_mut(..part).unwrap_or_default();
                self.image.raw("a file's content", place.saturating_add(done), bytes)?;
                hasher.update(bytes);
                done = done.saturating_add(part as u64);
            }
            let end = place.saturating_add(piece.length);
            let mut behind = vec![0; usize::try_from(end.next_multiple_of(PAGE_SIZE).saturating_sub(end)).unwrap_or(0)];
            self.image.raw("the end of a file's last page", end, &mut behind)?;
            if behind.iter().any(|byte| *byte != 0) {
                self.result.flaws.push(Flaw::BehindEnd(path.to_owned()));
            }
        }
        if original.is_some_and(|original| original.digest != *hasher.finalize().as_bytes()) {
            self.result.flaws.push(Flaw::Content(path.to_owned()));
        }
        Ok(())
    }

    /// A unit of a compressed file.
    fn unit(&mut self, place: u64, piece: &Piece, hasher: &mut Hasher) -> Result<(), ReadError> {
        let stored = match &piece.packed {
            Some(packed) => {
                hasher.update(&self.image.unpack(packed)?);
                packed.stored
            }
            None => {
                let mut bytes = vec![0; usize::try_from(piece.length).unwrap_or(0)];
                self.image.raw("a compressed unit", place, &mut bytes)?;
                hasher.update(&bytes);
                piece.length
            }
        };
        self.packed.push(place..place.saturating_add(stored));
        Ok(())
    }

    /// Units share blocks, but no byte; all of them, with the zeros at their ends, have a digest.
    fn packed_data(&mut self, index: &Index) -> Result<(), ReadError> {
        let mut units = std::mem::take(&mut self.packed);
        let Some(expected) = index.packed else {
            self.result.flaws.extend((!units.is_empty()).then_some(Flaw::Packed));
            return Ok(());
        };
        units.sort_unstable_by_key(|unit| unit.start);
        let overlap = units.iter().zip(units.iter().skip(1)).find(|(unit, next)| unit.end > next.start);
        if let Some((_, next)) = overlap {
            self.result.flaws.push(Flaw::UsedTwice(next.start / PAGE_SIZE));
        }
        let start = first_hot_page(index);
        let end = units.last().map_or(start, |unit| page_count(unit.end).saturating_mul(PAGE_SIZE));
        let mut hasher = Hasher::new();
        let mut offset = start;
        let mut buffer = vec![0; PORTION];
        while offset < end {
            let part = usize::try_from(end.saturating_sub(offset)).unwrap_or(PORTION).min(PORTION);
            let bytes = buffer.get_mut(..part).unwrap_or_default();
            self.image.raw("compressed data", offset, bytes)?;
            hasher.update(bytes);
            offset = offset.saturating_add(part as u64);
        }
        let is_outside = units.first().is_some_and(|unit| unit.start < start);
        if is_outside || hasher.finalize().as_bytes().get(..16) != Some(&expected) {
            self.result.flaws.push(Flaw::Packed);
        }
        for block in start / PAGE_SIZE..end / PAGE_SIZE {
            if self.blocks.as_mut().is_some_and(|blocks| !blocks.mark(block)) {
                self.result.flaws.push(Flaw::UsedTwice(block));
                break;
            }
        }
        Ok(())
    }

    /// Where the units of a run begin and end in the image: each directly behind the one before.
    fn units_of_run(&self, inode: &Inode, run: &HotPages, from: u64) -> Result<Option<u64>, ReadError> {
        let mut place = from;
        let mut offset = u64::from(run.start).saturating_mul(PAGE_SIZE);
        let end = u64::from(run.start.saturating_add(run.pages)).saturating_mul(PAGE_SIZE).min(inode.size);
        while offset < end {
            let Some(piece) = self.image.pieces_from(inode, offset).next().transpose()? else { return Ok(None) };
            let stored = piece.packed.map_or(piece.length, |packed| packed.stored);
            let is_whole = piece.packed.is_none_or(|packed| packed.start == offset);
            if piece.place != Some(place) || !is_whole {
                return Ok(None);
            }
            place = place.saturating_add(stored);
            offset = offset.saturating_add(piece.length);
        }
        Ok((offset == end).then_some(place))
    }

    /// Each run lies directly behind the one before.
    fn hot_runs(&mut self, index: &Index) -> Result<(), ReadError> {
        let mut place = first_hot_page(index);
        for (number, run) in index.runs.iter().enumerate() {
            let Some(file) = usize::try_from(run.file).ok().and_then(|file| index.files.get(file)) else { continue };
            let inode = self.image.inode(file.number)?;
            if inode.is_packed() {
                let Some(end) = self.units_of_run(&inode, run, place)? else {
                    self.result.flaws.push(Flaw::HotRun(number));
                    return Ok(());
                };
                place = end;
                continue;
            }
            for page in run.start..run.start.saturating_add(run.pages) {
                if self.image.place_of(&inode, u64::from(page).saturating_mul(PAGE_SIZE))? != Some(place) {
                    self.result.flaws.push(Flaw::HotRun(number));
                    return Ok(());
                }
                place = place.saturating_add(PAGE_SIZE);
            }
        }
        if page_count(place).saturating_mul(PAGE_SIZE) != index.hot.end || index.hot.start != index.metadata_length {
            self.result.flaws.push(Flaw::HotRun(index.runs.len()));
        }
        Ok(())
    }
}

/// Where the hot pages begin, behind the index's front part.
fn first_hot_page(index: &Index) -> u64 {
    index.hot.start.saturating_add(page_count(index.front_length()).saturating_mul(PAGE_SIZE))
}

fn hash_zeros(hasher: &mut Hasher, length: u64) {
    let mut rest = length;
    while rest > 0 {
        let part = rest.min(ZEROS.len() as u64);
        hasher.update(ZEROS.get(..usize::try_from(part).unwrap_or(0)).unwrap_or_default());
        rest = rest.saturating_sub(part);
    }
}

/// A bit for each block.
struct Blocks {
    bits: Vec<u64>,
    count: u64,
}

impl Blocks {
    fn new(count: u64) -> Self {
        Self { bits: vec![0; usize::try_from(count.div_ceil(64)).unwrap_or(0)], count }
    }

    /// Marks a block; `false` if it was marked already or does not exist.
    fn mark(&mut self, block: u64) -> bool {
        let word = usize::try_from(block / 64).ok().and_then(|word| self.bits.get_mut(word));
        let Some(word) = word.filter(|_| block < self.count) else { return false };
        let bit = 1u64 << (block % 64);
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    fn unused(&self) -> Option<Flaw> {
        let is_unused = |block: &u64| {
            let word = usize::try_from(block / 64).ok().and_then(|word| self.bits.get(word)).copied().unwrap_or(0);
            word & (1 << (block % 64)) == 0
        };
        let mut unused = (0..self.count).filter(is_unused);
        let first = unused.next()?;
        Some(Flaw::Unused(first, (unused.count() as u64).saturating_add(1)))
    }
}
