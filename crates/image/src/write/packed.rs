//! Compressed files: their hot units in the order of the start, then their other units by file.
//!
//! Hot pages are read twice, once for their place in the order and once for the digest of their file: so no compressed data has to be
//! kept. Units lie directly one behind the other, not in blocks of their own.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::ops::{ControlFlow, Range};
use std::os::unix::fs::FileExt;

use blake3::Hasher;
use zstd::bulk::Compressor;
use zstd::zstd_safe::CParameter;

use crate::entry::{Content, EntryKind};
use crate::index::Digest;
use crate::plan::layout::BLOCK;
use crate::plan::units::{Compression, MOST_UNIT_PAGES, UnitKind, split};
use crate::plan::{Data, FileMap, ImageSize, Plan};

use super::contents::{Opened, hash_zeros};
use super::error::WriteError;

/// The base-two logarithm of the largest unit's size: no frame needs a larger window.
pub(super) const WINDOW_LOG: u32 = (MOST_UNIT_PAGES * BLOCK as u32).ilog2();
/// The level that was measured. Higher ones hardly make such small units smaller.
const LEVEL: i32 = 3;
/// Compressed data is written in portions of this many bytes.
const PORTION: usize = 1 << 20;

/// Where a unit lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stored {
    /// Offset in the image.
    pub(super) place: u64,
    /// Number of bytes; 0 for a hole.
    pub(super) length: u32,
    /// Whether they are a frame of zstd; otherwise they are the pages' bytes.
    pub(super) is_frame: bool,
}

/// Everything that is known only after compressing.
#[derive(Debug, Default)]
pub(super) struct Packed {
    /// Of each compressed file, by its inode: where its units lie, and the digest of its content.
    pub(super) files: HashMap<usize, (Vec<Stored>, Digest)>,
    /// Bytes that each hot run takes.
    pub(super) runs: Vec<u32>,
    /// Block of the first cold page of each other file, by its inode.
    cold: HashMap<usize, u64>,
    /// The beginning of the digest of all compressed data, up to whole blocks.
    pub(super) digest: [u8; 16],
    pub(super) size: ImageSize,
}

impl Packed {
    /// Where the pages of a file that is not compressed lie.
    pub(super) fn map(&self, inode: usize, map: &FileMap) -> FileMap {
        FileMap { cold: self.cold.get(&inode).copied().unwrap_or(map.cold), ..map.clone() }
    }
}

/// Compresses all files with hot pages and writes them. Of a plan without compression, only its places.
pub(super) fn write(
    image: &File,
    plan: &Plan,
    progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<Packed, WriteError> {
    if plan.compression == Compression::None {
        return Ok(Packed { size: plan.size, ..Packed::default() });
    }
    let front = match plan.inodes.get(plan.index).map(|inode| &inode.data) {
        Some(Data::File(map)) => map.hot.len() as u64 * BLOCK,
        _ => 0,
    };
    let mut packer = Packer::new(image, plan.size.metadata + front)?;
    let mut packed = Packed::default();
    packer.hot(plan, &mut packed, progress)?;
    let hot_end = packer.next_block()?;
    packer.others(plan, &mut packed, progress)?;
    let end = packer.next_block()?;
    packed.digest.copy_from_slice(packer.hasher.finalize().as_bytes().get(..16).unwrap_or(&[0; 16]));
    let mut block = end / BLOCK;
    let by_file = (0..plan.inodes.len()).filter(|number| *number != plan.index).chain([plan.index]);
    for number in by_file {
        let Some(Data::File(map)) = plan.inodes.get(number).map(|inode| &inode.data) else { continue };
        if map.units.is_empty() {
            packed.cold.insert(number, block);
            block += map.cold_pages();
        }
    }
    packed.size = ImageSize { hot: hot_end - plan.size.metadata, total: block * BLOCK, ..plan.size };
    Ok(packed)
}

/// The content of an inode that is compressed.
fn compressed(plan: &Plan, inode: usize) -> Option<(&Content, &FileMap, Opening<'_>)> {
    let planned = plan.inodes.get(inode)?;
    let entry = plan.entry(planned)?;
    match (&entry.kind, &planned.data) {
        (EntryKind::Regular(content), Data::File(map)) if !map.units.is_empty() => {
            Some((content, map, Opening { content, entry }))
        }
        _ => None,
    }
}

struct Opening<'plan> {
    content: &'plan Content,
    entry: &'plan crate::entry::Entry,
}

impl<'plan> Opening<'plan> {
    fn open(&self) -> Result<Opened<'plan>, WriteError> {
        Opened::open(self.content, &self.entry.attributes)
    }
}

struct Packer<'image> {
    image: &'image File,
    compressor: Compressor<'static>,
    hasher: Hasher,
    /// The end of what was put, as an offset in the image.
    position: u64,
    /// The last of it.
    pending: Vec<u8>,
    pages: Vec<u8>,
}

impl<'image> Packer<'image> {
    fn new(image: &'image File, position: u64) -> Result<Self, WriteError> {
        let mut compressor = Compressor::new(LEVEL).map_err(WriteError::Image)?;
        for parameter in
            [CParameter::WindowLog(WINDOW_LOG), CParameter::ContentSizeFlag(false), CParameter::ChecksumFlag(false)]
        {
            compressor.set_parameter(parameter).map_err(WriteError::Image)?;
        }
        let pages = vec![0; MOST_UNIT_PAGES as usize * BLOCK as usize];
        Ok(Self { image, compressor, hasher: Hasher::new(), position, pending: Vec::new(), pages })
    }

    /// The hot units in their order.
    fn hot(
        &mut self,
        plan: &Plan,
        packed: &mut Packed,
        progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<(), WriteError> {
        let mut open: Option<(usize, Opened<'_>)> = None;
        packed.runs = vec![0; plan.runs.len()];
        for (number, run) in plan.runs.iter().enumerate() {
            let Some((inode, _)) = plan.hot_files.get(run.file as usize) else { continue };
            let Some((content, map, opening)) = compressed(plan, *inode) else { continue };
            let begin = self.position;
            if open.as_ref().is_none_or(|(known, _)| known != inode) {
                if let Some((_, source)) = open.take() {
                    source.check()?;
                }
                open = Some((*inode, opening.open()?));
            }
            let Some((_, source)) = &open else { continue };
            for pages in split(run.start..run.start + run.pages) {
                let read = self.read(source, &pages, content.size)?;
                let stored = self.put(read).map_err(WriteError::Image)?;
                let places = &mut packed.files.entry(*inode).or_insert_with(|| (no_places(map), Digest::default())).0;
                let unit = map.units.binary_search_by_key(&pages.start, |unit| unit.pages.start);
                if let Some(place) = unit.ok().and_then(|unit| places.get_mut(unit)) {
                    *place = stored;
                }
                go_on(progress, read)?;
            }
            // Units are far smaller than 4 GiB, and so are runs of compressed files.
            if let Some(length) = packed.runs.get_mut(number) {
                *length = u32::try_from(self.position - begin).unwrap_or(u32::MAX);
            }
        }
        open.map_or(Ok(()), |(_, source)| source.check())
    }

    /// The other units by file, and the digest of each file.
    fn others(
        &mut self,
        plan: &Plan,
        packed: &mut Packed,
        progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<(), WriteError> {
        for inode in 0..plan.inodes.len() {
            let Some((content, map, opening)) = compressed(plan, inode) else { continue };
            let Some((places, digest)) = packed.files.get_mut(&inode) else { continue };
            let source = opening.open()?;
            let mut hasher = Hasher::new();
            for (unit, place) in map.units.iter().zip(places) {
                if unit.kind == UnitKind::Hole {
                    let (start, end) = (u64::from(unit.pages.start) * BLOCK, u64::from(unit.pages.end) * BLOCK);
                    hash_zeros(&mut hasher, end.min(content.size) - start);
                    continue;
                }
                let read = self.read(&source, &unit.pages, content.size)?;
                hasher.update(self.pages.get(..read).unwrap_or_default());
                if unit.kind == UnitKind::Cold {
                    *place = self.put(read).map_err(WriteError::Image)?;
                }
                go_on(progress, read)?;
            }
            source.check()?;
            *digest = *hasher.finalize().as_bytes();
        }
        Ok(())
    }

    /// Reads pages of a file up to its end. Returns the number of bytes.
    fn read(&mut self, source: &Opened, pages: &Range<u32>, size: u64) -> Result<usize, WriteError> {
        let start = u64::from(pages.start) * BLOCK;
        let length = ((u64::from(pages.end) * BLOCK).min(size) - start) as usize;
        source.read(self.pages.get_mut(..length).unwrap_or_default(), start)?;
        Ok(length)
    }

    /// Stores what was read last, as a frame if that is shorter.
    fn put(&mut self, length: usize) -> io::Result<Stored> {
        let bytes = self.pages.get(..length).unwrap_or_default();
        let frame = self.compressor.compress(bytes)?;
        let is_frame = frame.len() < length;
        let stored = if is_frame { frame.as_slice() } else { bytes };
        let place = self.position;
        self.pending.extend_from_slice(stored);
        self.position += stored.len() as u64;
        let length = stored.len() as u32;
        if self.pending.len() >= PORTION {
            self.flush()?;
        }
        Ok(Stored { place, length, is_frame })
    }

    /// Goes on at the next block. Returns its offset.
    fn next_block(&mut self) -> Result<u64, WriteError> {
        let next = self.position.next_multiple_of(BLOCK);
        self.pending.resize(self.pending.len() + (next - self.position) as usize, 0);
        self.position = next;
        self.flush().map_err(WriteError::Image)?;
        Ok(next)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.hasher.update(&self.pending);
        self.image.write_all_at(&self.pending, self.position - self.pending.len() as u64)?;
        self.pending.clear();
        Ok(())
    }
}

fn no_places(map: &FileMap) -> Vec<Stored> {
    vec![Stored { place: 0, length: 0, is_frame: false }; map.units.len()]
}

fn go_on(progress: &mut dyn FnMut(u64) -> ControlFlow<()>, read: usize) -> Result<(), WriteError> {
    if progress(read as u64).is_break() { Err(WriteError::Interrupted) } else { Ok(()) }
}
