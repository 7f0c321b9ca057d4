//! Layers one over the other: the files that a container sees.
//!
//! The rules are those of the specification's `layer.md`. A whiteout hides what lower layers have, never what its own layer has, wherever in
//! the layer it stands. Names lead through symbolic links of the image (`lib` to `usr/lib`) as they do when a layer is extracted in its
//! root; what would lead out of the root is refused.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::ops::Bound;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use coldstart_image::links::{FollowError, follow};
use coldstart_image::{Attributes, Content, Entry, EntryKind, FilePart, Source};

use crate::error::OciProblem;
use crate::tarball::{Entries, TarEntry, TarKind};

const WHITEOUT: &[u8] = b".wh.";
const OPAQUE: &[u8] = b".wh..wh..opq";
/// AUFS' own files, which are no files of the container.
const OF_AUFS: &[u8] = b".wh..wh.";

/// The files of some layers.
pub(crate) struct Tree {
    names: BTreeMap<PathBuf, Name>,
    files: Vec<(Attributes, EntryKind)>,
    layer: u32,
}

#[derive(Clone, Copy)]
struct Name {
    file: usize,
    /// The layer that has it last.
    layer: u32,
}

impl Tree {
    /// Nothing but a root directory.
    pub(crate) fn new() -> Self {
        let mut tree = Self { names: BTreeMap::new(), files: Vec::new(), layer: 0 };
        tree.put(PathBuf::from("/"), directory(), EntryKind::Directory);
        tree
    }

    /// Lays a layer over the others. `watch` is called for each entry.
    pub(crate) fn add_layer(
        &mut self,
        tar: File,
        blob: &Path,
        watch: &mut dyn FnMut() -> Result<(), OciProblem>,
    ) -> Result<(), OciProblem> {
        self.layer = self.layer.saturating_add(1);
        let (file, path): (Arc<File>, Arc<Path>) = (Arc::new(tar), Arc::from(blob));
        let mut entries = Entries::new(&file)?;
        while let Some(entry) = entries.next()? {
            watch()?;
            let refused = |problem: String| OciProblem::Entry {
                name: String::from_utf8_lossy(&entry.name).chars().take(300).collect(),
                offset: entry.offset,
                problem,
            };
            self.add(&entry, &file, &path).map_err(refused)?;
        }
        Ok(())
    }

    /// The entries of an image.
    pub(crate) fn into_entries(self) -> Vec<Entry> {
        let mut first: HashMap<usize, PathBuf> = HashMap::new();
        let mut entries = Vec::with_capacity(self.names.len());
        for (path, name) in self.names {
            let Some((attributes, kind)) = self.files.get(name.file) else { continue };
            let kind = match first.get(&name.file) {
                Some(first) => EntryKind::HardLink(first.clone()),
                None => {
                    first.insert(name.file, path.clone());
                    kind.clone()
                }
            };
            entries.push(Entry { path, attributes: attributes.clone(), kind });
        }
        entries
    }

    fn add(&mut self, entry: &TarEntry, file: &Arc<File>, blob: &Arc<Path>) -> Result<(), String> {
        let attributes = Attributes {
            mode: entry.mode,
            user: entry.user,
            group: entry.group,
            modified: entry.modified,
            xattrs: entry.xattrs.clone().into(),
        };
        let Some((parent, name)) = self.place(&entry.name)? else {
            // The root itself.
            if entry.kind != TarKind::Directory {
                return Err("is the root, and not a directory".to_owned());
            }
            self.put(PathBuf::from("/"), attributes, EntryKind::Directory);
            return Ok(());
        };
        if name.as_bytes().starts_with(WHITEOUT) {
            return self.whiteout(&parent, name.as_bytes());
        }
        let path = parent.join(&name);
        let kind = match &entry.kind {
            TarKind::HardLink(target) => return self.hard_link(path, target),
            TarKind::Directory => EntryKind::Directory,
            TarKind::Regular(offset, size) => EntryKind::Regular(Content {
                size: *size,
                origin: None,
                holes: Vec::new(),
                source: Source::Part(FilePart { file: Arc::clone(file), path: Arc::clone(blob), offset: *offset }),
            }),
            TarKind::Symlink(target) => EntryKind::Symlink(OsString::from_vec(target.clone())),
            TarKind::CharacterDevice(number) => EntryKind::CharacterDevice(*number),
            TarKind::BlockDevice(number) => EntryKind::BlockDevice(*number),
            TarKind::Fifo => EntryKind::Fifo,
        };
        if kind != EntryKind::Directory || !self.is_directory(&path) {
            self.remove_below(&path, None);
        }
        self.put(path, attributes, kind);
        Ok(())
    }

    /// The directory of a name, without links, and the name in it; `None` for the root. Missing directories are made.
    fn place(&mut self, name: &[u8]) -> Result<Option<(PathBuf, OsString)>, String> {
        let path = Path::new(OsStr::from_bytes(name));
        if name.contains(&0) {
            return Err("has a NUL in its name".to_owned());
        }
        if name.split(|byte| *byte == b'/').any(|part| part == b"..") {
            return Err("leads out of its directory by `..`".to_owned());
        }
        let Some(last) = path.file_name() else { return Ok(None) };
        let parent = self.follow(path.parent().unwrap_or(Path::new("/")))?;
        self.make_directories(&parent)?;
        Ok(Some((parent, last.to_owned())))
    }

    /// Where a path leads by the links of the image.
    fn follow(&self, path: &Path) -> Result<PathBuf, String> {
        let mut target_of = |path: &Path| {
            Ok::<_, ()>(match self.kind(path) {
                Some(EntryKind::Symlink(target)) => Some(target.clone()),
                _ => None,
            })
        };
        match follow(path, &mut target_of) {
            Ok(followed) if followed.is_above_root => Err("leads out of the image by a symbolic link".to_owned()),
            Ok(followed) => Ok(followed.path),
            Err(FollowError::TooManyLinks | FollowError::Look(())) => {
                Err("leads through too many symbolic links".to_owned())
            }
        }
    }

    fn make_directories(&mut self, path: &Path) -> Result<(), String> {
        let missing: Vec<PathBuf> =
            path.ancestors().take_while(|path| !self.names.contains_key(*path)).map(Path::to_owned).collect();
        let known = path.ancestors().nth(missing.len()).unwrap_or(path);
        if !self.is_directory(known) {
            return Err(format!("leads through `{}`, which is not a directory", known.display()));
        }
        for path in missing.into_iter().rev() {
            self.put(path, directory(), EntryKind::Directory);
        }
        Ok(())
    }

    fn hard_link(&mut self, path: PathBuf, target: &[u8]) -> Result<(), String> {
        let shown = String::from_utf8_lossy(target).into_owned();
        let place = self.place(target).map_err(|problem| format!("is a hard link to `{shown}`, which {problem}"))?;
        let target = place.map(|(parent, name)| parent.join(name)).unwrap_or_default();
        let found = self.names.get(&target).map(|name| name.file);
        match found.filter(|_| !self.is_directory(&target)) {
            Some(_) if target == path => Ok(()),
            Some(file) => {
                self.remove_below(&path, None);
                self.names.insert(path, Name { file, layer: self.layer });
                Ok(())
            }
            None => Err(format!("is a hard link to `{shown}`, which is not a file of the image")),
        }
    }

    fn whiteout(&mut self, parent: &Path, name: &[u8]) -> Result<(), String> {
        if name == OPAQUE {
            self.remove_below(parent, Some(self.layer));
            return Ok(());
        }
        if name.starts_with(OF_AUFS) {
            return Ok(());
        }
        let hidden = name.strip_prefix(WHITEOUT).unwrap_or_default();
        if matches!(hidden, b"" | b"." | b"..") {
            return Err("is a whiteout of nothing".to_owned());
        }
        let path = parent.join(OsStr::from_bytes(hidden));
        self.remove_below(&path, Some(self.layer));
        self.remove_if_lower(&path);
        Ok(())
    }

    /// Removes what is below a path: all, or what layers below this one have. A directory stays while something is in it.
    fn remove_below(&mut self, path: &Path, below: Option<u32>) {
        let range = (Bound::Excluded(path), Bound::Unbounded);
        let names = self.names.range::<Path, _>(range).map(|(name, _)| name);
        let inside: Vec<PathBuf> = names.take_while(|name| name.starts_with(path)).cloned().collect();
        for name in inside.into_iter().rev() {
            match below {
                Some(_) => self.remove_if_lower(&name),
                None => drop(self.names.remove(&name)),
            }
        }
    }

    fn remove_if_lower(&mut self, path: &Path) {
        let range = (Bound::Excluded(path), Bound::Unbounded);
        let has_names = self.names.range::<Path, _>(range).next().is_some_and(|(name, _)| name.starts_with(path));
        if !has_names && self.names.get(path).is_some_and(|name| name.layer < self.layer) {
            self.names.remove(path);
        }
    }

    fn put(&mut self, path: PathBuf, attributes: Attributes, kind: EntryKind) {
        self.files.push((attributes, kind));
        self.names.insert(path, Name { file: self.files.len().saturating_sub(1), layer: self.layer });
    }

    fn kind(&self, path: &Path) -> Option<&EntryKind> {
        Some(&self.files.get(self.names.get(path)?.file)?.1)
    }

    fn is_directory(&self, path: &Path) -> bool {
        self.kind(path) == Some(&EntryKind::Directory)
    }
}

/// A directory that no layer describes.
fn directory() -> Attributes {
    Attributes { mode: 0o755, ..Attributes::default() }
}
