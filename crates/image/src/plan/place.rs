//! Places of inodes, of directories' blocks, and of files' pages.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;

use crate::entry::{Entry, EntryKind};
use crate::index::{self, Counts};

use super::error::{PlanError, PlanProblem};
use super::file_map::{FileMap, holes_in_pages};
use super::hot::Chosen;
use super::layout::{BLOCK, INODE_SIZE, INODE_SLOT, MOST_BLOCKS, MOST_INLINE, SUPERBLOCK, SUPERBLOCK_SIZE, blocks_of};
use super::names::{Names, Node, name};
use super::units::{self, Compression};
use super::{Data, ImageSize, PlannedInode, directory, xattr};

/// What was placed.
pub(super) struct Placed {
    pub(super) inodes: Vec<PlannedInode>,
    /// The inode of each node.
    pub(super) numbers: Vec<usize>,
    pub(super) size: ImageSize,
}

/// Places everything.
pub(super) fn place(
    entries: &[Entry],
    names: Names,
    index: usize,
    counts: &Counts,
    chosen: &Chosen,
    compression: Compression,
) -> Result<Placed, PlanError> {
    let order = order(&names.nodes, index, chosen);
    let mut numbers = vec![0; names.nodes.len()];
    for (number, node) in order.iter().enumerate() {
        if let Some(place) = numbers.get_mut(*node) {
            *place = number;
        }
    }
    let hot_nodes: std::collections::HashSet<usize> =
        chosen.files.iter().map(|(node, _)| *node).chain([index]).collect();
    let mut to_compress = match compression {
        Compression::None => HashMap::new(),
        Compression::Zstd => hot_runs_of_nodes(chosen),
    };
    let number_of = |node: usize| numbers.get(node).copied().unwrap_or_default();
    let mut nodes: Vec<Option<Node>> = names.nodes.into_iter().map(Some).collect();
    let mut inodes = Vec::with_capacity(order.len());
    for node_index in order {
        let Some(node) = nodes.get_mut(node_index).and_then(Option::take) else { continue };
        let Some(entry) = entries.get(node.entry) else { continue };
        let mut data = data_of(entries, &node, entry, hot_nodes.contains(&node_index));
        if let (Data::File(map), Some(runs)) = (&mut data, to_compress.remove(&node_index)) {
            if map.pages > units::MOST_PAGES {
                return Err(PlanError::new(&entry.path, PlanProblem::TooLargeToCompress));
            }
            map.chunked = false;
            map.units = units::units_of(map.pages, runs, &map.holes);
        }
        inodes.push(PlannedInode {
            entry: node.entry,
            parent: number_of(node.parent),
            names: node.names.iter().map(|(entry, node)| (*entry, number_of(*node))).collect(),
            links: node.links,
            offset: 0,
            data,
        });
    }
    let metadata = place_metadata(entries, &mut inodes, compression);
    let mut hot_pages: HashMap<usize, Vec<(u32, u32)>> = HashMap::new();
    let front = blocks_of(index::size(counts).0);
    let mut block = metadata;
    let mut hot = |inode: usize, page: u32, block: u64| {
        hot_pages.entry(inode).or_default().push((page, block.min(MOST_BLOCKS) as u32));
    };
    for page in 0..front {
        hot(number_of(index), page as u32, block);
        block += 1;
    }
    for run in &chosen.runs {
        let Some((node, _)) = chosen.files.get(run.file as usize) else { continue };
        for page in run.start..run.start + run.pages {
            hot(number_of(*node), page, block);
            block += 1;
        }
    }
    let hot_blocks = block - metadata;
    // The index's own pages that are not hot come last.
    let by_file = (0..inodes.len()).filter(|number| *number != number_of(index)).chain([number_of(index)]);
    for number in by_file {
        let Some(PlannedInode { entry, data: Data::File(map), .. }) = inodes.get_mut(number) else { continue };
        let mut hot = hot_pages.remove(&number).unwrap_or_default();
        hot.sort_unstable();
        map.hot = hot;
        map.cold = block;
        block += map.cold_pages();
        if block > MOST_BLOCKS {
            let path = entries.get(*entry).map(|entry| entry.path.as_path()).unwrap_or(std::path::Path::new("/"));
            return Err(PlanError::new(path, PlanProblem::TooLarge));
        }
    }
    let size = ImageSize {
        inodes: inodes.len() as u64,
        metadata: metadata * BLOCK,
        hot: hot_blocks * BLOCK,
        total: block * BLOCK,
    };
    Ok(Placed { inodes, numbers, size })
}

/// The hot runs of each file: first page and number of pages.
fn hot_runs_of_nodes(chosen: &Chosen) -> HashMap<usize, Vec<(u32, u32)>> {
    let mut runs: HashMap<usize, Vec<(u32, u32)>> = HashMap::new();
    for run in &chosen.runs {
        if let Some((node, _)) = chosen.files.get(run.file as usize) {
            runs.entry(*node).or_default().push((run.start, run.pages));
        }
    }
    runs
}

/// The order of inodes: the root, then the index, hot files with the directories above them, then all others by path.
fn order(nodes: &[Node], index: usize, chosen: &Chosen) -> Vec<usize> {
    let mut order = Vec::with_capacity(nodes.len());
    let mut known = vec![false; nodes.len()];
    let mut add = |node: usize| match known.get_mut(node) {
        Some(known) if !*known => {
            *known = true;
            order.push(node);
            true
        }
        _ => false,
    };
    add(0);
    for node in [index].into_iter().chain(chosen.files.iter().map(|(node, _)| *node)) {
        let mut above = vec![node];
        while let Some(parent) = above.last().and_then(|node| nodes.get(*node)).map(|node| node.parent) {
            if parent == 0 || above.contains(&parent) {
                break;
            }
            above.push(parent);
        }
        for node in above.into_iter().rev() {
            add(node);
        }
    }
    for node in 0..nodes.len() {
        add(node);
    }
    order
}

/// The data of a file, with sizes but without places.
fn data_of(entries: &[Entry], node: &Node, entry: &Entry, is_hot: bool) -> Data {
    let packed = |size: u64| {
        let tail = size % BLOCK;
        Data::Packed { size, inline: if tail <= MOST_INLINE { tail } else { 0 }, block: 0 }
    };
    match &entry.kind {
        EntryKind::Directory => {
            let names = directory_names(entries, &node.names);
            let blocks = directory::blocks(names.iter().map(|(name, _)| *name));
            let last = blocks.last().map_or(0, |(_, used)| *used as u64);
            packed((blocks.len() as u64 - 1) * BLOCK + last)
        }
        EntryKind::Symlink(target) => packed(target.as_bytes().len() as u64),
        EntryKind::Regular(content) => {
            let (chunk_bits, holes) = holes_in_pages(&content.holes, content.size, is_hot);
            let chunked = is_hot || !holes.is_empty();
            Data::File(FileMap {
                pages: blocks_of(content.size),
                chunked,
                chunk_bits,
                hot: Vec::new(),
                holes,
                cold: 0,
                units: Vec::new(),
            })
        }
        _ => Data::None,
    }
}

/// A directory's names in order, with `.` and `..` among them, and the number of the child: `None` for those two.
pub(crate) fn directory_names<'entry>(
    entries: &'entry [Entry],
    children: &[(usize, usize)],
) -> Vec<(&'entry [u8], Option<usize>)> {
    let mut names: Vec<(&[u8], Option<usize>)> = vec![(b".", None), (b"..", None)];
    names.extend(children.iter().filter_map(|(entry, child)| Some((name(entries.get(*entry)?), Some(*child)))));
    names.sort_by_key(|(name, _)| *name);
    names
}

/// Places inodes and directories' blocks. Returns the number of blocks that they take, with the superblock.
fn place_metadata(entries: &[Entry], inodes: &mut [PlannedInode], compression: Compression) -> u64 {
    let mut offset = SUPERBLOCK + SUPERBLOCK_SIZE;
    if compression == Compression::Zstd {
        offset += units::PARAMETERS_SIZE;
    }
    for inode in inodes.iter_mut() {
        let xattrs = entries.get(inode.entry).map_or(0, |entry| xattr::size(&entry.attributes.xattrs)) as u64;
        let inline = match inode.data {
            Data::Packed { inline, .. } => inline,
            _ => 0,
        };
        inode.offset = slot(offset, xattrs, inline);
        offset = inode.offset + INODE_SIZE + xattrs + inline;
        if let Data::File(map) = &inode.data {
            offset = map.table_end(offset);
        }
    }
    let mut block = blocks_of(offset);
    for inode in inodes {
        if let Data::Packed { size, inline, block: place } = &mut inode.data {
            let whole = blocks_of(*size - *inline);
            if whole > 0 {
                *place = block;
                block += whole;
            }
        }
    }
    block
}

/// The first slot from `offset` on where neither the inode nor its inline tail crosses a block. Attributes may.
fn slot(offset: u64, xattrs: u64, inline: u64) -> u64 {
    let mut slot = offset.next_multiple_of(INODE_SLOT);
    // A tail of at most `MOST_INLINE` bytes has three places in a block, and at most one of them makes the inode cross.
    loop {
        let tail = slot + INODE_SIZE + xattrs;
        let crosses = |start: u64, size: u64| size > 0 && start / BLOCK != (start + size - 1) / BLOCK;
        if !crosses(slot, INODE_SIZE) && !crosses(tail, inline) {
            return slot;
        }
        slot += INODE_SLOT;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_inode_and_tail_finds_a_slot_nearby() {
        for offset in 1152..1152 + 3 * BLOCK {
            for xattrs in [0, 16, 20, 24, 4084, 5000] {
                for inline in [0, 1, 24, 3999, MOST_INLINE] {
                    let slot = slot(offset, xattrs, inline);
                    assert!(slot >= offset && slot < offset + BLOCK + INODE_SLOT);
                }
            }
        }
    }
}
