//! The objects of a start, opened after its end: descriptions for the trace, and the code of instructions for which
//! the kernel did not record whether they wrote.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use coldstart_profile::FileIdentity;
use coldstart_profile::trace::{FileId, TracedFile, TracedObject};
use coldstart_symbols::{ObjectFile, TouchedPages, describe};
use coldstart_sys::private_mounts::{PrivateMounts, outside};
use rayon::prelude::*;

use super::files::{FileSeen, kernel_number};
use super::joined::{FileUse, Joined};

/// Files that were mapped like objects and are unchanged.
pub struct OpenedObjects {
    opened: BTreeMap<FileId, (ObjectFile, FileUse)>,
    /// What `writes` has answered: a few instructions of the loader do most of the touches.
    decoded: RefCell<HashMap<(FileId, u64), Option<bool>>>,
}

impl OpenedObjects {
    /// Opens those whose path, according to `is_same`, still refers to the mapped file; of a start in a private view, by `mounts`.
    pub fn open(
        joined: &Joined,
        mounts: Option<&PrivateMounts>,
        is_same: &mut dyn FnMut(FileId, &TracedFile) -> bool,
    ) -> Self {
        let mut opened = BTreeMap::new();
        for (id, used) in joined.uses() {
            let file = usize::try_from(id.0).ok().and_then(|place| joined.files.get(place));
            let Some(file) = file.filter(|file| used.as_object && is_same(id, file)) else { continue };
            if let Ok(object) = ObjectFile::open(outside(mounts, &file.path)) {
                opened.insert(id, (object, used));
            }
        }
        Self { opened, decoded: RefCell::default() }
    }

    /// The description of each for the trace.
    pub fn describe(&self) -> Vec<TracedObject> {
        let described = |(&file, (object, used)): (&FileId, &(ObjectFile, FileUse))| {
            describe(object, file, &touched(object, used)).ok()
        };
        // The program is over: the processors have nothing else to do.
        self.opened.par_iter().filter_map(described).collect()
    }

    /// Whether an instruction writes to memory, by its address without load bias; `None` if unknown.
    pub fn writes(&self, file: FileId, address: u64) -> Option<bool> {
        *self.decoded.borrow_mut().entry((file, address)).or_insert_with(|| self.decode(file, address))
    }

    fn decode(&self, file: FileId, address: u64) -> Option<bool> {
        let (object, _) = self.opened.get(&file)?;
        let access = object.access_at(address)?;
        (access.reads != access.writes).then_some(access.writes)
    }
}

/// Whether a file's path still refers to its inode. On btrfs and overlayfs the device number differs; only the inode
/// is compared. `mounts` is the private view of the start, if it had one.
pub fn is_still_there(file: &TracedFile, mounts: Option<&PrivateMounts>) -> bool {
    std::fs::metadata(outside(mounts, &file.path))
        .is_ok_and(|metadata| metadata.ino() == file.inode && metadata.is_file())
}

/// The file system's data for a path; `mounts` is the private view in which the path was used, if it was one.
pub fn file_seen(path: &Path, mounts: Option<&PrivateMounts>) -> Option<FileSeen> {
    let path = std::fs::canonicalize(path).ok()?;
    let metadata = std::fs::metadata(outside(mounts, &path)).ok()?;
    let size = i64::try_from(metadata.size()).unwrap_or(i64::MAX);
    Some(FileSeen {
        path,
        device: kernel_number(metadata.dev()),
        inode: metadata.ino(),
        identity: FileIdentity::from_stat(size, metadata.mtime(), metadata.mtime_nsec()),
    })
}

fn touched(object: &ObjectFile, used: &FileUse) -> TouchedPages {
    let mut touched = TouchedPages::new();
    if let Some(first) = object.first_page() {
        used.zero_filled.iter().for_each(|page| touched.add_zero_filled_page(first.saturating_add(*page)));
    }
    used.pages.iter().for_each(|&page| touched.add_file_page(page));
    used.addresses.iter().for_each(|&address| touched.add_code(address));
    used.instructions.iter().for_each(|&offset| touched.add_instruction(offset));
    touched
}
