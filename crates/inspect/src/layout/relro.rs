//! The part of memory that is made read-only after relocation (`PT_GNU_RELRO`).

use coldstart_elf::{ElfFile, SegmentKind};
use serde::Serialize;

use crate::file_pages::{PAGE, round_down};

/// What is made read-only after relocation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Relro {
    /// Its address, before the load bias.
    pub address: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// Whether it ends on a page boundary, as linkers intend.
    pub ends_on_page_boundary: bool,
    /// Bytes at the end that stay writable, because the protection ends at the page boundary below (glibc
    /// `elf/dl-reloc.c`, `_dl_protect_relro`).
    pub unprotected_bytes: u64,
}

pub(super) fn relro(file: &ElfFile<'_>) -> Option<Relro> {
    let segment = file.segment(SegmentKind::Relro)?;
    let end = segment.end().0;
    let unprotected = end.saturating_sub(round_down(end, PAGE));
    Some(Relro {
        address: segment.address.0,
        bytes: segment.memory_size,
        ends_on_page_boundary: unprotected == 0,
        unprotected_bytes: unprotected.min(segment.memory_size),
    })
}
