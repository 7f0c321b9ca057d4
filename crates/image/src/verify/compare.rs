//! Each file of an image against the file of the same path in a directory tree.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use coldstart_profile::printable;
use coldstart_sys::named_file::{LastLink, NamedFile};

use crate::entry::Attributes;
use crate::index::DIRECTORY;
use crate::read::{Found, Image, InodeType, ReadAt, ReadError};
use crate::tree::{Described, DescribedKind, describe};

use super::difference::{Aspect, Difference};

/// Contents are compared in portions of this many bytes.
const PORTION: usize = 1 << 20;
/// Differences beyond this are counted only.
const MOST_DIFFERENCES: usize = 1000;

/// Which files of the tree must be in the image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All.
    Whole,
    /// Those below these directories.
    Trees(Vec<PathBuf>),
}

impl Scope {
    fn contains(&self, path: &Path) -> bool {
        match self {
            Self::Whole => true,
            Self::Trees(trees) => trees.iter().any(|tree| path.starts_with(tree)),
        }
    }
}

/// The result of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Entries of the image that were compared.
    pub entries: u64,
    /// Bytes of contents that were compared.
    pub bytes: u64,
    /// The differences, at most 1000.
    pub differences: Vec<Difference>,
    /// How many more there are.
    pub more: u64,
}

/// Why a comparison could not be finished.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// The image is damaged.
    #[error(transparent)]
    Image(#[from] ReadError),
    /// A file of the tree cannot be read.
    #[error("cannot compare with `{}`: {source}", printable(path))]
    Tree {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl CompareError {
    pub(super) fn tree(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Tree { path, source }
    }

    /// Advice, if there is any.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Image(error) => error.hint(),
            Self::Tree { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => Some("run as root"),
            Self::Tree { .. } => None,
        }
    }
}

coldstart_hint::hinted!(CompareError);

/// Compares an image, as our reader sees it, with the tree below `root`. The image's own index is left out.
///
/// # Errors
/// [`CompareError`]: damage that keeps the image from being read, or files that may not be read.
pub fn compare<S: ReadAt>(image: &Image<S>, root: &Path, scope: &Scope) -> Result<Comparison, CompareError> {
    let mut comparer = Comparer::new(root, scope);
    for found in image.walk() {
        let found = found?;
        let content = |offset: u64, buffer: &mut [u8]| Ok(image.read_at(&found.inode, offset, buffer)?);
        comparer.compare(&found.path, &described(image, &found)?, &content)?;
    }
    comparer.finish()
}

/// A file of the image as if it were one of this machine.
fn described<S: ReadAt>(image: &Image<S>, found: &Found) -> Result<Described, ReadError> {
    let inode = &found.inode;
    let kind = match inode.file_type {
        InodeType::Regular => DescribedKind::Regular(inode.size),
        InodeType::Directory => DescribedKind::Directory,
        InodeType::Symlink => DescribedKind::Symlink(OsString::from_vec(image.target(inode)?)),
        InodeType::CharacterDevice => DescribedKind::CharacterDevice(inode.device),
        InodeType::BlockDevice => DescribedKind::BlockDevice(inode.device),
        InodeType::Fifo => DescribedKind::Fifo,
        InodeType::Socket => DescribedKind::Socket,
    };
    let attributes = Attributes {
        mode: inode.mode,
        user: inode.user,
        group: inode.group,
        modified: inode.modified,
        xattrs: image.xattrs(inode)?.into(),
    };
    let (inode, links, stored) = (inode.number, inode.links.into(), inode.size);
    Ok(Described { attributes, kind, device: 0, inode, changed: 0, links, stored })
}

/// Bytes of a file of the image, at an offset.
pub(super) type Bytes<'a> = &'a dyn Fn(u64, &mut [u8]) -> Result<(), CompareError>;

/// Compares entries one by one.
pub(super) struct Comparer<'a> {
    root: &'a Path,
    scope: &'a Scope,
    result: Comparison,
    /// Of files with several names: the image's inode to the tree's device and inode, and back.
    links: HashMap<u64, (u64, u64)>,
    links_back: HashMap<(u64, u64), u64>,
    seen: HashSet<PathBuf>,
    directories: Vec<PathBuf>,
    buffers: (Vec<u8>, Vec<u8>),
}

impl<'a> Comparer<'a> {
    pub(super) fn new(root: &'a Path, scope: &'a Scope) -> Self {
        Self {
            root,
            scope,
            result: Comparison::default(),
            links: HashMap::new(),
            links_back: HashMap::new(),
            seen: HashSet::new(),
            directories: Vec::new(),
            buffers: (vec![0; PORTION], vec![0; PORTION]),
        }
    }

    fn outside(&self, path: &Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    fn differs(&mut self, path: &Path, aspect: Aspect) {
        if self.result.differences.len() < MOST_DIFFERENCES {
            self.result.differences.push(Difference { path: path.to_owned(), aspect });
        } else {
            self.result.more = self.result.more.saturating_add(1);
        }
    }

    /// Compares one entry of the image.
    pub(super) fn compare(&mut self, path: &Path, image: &Described, bytes: Bytes) -> Result<(), CompareError> {
        if path.starts_with(DIRECTORY) {
            return Ok(());
        }
        self.result.entries = self.result.entries.saturating_add(1);
        self.seen.insert(path.to_owned());
        let outside = self.outside(path);
        let tree = match describe(&outside) {
            Ok(tree) => tree,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                self.differs(path, Aspect::OnlyInImage);
                return Ok(());
            }
            Err(error) => return Err(CompareError::tree(&outside)(error)),
        };
        if std::mem::discriminant(&image.kind) != std::mem::discriminant(&tree.kind) {
            self.differs(path, Aspect::Kind(image.kind.words(), tree.kind.words()));
            return Ok(());
        }
        // A directory that is not in the image whole changes its time with names that do not matter.
        let is_whole = image.kind != DescribedKind::Directory || self.scope.contains(path);
        self.compare_attributes(path, &image.attributes, &tree.attributes, is_whole);
        if image.kind == DescribedKind::Directory {
            self.directories.push(path.to_owned());
            return Ok(());
        }
        self.compare_links(path, image, &tree);
        match (&image.kind, &tree.kind) {
            (DescribedKind::Symlink(one), DescribedKind::Symlink(other)) if one != other => {
                self.differs(path, Aspect::Target(one.into(), other.into()));
            }
            (DescribedKind::CharacterDevice(one), DescribedKind::CharacterDevice(other))
            | (DescribedKind::BlockDevice(one), DescribedKind::BlockDevice(other))
                if one != other =>
            {
                self.differs(path, Aspect::Device(*one, *other));
            }
            (DescribedKind::Regular(one), DescribedKind::Regular(other)) if one != other => {
                self.differs(path, Aspect::Size(*one, *other));
            }
            (DescribedKind::Regular(size), _) => self.compare_content(path, &outside, *size, bytes)?,
            _ => {}
        }
        Ok(())
    }

    fn compare_attributes(&mut self, path: &Path, image: &Attributes, tree: &Attributes, with_time: bool) {
        let aspects = [
            (image.mode != tree.mode).then_some(Aspect::Mode(image.mode, tree.mode)),
            (image.user != tree.user).then_some(Aspect::User(image.user, tree.user)),
            (image.group != tree.group).then_some(Aspect::Group(image.group, tree.group)),
            (with_time && image.modified != tree.modified).then_some(Aspect::Modified(image.modified, tree.modified)),
        ];
        for aspect in aspects.into_iter().flatten() {
            self.differs(path, aspect);
        }
        for (one, other) in [(&image.xattrs, &tree.xattrs), (&tree.xattrs, &image.xattrs)] {
            for xattr in one.iter().filter(|xattr| !other.contains(xattr)) {
                let name = String::from_utf8_lossy(&xattr.name).into_owned();
                let aspect = Aspect::Xattr(name);
                // One with another value is missing on both sides.
                if !self.result.differences.iter().rev().any(|known| known.path == path && known.aspect == aspect) {
                    self.differs(path, aspect);
                }
            }
        }
    }

    fn compare_links(&mut self, path: &Path, image: &Described, tree: &Described) {
        if image.links < 2 && tree.links < 2 {
            return;
        }
        let number = (tree.device, tree.inode);
        let known = *self.links.entry(image.inode).or_insert(number);
        let known_back = *self.links_back.entry(number).or_insert(image.inode);
        if known != number || known_back != image.inode {
            self.differs(path, Aspect::Links);
        }
    }

    fn compare_content(&mut self, path: &Path, outside: &Path, size: u64, bytes: Bytes) -> Result<(), CompareError> {
        if size == 0 {
            return Ok(());
        }
        let opened = NamedFile::find(outside, LastLink::Keep).and_then(NamedFile::regular);
        let (file, _) = opened.and_then(|file| file.open_quietly()).map_err(CompareError::tree(outside))?;
        let mut offset = 0u64;
        while offset < size {
            let length = usize::try_from(size.saturating_sub(offset)).unwrap_or(PORTION).min(PORTION);
            let (Some(one), Some(other)) = (self.buffers.0.get_mut(..length), self.buffers.1.get_mut(..length)) else {
                break;
            };
            bytes(offset, one)?;
            let read = read_up_to(&file, other, offset).map_err(CompareError::tree(outside))?;
            if read < length || one != other {
                let same = one.iter().zip(other.iter().take(read)).take_while(|(one, other)| one == other).count();
                self.differs(path, Aspect::Content(offset.saturating_add(same as u64)));
                break;
            }
            self.result.bytes = self.result.bytes.saturating_add(length as u64);
            offset = offset.saturating_add(length as u64);
        }
        Ok(())
    }

    /// Looks for files that only the tree has.
    pub(super) fn finish(mut self) -> Result<Comparison, CompareError> {
        for directory in std::mem::take(&mut self.directories) {
            if !self.scope.contains(&directory) {
                continue;
            }
            let outside = self.outside(&directory);
            let names = std::fs::read_dir(&outside).and_then(|names| names.collect::<io::Result<Vec<_>>>());
            let mut names = names.map_err(CompareError::tree(&outside))?;
            names.sort_by_key(std::fs::DirEntry::file_name);
            for name in names {
                let path = directory.join(name.file_name());
                if !self.seen.contains(&path) {
                    self.differs(&path, Aspect::OnlyInTree);
                }
            }
        }
        Ok(self.result)
    }
}

/// Reads as much as there is, at most a buffer.
pub(super) fn read_up_to(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut length = 0;
    while let Some(room) = buffer.get_mut(length..).filter(|room| !room.is_empty()) {
        match file.read_at(room, offset.saturating_add(length as u64))? {
            0 => break,
            read => length = length.saturating_add(read),
        }
    }
    Ok(length)
}
