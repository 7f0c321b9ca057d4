//! From a list of entries to directories with their names, and files with their numbers of links.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::entry::{Entry, EntryKind, Source};

use super::error::{PlanError, PlanProblem};
use super::layout::{LONGEST_NAME, LONGEST_PATH, LONGEST_TARGET, blocks_of};
use super::xattr;

/// A file of the image, by its first name.
#[derive(Debug)]
pub(crate) struct Node {
    /// Index of its entry.
    pub(crate) entry: usize,
    /// The directory that contains its first name; of the root itself.
    pub(crate) parent: usize,
    /// Of a directory: indices of the entries of its names and of their nodes, by name.
    pub(crate) names: Vec<(usize, usize)>,
    /// `st_nlink`.
    pub(crate) links: u32,
}

/// All files of an image. The root is the first.
#[derive(Debug)]
pub(crate) struct Names {
    pub(crate) nodes: Vec<Node>,
    by_path: HashMap<Vec<u8>, usize>,
}

impl Names {
    /// From entries that are sorted by path.
    pub(super) fn of(entries: &[Entry]) -> Result<Self, PlanError> {
        let mut names =
            Self { nodes: Vec::with_capacity(entries.len()), by_path: HashMap::with_capacity(entries.len()) };
        if entries.first().is_none_or(|entry| entry.path != Path::new("/")) {
            return Err(PlanError::new("/", PlanProblem::NoDirectory));
        }
        // Links may lead forward, so files come first.
        for (index, entry) in entries.iter().enumerate() {
            check(entry)?;
            if !matches!(entry.kind, EntryKind::HardLink(_)) {
                let links = if entry.kind == EntryKind::Directory { 2 } else { 0 };
                names.nodes.push(Node { entry: index, parent: 0, names: Vec::new(), links });
                names.enter(entry, names.nodes.len() - 1)?;
            }
        }
        for entry in entries {
            if let EntryKind::HardLink(target) = &entry.kind {
                let not_a_file = || PlanError::new(&entry.path, PlanProblem::LinkTarget(target.clone()));
                let node = names.find(target).ok_or_else(not_a_file)?;
                if names.node(node).and_then(|node| entries.get(node.entry)).is_none_or(is_directory) {
                    return Err(not_a_file());
                }
                names.enter(entry, node)?;
            }
        }
        names.connect(entries)?;
        Ok(names)
    }

    /// The file at a path of the image.
    pub(super) fn find(&self, path: &Path) -> Option<usize> {
        self.by_path.get(path.as_os_str().as_bytes()).copied()
    }

    fn node(&self, index: usize) -> Option<&Node> {
        self.nodes.get(index)
    }

    fn enter(&mut self, entry: &Entry, node: usize) -> Result<(), PlanError> {
        match self.by_path.insert(entry.path.as_os_str().as_bytes().to_vec(), node) {
            None => Ok(()),
            Some(_) => Err(PlanError::new(&entry.path, PlanProblem::Twice)),
        }
    }

    /// Enters each name in its directory. Entries are sorted by path, so the names of a directory come in order.
    fn connect(&mut self, entries: &[Entry]) -> Result<(), PlanError> {
        for (index, entry) in entries.iter().enumerate() {
            let Some(directory) = entry.path.parent() else { continue };
            let refused = |problem| PlanError::new(&entry.path, problem);
            let parent = self.find(directory).ok_or_else(|| refused(PlanProblem::NoDirectory))?;
            let node = self.find(&entry.path).ok_or_else(|| refused(PlanProblem::NoDirectory))?;
            let above = self.nodes.get_mut(parent).ok_or_else(|| refused(PlanProblem::NoDirectory))?;
            if entries.get(above.entry).is_none_or(|above| !is_directory(above)) {
                return Err(refused(PlanProblem::ThroughFile));
            }
            above.names.push((index, node));
            if is_directory(entry) {
                above.links = above.links.saturating_add(1);
            }
            if let Some(node) = self.nodes.get_mut(node) {
                if !is_directory(entry) {
                    node.links = node.links.saturating_add(1);
                }
                if node.entry == index {
                    node.parent = parent;
                }
            }
        }
        for node in &mut self.nodes {
            node.names.sort_by_key(|(entry, _)| entries.get(*entry).map(name));
        }
        Ok(())
    }
}

/// The name of an entry in its directory.
pub(crate) fn name(entry: &Entry) -> &[u8] {
    entry.path.file_name().unwrap_or_default().as_bytes()
}

fn is_directory(entry: &Entry) -> bool {
    entry.kind == EntryKind::Directory
}

/// Checks what can be checked of an entry alone.
fn check(entry: &Entry) -> Result<(), PlanError> {
    let refuse = |problem| Err(PlanError::new(&entry.path, problem));
    let bytes = entry.path.as_os_str().as_bytes();
    let Some(components) = bytes.strip_prefix(b"/") else { return refuse(PlanProblem::Path) };
    if bytes.len() > LONGEST_PATH {
        return refuse(PlanProblem::PathTooLong { length: bytes.len() });
    }
    if !components.is_empty() {
        for component in components.split(|byte| *byte == b'/') {
            if matches!(component, b"" | b"." | b"..") || component.contains(&0) {
                return refuse(PlanProblem::Path);
            }
            if component.len() > LONGEST_NAME {
                return refuse(PlanProblem::NameTooLong { length: component.len() });
            }
        }
    }
    if entry.attributes.modified.nanoseconds >= 1_000_000_000 {
        return refuse(PlanProblem::Time(entry.attributes.modified.nanoseconds));
    }
    xattr::check(entry)?;
    match &entry.kind {
        EntryKind::Symlink(target) => {
            let target = target.as_bytes();
            if target.is_empty() || target.len() > LONGEST_TARGET || target.contains(&0) {
                return refuse(PlanProblem::SymlinkTarget(target.len()));
            }
        }
        EntryKind::CharacterDevice(number) | EntryKind::BlockDevice(number) => {
            if number.major >= 1 << 12 || number.minor >= 1 << 20 {
                return refuse(PlanProblem::Device { major: number.major, minor: number.minor });
            }
        }
        EntryKind::Regular(content) => {
            let in_order = content.holes.windows(2).all(|pair| pair[0].end < pair[1].start);
            let whole = content.holes.iter().all(|hole| hole.start < hole.end && hole.end <= content.size);
            let as_long = match &content.source {
                Source::File(_) | Source::Part(_) => true,
                Source::Bytes(bytes) => bytes.len() as u64 == content.size,
            };
            if !in_order || !whole || !as_long {
                return refuse(PlanProblem::Content);
            }
            // Pages are counted with 32 bits.
            if blocks_of(content.size) > u64::from(u32::MAX) {
                return refuse(PlanProblem::TooLarge);
            }
        }
        EntryKind::Directory | EntryKind::Fifo | EntryKind::Socket | EntryKind::HardLink(_) => {}
    }
    Ok(())
}
