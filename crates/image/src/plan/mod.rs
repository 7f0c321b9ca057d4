//! From entries and hot pages to the place of every byte. Pure: no file is read.
//!
//! | step | file |
//! |---|---|
//! | names in directories, numbers of links; what an image cannot hold | `names.rs`, `error.rs` |
//! | which pages are hot, in which order | `hot.rs` |
//! | extended attributes, directories' blocks | `xattr.rs`, `directory.rs` |
//! | places of inodes, directories and pages | `place.rs`, `file_map.rs` |
//! | which pages are compressed together | `units.rs` |
//!
//! The order in the image: superblock; inodes, those that the start needs first, each with its attributes and table of chunks;
//! blocks of directories; hot pages; all other pages, file by file. Everything that finds a file is in front, because a start that
//! waits for a directory behind the stream of hot pages waits for the whole stream.

mod directory;
mod error;
mod file_map;
mod hot;
pub(crate) mod layout;
mod names;
mod place;
pub(crate) mod units;
pub(crate) mod xattr;

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use coldstart_profile::PageRange;

use crate::entry::{Attributes, Content, Entry, EntryKind, Source};
use crate::hot_order::{HotOrder, MOST_PROGRAMS};
use crate::index::{self, Counts, DIRECTORY, INDEX};

pub(crate) use directory::encode as encode_directory;
pub use error::{PlanError, PlanProblem};
pub(crate) use file_map::{FileMap, Segment};
use names::Names;
pub use units::Compression;

/// Where everything of an image lies.
///
/// Memory: below 900 bytes for each entry with its path (measured: 60 000 files), besides its extended attributes; 40 for each run of hot
/// pages and 8 for each hot page.
#[derive(Debug)]
pub struct Plan {
    /// Sorted by path, the index's own among them.
    pub(crate) entries: Vec<Entry>,
    /// In the order of their places; the root is the first.
    pub(crate) inodes: Vec<PlannedInode>,
    /// Which inode is the index.
    pub(crate) index: usize,
    pub(crate) programs: Vec<Vec<u8>>,
    /// A prefetch plan for each program, or nothing.
    pub(crate) outside: Vec<Vec<u8>>,
    pub(crate) trees: Vec<PathBuf>,
    /// Files with hot pages, in the order of their first one: the inode, and the path by which the start named it.
    pub(crate) hot_files: Vec<(usize, Arc<Path>)>,
    pub(crate) runs: Vec<PlannedRun>,
    pub(crate) size: ImageSize,
    /// Length of the index's front part in bytes.
    pub(crate) front_length: u64,
    pub(crate) compression: Compression,
    left_out: Vec<LeftOut>,
}

/// How large an image is, and its parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImageSize {
    /// Number of files, hard links counted once.
    pub inodes: u64,
    /// Bytes of superblock, inodes and directories, at the front.
    pub metadata: u64,
    /// Bytes of hot pages, right behind the metadata.
    pub hot: u64,
    /// Bytes of the whole image.
    pub total: u64,
}

/// Hot pages that are not in the image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The file, as the start named it.
    pub path: Arc<Path>,
    /// Its pages.
    pub pages: PageRange,
    /// Why.
    pub reason: LeftOutReason,
}

/// Why hot pages are not in the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftOutReason {
    /// No regular file of the image has this path.
    NotInImage,
    /// The file ends before them.
    PastEnd,
}

/// A file with its place.
#[derive(Debug)]
pub(crate) struct PlannedInode {
    /// Index of its entry.
    pub(crate) entry: usize,
    /// The directory that contains it, as an index of inodes.
    pub(crate) parent: usize,
    /// Of a directory: entry and inode of each name.
    pub(crate) names: Vec<(usize, usize)>,
    pub(crate) links: u32,
    /// Offset in the image.
    pub(crate) offset: u64,
    pub(crate) data: Data,
}

impl PlannedInode {
    /// EROFS' number for it.
    pub(crate) fn number(&self) -> u64 {
        self.offset / layout::INODE_SLOT
    }
}

/// Where a file's data lies.
#[derive(Debug)]
pub(crate) enum Data {
    /// A device, a pipe, a socket.
    None,
    /// A directory or the target of a symbolic link.
    Packed {
        /// Size in bytes.
        size: u64,
        /// Bytes of the end that lie behind the inode.
        inline: u64,
        /// The block of the rest; 0 without.
        block: u64,
    },
    /// Pages of a regular file.
    File(FileMap),
}

/// A run of hot pages: consecutive in its file and in the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlannedRun {
    /// Index in [`Plan::hot_files`].
    pub(crate) file: u32,
    pub(crate) start: u32,
    pub(crate) pages: u32,
    pub(crate) programs: u64,
}

impl Plan {
    /// Plans an image.
    ///
    /// `entries` in any order: the root directory `/`, and of each other entry its directory, too. `trees` are the directories that
    /// were taken whole; below them, a file that is not in the image did not exist. Hot pages of files that are not in the image are
    /// left out, see [`Self::left_out`].
    ///
    /// # Errors
    /// [`PlanError`] for the first entry, by path, that an image cannot hold.
    pub fn new(entries: Vec<Entry>, trees: Vec<PathBuf>, hot: &HotOrder) -> Result<Self, PlanError> {
        Self::with_compression(entries, trees, hot, Compression::None)
    }

    /// As [`Self::new`], of an image whose files with hot pages are compressed.
    ///
    /// # Errors
    /// [`PlanError`], also for a file with hot pages that is too large to be compressed.
    pub fn with_compression(
        mut entries: Vec<Entry>,
        trees: Vec<PathBuf>,
        hot: &HotOrder,
        compression: Compression,
    ) -> Result<Self, PlanError> {
        let reserved = |entry: &&Entry| entry.path.starts_with(DIRECTORY);
        if let Some(entry) = entries.iter().find(reserved) {
            return Err(PlanError::new(&entry.path, PlanProblem::Reserved));
        }
        if hot.programs.len() > MOST_PROGRAMS {
            return Err(PlanError::new("/", PlanProblem::TooManyPrograms(hot.programs.len())));
        }
        entries.extend(own_entries());
        let by_bytes =
            |one: &Entry, other: &Entry| one.path.as_os_str().as_bytes().cmp(other.path.as_os_str().as_bytes());
        entries.sort_by(by_bytes);
        let names = Names::of(&entries)?;
        let chosen = hot::choose(&entries, &names, hot);
        let too_many = |what| PlanError::new("/", PlanProblem::TooMany(what));
        let programs: Vec<Vec<u8>> = hot.programs.iter().map(|program| program.as_bytes().to_vec()).collect();
        let outside = (0..programs.len()).map(|number| hot.outside.get(number).cloned().unwrap_or_default());
        let outside: Vec<Vec<u8>> = outside.collect();
        let regular = names.nodes.iter().filter(|node| is_regular(entries.get(node.entry))).count();
        let lengths = programs.iter().map(Vec::len).chain(trees.iter().map(|tree| tree.as_os_str().len()));
        let index_counts = Counts {
            outside: u32::try_from(outside.iter().map(Vec::len).sum::<usize>())
                .map_err(|_| too_many("bytes of plans"))?,
            programs: u32::try_from(programs.len()).map_err(|_| too_many("programs"))?,
            trees: u32::try_from(trees.len()).map_err(|_| too_many("trees"))?,
            files: u32::try_from(chosen.files.len()).map_err(|_| too_many("hot files"))?,
            runs: u32::try_from(chosen.runs.len()).map_err(|_| too_many("runs of hot pages"))?,
            // The index is not an original.
            originals: u32::try_from(regular - 1).map_err(|_| too_many("files"))?,
            names: u32::try_from(
                lengths.sum::<usize>() + chosen.files.iter().map(|(_, path)| path.as_os_str().len()).sum::<usize>(),
            )
            .map_err(|_| too_many("bytes of names"))?,
        };
        let index_node = names.find(Path::new(INDEX)).ok_or_else(|| too_many("indices"))?;
        if let Some(EntryKind::Regular(content)) =
            names.nodes.get(index_node).and_then(|node| entries.get_mut(node.entry)).map(|entry| &mut entry.kind)
        {
            content.size = index::size(&index_counts).1;
        }
        let left_out = chosen.left_out.clone();
        let placed = place::place(&entries, names, index_node, &index_counts, &chosen, compression)?;
        let numbers = placed.numbers;
        let inode_of = |node: usize| numbers.get(node).copied().unwrap_or_default();
        Ok(Self {
            entries,
            index: inode_of(index_node),
            inodes: placed.inodes,
            programs,
            outside,
            trees,
            hot_files: chosen.files.into_iter().map(|(node, path)| (inode_of(node), path)).collect(),
            runs: chosen.runs,
            size: placed.size,
            front_length: index::size(&index_counts).0,
            compression,
            left_out,
        })
    }

    /// How large the image will be; with compression, at most.
    pub fn size(&self) -> ImageSize {
        self.size
    }

    /// Hot pages that are not in the image: files elsewhere, pages beyond the end of their files. Pages in holes are neither left out
    /// nor in the image.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// Number of hot pages of the program's files.
    pub fn hot_pages(&self) -> u64 {
        self.runs.iter().map(|run| u64::from(run.pages)).sum()
    }

    /// Bytes that writing reads from files: of contents, without holes.
    pub fn content_bytes(&self) -> u64 {
        let regular = self.entries.iter().filter_map(|entry| match &entry.kind {
            EntryKind::Regular(content) if entry.path != Path::new(INDEX) => Some(content),
            _ => None,
        });
        regular.map(Content::data_bytes).sum()
    }

    /// The blocks of a directory: their names in order, with the inode of each; `None` for `.` and `..`.
    pub(crate) fn directory(&self, inode: &PlannedInode) -> Vec<Vec<(&[u8], Option<usize>)>> {
        let names = place::directory_names(&self.entries, &inode.names);
        let blocks = directory::blocks(names.iter().map(|(name, _)| *name));
        blocks.into_iter().map(|(range, _)| names.get(range).unwrap_or_default().to_vec()).collect()
    }

    pub(crate) fn entry(&self, inode: &PlannedInode) -> Option<&Entry> {
        self.entries.get(inode.entry)
    }
}

fn is_regular(entry: Option<&Entry>) -> bool {
    entry.is_some_and(|entry| matches!(entry.kind, EntryKind::Regular(_)))
}

/// The directory and file of the index. Their time is 0, because an image has no time of its own.
fn own_entries() -> [Entry; 2] {
    let entry = |path: &str, mode, kind| Entry {
        path: PathBuf::from(path),
        attributes: Attributes { mode, ..Attributes::default() },
        kind,
    };
    // The source is not used: the writer knows what the index contains.
    let content = Content { size: 0, holes: Vec::new(), source: Source::Bytes(Arc::from([])), origin: None };
    [entry(DIRECTORY, 0o755, EntryKind::Directory), entry(INDEX, 0o444, EntryKind::Regular(content))]
}
