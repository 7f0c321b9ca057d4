//! Traces of prelink in a file, and whether a loader still uses them.
//!
//! prelink assigned every library an address and looked up all symbols in advance. The loader skipped relocation if
//! everything was still as prelink had found it. Support was deprecated in glibc 2.35 and removed in 2.36 (its
//! `NEWS`).

use coldstart_elf::{FileType, Tag};
use serde::Serialize;

use crate::object::Object;

/// Size of an entry of `DT_GNU_LIBLIST` (`Elf32_Lib`, the same in 64-bit files), in bytes.
const LIBRARY_ENTRY: u64 = 20;
/// `DT_GNU_LIBLISTSZ`.
const LIBRARY_LIST_SIZE: Tag = Tag(0x6fff_fdf7);

/// Traces of prelink.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prelink {
    /// When the file was prelinked: seconds since 1970 (`DT_GNU_PRELINKED`); 0 if prelink was told to omit it.
    pub unix_seconds: Option<u64>,
    /// Number of libraries it was prelinked against (`DT_GNU_LIBLIST`).
    pub library_count: u64,
    /// Whether the file contains the data to undo it (`.gnu.prelink_undo`).
    pub has_undo_section: bool,
    /// Whether a loader uses it.
    pub used_by: PrelinkUse,
    /// The reason, as a sentence.
    pub reason: String,
}

/// The users of prelink's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PrelinkUse {
    /// None.
    Nobody,
    /// glibc's loader up to 2.35, if everything is where prelink put it.
    GlibcUpTo235,
}

pub(super) fn prelink(object: &Object<'_>) -> Option<Prelink> {
    let unix_seconds = object.tag(Tag::GNU_PRELINKED);
    let list = object.tag(Tag::GNU_LIBLIST);
    let has_undo_section = object.file.section(".gnu.prelink_undo").is_some();
    if unix_seconds.is_none() && list.is_none() && !has_undo_section {
        return None;
    }
    let list_size = list.and_then(|_| object.tag(LIBRARY_LIST_SIZE)).unwrap_or(0);
    let (used_by, reason) = used_by(object, unix_seconds.is_some() || list.is_some());
    Some(Prelink {
        unix_seconds,
        library_count: list_size / LIBRARY_ENTRY,
        has_undo_section,
        used_by,
        reason: reason.to_owned(),
    })
}

fn used_by(object: &Object<'_>, is_marked: bool) -> (PrelinkUse, &'static str) {
    let is_movable = object.file.header().file_type == FileType::Dynamic;
    if !is_marked {
        (PrelinkUse::Nobody, "only the section for undoing it is left; no loader reads it")
    } else if object.dynamic.is_some() && is_movable && object.is_program() {
        let reason = "the kernel loads a position-independent program at another address than prelink assumed; \
                      glibc 2.36 and later ignore it anyway";
        (PrelinkUse::Nobody, reason)
    } else if is_movable {
        let reason = "glibc 2.36 and later ignore it; older ones use it if the library gets the address that it was \
                      prelinked for and the program was prelinked with this very file";
        (PrelinkUse::GlibcUpTo235, reason)
    } else {
        let reason = "glibc 2.36 and later ignore it; older ones use it if all libraries are the files that it was \
                      prelinked with, at the addresses that they had";
        (PrelinkUse::GlibcUpTo235, reason)
    }
}
