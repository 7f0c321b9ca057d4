//! All entries of an image.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::Image;
use super::directory::DirectoryEntry;
use super::error::{ReadError, Result};
use super::inode::{Inode, InodeType};
use super::source::ReadAt;

/// The longest path that system calls take, in bytes (`PATH_MAX` less its NUL).
const LONGEST_PATH: usize = 4095;

/// An entry of an image: one name of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its absolute path.
    pub path: PathBuf,
    /// The file; several names of one file have the same number.
    pub inode: Inode,
}

/// All entries, directories before what they contain, names in order. After an error there are no more.
#[derive(Debug)]
pub struct Walk<'image, S> {
    image: &'image Image<S>,
    /// Directories that are open: their inodes and the entries that are left.
    open: Vec<(u64, std::vec::IntoIter<DirectoryEntry>)>,
    /// Path of the last of them. Kept once, not for each: a hostile image may be very deep.
    path: PathBuf,
    /// Directories that were met. One that is met twice would be a loop.
    seen: HashSet<u64>,
    /// Bytes of directories that may still be read: directories do not overlap, so all of them are no larger than the image.
    budget: u64,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Begin,
    Going,
    Over,
}

impl<'image, S: ReadAt> Walk<'image, S> {
    pub(super) fn new(image: &'image Image<S>) -> Self {
        let (open, seen, path) = (Vec::new(), HashSet::new(), PathBuf::from("/"));
        Self { image, open, path, seen, budget: image.available, state: State::Begin }
    }

    fn step(&mut self) -> Result<Option<Found>> {
        if self.state == State::Begin {
            self.state = State::Going;
            let inode = self.image.root()?;
            self.enter(&inode, inode.number)?;
            return Ok(Some(Found { path: self.path.clone(), inode }));
        }
        loop {
            let Some((parent, entries)) = self.open.last_mut() else { return Ok(None) };
            let Some(entry) = entries.next() else {
                self.open.pop();
                self.path.pop();
                continue;
            };
            if matches!(entry.name.as_slice(), b"." | b"..") {
                continue;
            }
            let (path, parent) = (self.path.join(OsStr::from_bytes(&entry.name)), *parent);
            let inode = self.image.inode(entry.number)?;
            if path.as_os_str().len() > LONGEST_PATH {
                return Err(ReadError::malformed(
                    "a directory",
                    inode.offset,
                    "a path in it is longer than a path can be",
                ));
            }
            if entry.stated_type != inode.file_type.in_directory() {
                return Err(ReadError::malformed("a directory", inode.offset, "it states another type than the inode"));
            }
            if inode.file_type == InodeType::Directory {
                self.enter(&inode, parent)?;
                self.path.clone_from(&path);
            }
            return Ok(Some(Found { path, inode }));
        }
    }

    /// Opens a directory.
    fn enter(&mut self, inode: &Inode, parent: u64) -> Result<()> {
        let malformed = |problem| ReadError::malformed("a directory", inode.offset, problem);
        if !self.seen.insert(inode.number) {
            return Err(malformed("it has two names, or contains itself"));
        }
        self.budget = self.budget.checked_sub(inode.size).ok_or(malformed("directories overlap"))?;
        let entries = self.image.directory(inode)?;
        for (name, number) in [(b".".as_slice(), inode.number), (b"..", parent)] {
            if !entries.iter().any(|entry| entry.name == name && entry.number == number) {
                return Err(malformed("its names `.` and `..` do not lead to itself and the directory above"));
            }
        }
        self.open.push((inode.number, entries.into_iter()));
        Ok(())
    }
}

impl<S: ReadAt> Iterator for Walk<'_, S> {
    type Item = Result<Found>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.state == State::Over {
            return None;
        }
        let found = self.step();
        if !matches!(found, Ok(Some(_))) {
            self.state = State::Over;
        }
        found.transpose()
    }
}
