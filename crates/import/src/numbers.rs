//! Device and inode of files that a recording identifies only by path and build id (perf's option `--buildid-mmap`),
//! and build ids of local files.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use coldstart_analyse::kernel_number;
use coldstart_elf::{ElfFile, build_id};
use coldstart_sys::file_view::FileView;
use coldstart_sys::named_file::open_regular;

use super::bytes::Order;

/// The first inode number that we make up: no file system counts so far, and a database still holds it with a sign.
const MADE_UP: u64 = 1 << 62;

/// Numbers of files by path and build id.
#[derive(Debug)]
pub(super) struct Numbers {
    pub(super) order: Order,
    known: HashMap<(OsString, Vec<u8>), (u64, u64)>,
    /// Numbers from mappings, by path.
    pub(super) build_ids: HashMap<PathBuf, Vec<u8>>,
}

impl Numbers {
    pub(super) fn new(order: Order) -> Self {
        Self { order, known: HashMap::new(), build_ids: HashMap::new() }
    }

    /// Device and inode: those of the file that is here if it is the same, made-up ones if not. Memory without a file
    /// has zeros.
    pub(super) fn of(&mut self, path: &OsStr, id: &[u8]) -> (u64, u64) {
        if !path.as_bytes().starts_with(b"/") || path.as_bytes().starts_with(b"//") {
            return (0, 0);
        }
        let next = u64::try_from(self.known.len()).unwrap_or(u64::MAX);
        if let Some(&known) = self.known.get(&(path.to_owned(), id.to_vec())) {
            return known;
        }
        let here = || {
            let is_same = build_id_of(Path::new(path)).is_some_and(|here| here == id);
            let metadata = std::fs::metadata(path).ok().filter(|_| is_same)?;
            Some((kernel_number(metadata.dev()), metadata.ino()))
        };
        let numbers = here().unwrap_or((0, MADE_UP.saturating_add(next)));
        self.known.insert((path.to_owned(), id.to_vec()), numbers);
        if !id.is_empty() {
            self.build_ids.entry(PathBuf::from(path)).or_insert_with(|| id.to_vec());
        }
        numbers
    }
}

/// The build id of a file; `None` without one, and of what is not an ELF file.
pub(super) fn build_id_of(path: &Path) -> Option<Vec<u8>> {
    let view = FileView::map(open_regular(path).ok()?).ok()?;
    let id = build_id(&ElfFile::parse(view.bytes()).ok()?)?.bytes().to_vec();
    (!view.shrank()).then_some(id)
}
