//! Writing a planned image.
//!
//! Each byte of a file is read once, in the order of its file, and goes to its place from there; its digest comes from the same read.
//! So reading is linear, and what is written in start order is the image's hot range alone. Nothing of a file is kept: memory is one
//! buffer of 1 MiB. (Of compressed files, hot pages are read twice: `packed.rs`.) The first block is written last, because the UUID in it is a digest of everything else.

mod contents;
mod error;
mod metadata;
mod packed;
mod stream;

use std::ffi::OsString;
use std::fs::File;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;

use coldstart_output::{OutputKind, OutputTarget, StagedFile};
use coldstart_profile::FileIdentity;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use crate::crc32c::erofs_checksum;
use crate::entry::{Attributes, Content, EntryKind};
use crate::index::{self, HotFile, HotPages, Index, Original};
use crate::plan::layout::{BLOCK, SUPERBLOCK};
use crate::plan::{Compression, Data, ImageSize, Plan, PlannedInode, PlannedRun};

use packed::Packed;

pub use error::{SourceProblem, WriteError};

/// `coldstart image make`: how an earlier image is recognised.
pub const KIND: OutputKind =
    OutputKind { name: "a start image", recognises: crate::recognise::is_start_image, same_bytes: false };

/// Called with the bytes of files that were read since the last call; may end the work.
pub type Progress<'a> = &'a mut dyn FnMut(u64) -> ControlFlow<()>;

/// A written image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its size.
    pub size: ImageSize,
    /// Its UUID: images with equal bytes have equal ones, others differ.
    pub uuid: [u8; 16],
}

/// Writes an image to a target: all of it, or nothing.
///
/// # Errors
/// [`WriteError`]; the target is unchanged then.
pub fn write_image_at(target: &OutputTarget, plan: &Plan, progress: Progress) -> Result<Written, WriteError> {
    let (staged, written) = stage_image(target, plan, progress)?;
    target.finish(staged)?;
    Ok(written)
}

/// Writes an image to the file that will become the output. [`OutputTarget::finish`] does that; until then nobody sees it.
///
/// # Errors
/// [`WriteError`].
pub fn stage_image(
    target: &OutputTarget,
    plan: &Plan,
    progress: Progress,
) -> Result<(StagedFile, Written), WriteError> {
    let staged = target.begin()?;
    only_owner_writes(staged.file()).map_err(|error| WriteError::Output(target.failed(error)))?;
    let written = write_image(staged.file(), plan, progress).map_err(|error| match error {
        WriteError::Image(source) => WriteError::Output(target.failed(source)),
        error => error,
    })?;
    Ok((staged, written))
}

/// Takes the right to write from others than the owner, whatever the umask and the mode of the file that is replaced: root mounts no image
/// that others may change.
fn only_owner_writes(file: &File) -> std::io::Result<()> {
    const WRITE: u32 = 0o022;
    let mut permissions = file.metadata()?.permissions();
    permissions.set_mode(permissions.mode() & !WRITE);
    file.set_permissions(permissions)
}

/// Writes an image to an empty file.
///
/// # Errors
/// [`WriteError`]; the file's content is undefined then.
pub fn write_image(file: &File, plan: &Plan, progress: Progress) -> Result<Written, WriteError> {
    reserve(file, plan.size.total)?;
    let packed = packed::write(file, plan, progress)?;
    let (mut first_block, metadata_digest) = metadata::write(file, plan, &packed).map_err(WriteError::Image)?;
    let mut originals = Vec::new();
    let mut buffer = contents::Buffer::new();
    for (number, inode) in plan.inodes.iter().enumerate() {
        let (Some(entry), Data::File(map)) = (plan.entry(inode), &inode.data) else { continue };
        let EntryKind::Regular(content) = &entry.kind else { continue };
        if number == plan.index {
            continue;
        }
        let digest = match packed.files.get(&number) {
            Some((_, digest)) => *digest,
            None => buffer.copy(file, entry, content, &packed.map(number, map), progress)?,
        };
        let identity = identity_of(&entry.attributes, content);
        originals.push(Original { number: inode.number(), identity, digest });
    }
    originals.sort_by_key(|original| original.number);
    let index = index_of(plan, &packed, metadata_digest, originals);
    let (front, rest) = index::encode(&index);
    write_index(file, plan, &packed, &front, &rest).map_err(WriteError::Image)?;
    let uuid = index::uuid(&front);
    seal(&mut first_block, uuid);
    file.write_all_at(&first_block, 0).map_err(WriteError::Image)?;
    // Less than was reserved.
    file.set_len(packed.size.total).map_err(WriteError::Image)?;
    Ok(Written { size: packed.size, uuid })
}

/// Takes the room at once, so that blocks lie together on the disk and a full disk is noticed before the work.
fn reserve(file: &File, size: u64) -> Result<(), WriteError> {
    match fallocate(file, FallocateFlags::empty(), 0, size) {
        Ok(()) => Ok(()),
        // Some network and FUSE file systems cannot.
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => file.set_len(size).map_err(WriteError::Image),
        Err(errno) => Err(WriteError::Image(errno.into())),
    }
}

fn index_of(plan: &Plan, packed: &Packed, metadata_digest: index::Digest, originals: Vec<Original>) -> Index {
    Index {
        metadata_length: plan.size.metadata,
        hot: packed.size.metadata..packed.size.metadata + packed.size.hot,
        metadata_digest,
        packed: (plan.compression != Compression::None).then_some(packed.digest),
        programs: plan.programs.iter().cloned().map(OsString::from_vec).collect(),
        outside: plan.outside.clone(),
        trees: plan.trees.clone(),
        files: plan.hot_files.iter().map(|(inode, path)| hot_file(plan, *inode, path)).collect(),
        runs: plan.runs.iter().enumerate().map(|(number, run)| hot_pages(packed, number, run)).collect(),
        originals,
    }
}

fn hot_pages(packed: &Packed, number: usize, run: &PlannedRun) -> HotPages {
    let bytes = packed.runs.get(number).copied().unwrap_or(0);
    HotPages { programs: run.programs, file: run.file, start: run.start, pages: run.pages, packed: bytes }
}

fn hot_file(plan: &Plan, inode: usize, path: &Path) -> HotFile {
    let planned = plan.inodes.get(inode);
    let entry = planned.and_then(|inode| plan.entry(inode));
    let (identity, origin) = match entry.map(|entry| (&entry.attributes, &entry.kind)) {
        Some((attributes, EntryKind::Regular(content))) => (identity_of(attributes, content), content.origin),
        _ => (FileIdentity { size: 0, modified: 0 }, None),
    };
    HotFile { number: planned.map_or(0, PlannedInode::number), path: path.to_owned(), identity, origin }
}

fn identity_of(attributes: &Attributes, content: &Content) -> FileIdentity {
    let size = i64::try_from(content.size).unwrap_or(i64::MAX);
    FileIdentity::from_stat(size, attributes.modified.seconds, attributes.modified.nanoseconds.into())
}

/// Writes the index to its pages: the front part at the beginning of the hot range, the rest where its map says.
fn write_index(file: &File, plan: &Plan, packed: &Packed, front: &[u8], rest: &[u8]) -> std::io::Result<()> {
    let Some(Data::File(map)) = plan.inodes.get(plan.index).map(|inode| &inode.data) else { return Ok(()) };
    let map = packed.map(plan.index, map);
    let mut bytes = front.to_vec();
    bytes.extend_from_slice(rest);
    bytes.resize((map.pages * BLOCK) as usize, 0);
    for segment in map.segments() {
        let (from, to) = (segment.pages.start * BLOCK, segment.pages.end * BLOCK);
        if let (Some(block), Some(bytes)) = (segment.block, bytes.get(from as usize..to as usize)) {
            file.write_all_at(bytes, block * BLOCK)?;
        }
    }
    Ok(())
}

/// Puts UUID and checksum into the first block.
fn seal(first_block: &mut [u8], uuid: [u8; 16]) {
    let superblock = SUPERBLOCK as usize;
    first_block[superblock + metadata::UUID..superblock + metadata::UUID + 16].copy_from_slice(&uuid);
    // The checksum's own field is still zero. It covers the rest of the block, with the inodes in it.
    let checksum = erofs_checksum(&first_block[superblock..]);
    let field = superblock + metadata::CHECKSUM;
    first_block[field..field + 4].copy_from_slice(&checksum.to_le_bytes());
}
