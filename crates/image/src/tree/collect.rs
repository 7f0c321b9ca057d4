//! Trees and single files as entries.
//!
//! Not obvious: a path of a program may lead through symbolic links (`/lib` to `usr/lib`), and so does each look-up of the start. So with
//! a file all links and directories on the way to it are collected, too.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsString;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use coldstart_profile::printable;

use crate::entry::{Content, Entry, EntryKind, Origin, Source, Xattr};
use crate::links::{FollowError, MOST_LINKS, follow};

use super::describe::{Described, DescribedKind, describe, holes};

/// Why a file cannot be collected.
#[derive(Debug, thiserror::Error)]
#[error("cannot take `{}` into an image: {problem}", printable(path))]
pub struct CollectError {
    /// The file on this machine.
    pub path: PathBuf,
    /// What is wrong.
    #[source]
    pub problem: CollectProblem,
}

/// What is wrong with a file that is to be collected.
#[derive(Debug, thiserror::Error)]
pub enum CollectProblem {
    /// Another file system is mounted inside a tree.
    #[error("another file system is mounted there")]
    OtherFileSystem,
    /// Not an absolute path without `..`.
    #[error("the path is not absolute")]
    NotAbsolute,
    /// Links that lead to one another.
    #[error("its path leads through more than {MOST_LINKS} symbolic links")]
    TooManyLinks,
    /// The caller ended it.
    #[error("interrupted")]
    Interrupted,
    /// The system's error.
    #[error("{0}")]
    Io(#[source] io::Error),
}

impl CollectError {
    fn io(path: &Path, error: io::Error) -> Self {
        Self { path: path.to_owned(), problem: CollectProblem::Io(error) }
    }

    /// Advice, if there is any.
    pub fn hint(&self) -> Option<&'static str> {
        match &self.problem {
            CollectProblem::OtherFileSystem => {
                Some("name trees without mounts in them; the mounted tree may be named, too")
            }
            CollectProblem::Io(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                Some("run as root, or name trees that you may read")
            }
            _ => None,
        }
    }
}

coldstart_hint::hinted!(CollectError);

/// Collects entries, each path once.
#[derive(Debug)]
pub struct Collector {
    /// What `/` of the image is on this machine.
    root: PathBuf,
    entries: BTreeMap<Vec<u8>, Entry>,
    /// Files with several names: device and inode to the first path in the image.
    first_names: HashMap<(u64, u64), PathBuf>,
    /// Sets of attributes, each once.
    xattrs: HashSet<Arc<[Xattr]>>,
    trees: Vec<PathBuf>,
}

impl Collector {
    /// Nothing yet but the root directory itself: `root` on this machine, usually `/`.
    ///
    /// # Errors
    /// When it cannot be looked at.
    pub fn new(root: &Path) -> Result<Self, CollectError> {
        let mut collector = Self {
            root: root.to_owned(),
            entries: BTreeMap::new(),
            first_names: HashMap::new(),
            xattrs: HashSet::new(),
            trees: Vec::new(),
        };
        collector.add_one(Path::new("/"))?;
        Ok(collector)
    }

    /// Adds a directory with everything below it, and all that leads to it. Mounts inside are refused.
    ///
    /// `tree` is a path of the image: absolute, below the collector's root. Returns it without symbolic links.
    ///
    /// # Errors
    /// [`CollectError`] for the first file that cannot be looked at.
    pub fn add_tree(&mut self, tree: &Path) -> Result<PathBuf, CollectError> {
        self.add_tree_watched(tree, &mut |_| ControlFlow::Continue(()))
    }

    /// As [`Self::add_tree`]; `watch` is called with each file's path in the image, and may end the work.
    ///
    /// # Errors
    /// As of [`Self::add_tree`], and [`CollectProblem::Interrupted`].
    pub fn add_tree_watched(
        &mut self,
        tree: &Path,
        watch: &mut dyn FnMut(&Path) -> ControlFlow<()>,
    ) -> Result<PathBuf, CollectError> {
        let tree = self.add_path(tree)?;
        let device = describe(&self.outside(&tree)).map_err(|error| CollectError::io(&tree, error))?.device;
        let mut pending = vec![tree.clone()];
        while let Some(directory) = pending.pop() {
            let outside = self.outside(&directory);
            let names = std::fs::read_dir(&outside).and_then(|names| names.collect::<io::Result<Vec<_>>>());
            let mut names = names.map_err(|error| CollectError::io(&outside, error))?;
            // So that the first name of a file with several is always the same one.
            names.sort_by_key(std::fs::DirEntry::file_name);
            for name in names {
                let path = directory.join(name.file_name());
                if watch(&path).is_break() {
                    return Err(CollectError { path, problem: CollectProblem::Interrupted });
                }
                let described = match self.look(&path) {
                    Ok(described) => described,
                    // Removed since the directory was read.
                    Err(error) if is_gone(&error) => continue,
                    Err(error) => return Err(error),
                };
                if described.device != device {
                    return Err(CollectError { path: self.outside(&path), problem: CollectProblem::OtherFileSystem });
                }
                if described.kind == DescribedKind::Directory {
                    pending.push(path.clone());
                }
                self.add(&path, described)?;
            }
        }
        self.trees.push(tree.clone());
        Ok(tree)
    }

    /// Adds a file and all that leads to it: directories, symbolic links and their targets. A directory is added without its content.
    /// Returns the path without symbolic links.
    ///
    /// # Errors
    /// [`CollectError`] for the first file that cannot be looked at.
    pub fn add_path(&mut self, path: &Path) -> Result<PathBuf, CollectError> {
        let problem = |problem| CollectError { path: path.to_owned(), problem };
        if !path.is_absolute() {
            return Err(problem(CollectProblem::NotAbsolute));
        }
        match follow(path, &mut |name| self.add_one(name)) {
            Ok(followed) => Ok(followed.path),
            Err(FollowError::TooManyLinks) => Err(problem(CollectProblem::TooManyLinks)),
            Err(FollowError::Look(error)) => Err(error),
        }
    }

    /// The entries, sorted by path, and the trees that were taken whole.
    pub fn finish(self) -> (Vec<Entry>, Vec<PathBuf>) {
        (self.entries.into_values().collect(), self.trees)
    }

    /// Number of entries so far.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none: never, because the root is one.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Where a path of the image is on this machine.
    fn outside(&self, path: &Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    fn look(&self, path: &Path) -> Result<Described, CollectError> {
        let outside = self.outside(path);
        describe(&outside).map_err(|error| CollectError::io(&outside, error))
    }

    /// Adds one file, without what leads to it. Returns the target of a symbolic link.
    fn add_one(&mut self, path: &Path) -> Result<Option<OsString>, CollectError> {
        if let Some(entry) = self.entries.get(path.as_os_str().as_bytes()) {
            return Ok(match &entry.kind {
                EntryKind::Symlink(target) => Some(target.clone()),
                EntryKind::HardLink(first) => {
                    match self.entries.get(first.as_os_str().as_bytes()).map(|entry| &entry.kind) {
                        Some(EntryKind::Symlink(target)) => Some(target.clone()),
                        _ => None,
                    }
                }
                _ => None,
            });
        }
        let described = self.look(path)?;
        let target = match &described.kind {
            DescribedKind::Symlink(target) => Some(target.clone()),
            _ => None,
        };
        self.add(path, described)?;
        Ok(target)
    }

    fn add(&mut self, path: &Path, described: Described) -> Result<(), CollectError> {
        let key = path.as_os_str().as_bytes();
        if self.entries.contains_key(key) {
            return Ok(());
        }
        let outside = self.outside(path);
        let number = (described.device, described.inode);
        let has_names = described.links > 1 && described.kind != DescribedKind::Directory;
        let kind = match described.kind {
            _ if has_names && self.first_names.contains_key(&number) => {
                EntryKind::HardLink(self.first_names.get(&number).cloned().unwrap_or_default())
            }
            DescribedKind::Directory => EntryKind::Directory,
            DescribedKind::Regular(size) => {
                let holes = match described.stored < size {
                    true => holes(&outside, size).map_err(|error| CollectError::io(&outside, error))?,
                    false => Vec::new(),
                };
                // An image of another root is for machines where the files have other inodes, and two copies of it give the same image.
                let is_here = self.root == Path::new("/");
                let origin = is_here.then_some(Origin { inode: described.inode, changed: described.changed });
                EntryKind::Regular(Content { size, holes, source: Source::File(outside), origin })
            }
            DescribedKind::Symlink(target) => EntryKind::Symlink(target),
            DescribedKind::CharacterDevice(number) => EntryKind::CharacterDevice(number),
            DescribedKind::BlockDevice(number) => EntryKind::BlockDevice(number),
            DescribedKind::Fifo => EntryKind::Fifo,
            DescribedKind::Socket => EntryKind::Socket,
        };
        let mut attributes = described.attributes;
        match self.xattrs.get(&attributes.xattrs) {
            Some(known) => attributes.xattrs = Arc::clone(known),
            None => drop(self.xattrs.insert(Arc::clone(&attributes.xattrs))),
        }
        if has_names {
            self.first_names.entry(number).or_insert_with(|| path.to_owned());
        }
        self.entries.insert(key.to_vec(), Entry { path: path.to_owned(), attributes, kind });
        Ok(())
    }
}

fn is_gone(error: &CollectError) -> bool {
    matches!(&error.problem, CollectProblem::Io(error) if error.kind() == io::ErrorKind::NotFound)
}
