//! Segment alignment, and the kernels that can map the file.

use std::ops::Range;

use coldstart_elf::{ElfFile, Segment};
use serde::Serialize;

use super::segments::{LoadSegment, flags};
use crate::file_pages::{round_down, round_up};

const LARGE_PAGE: u64 = 64 << 10;
const HUGE_PAGE: u64 = 2 << 20;

/// The alignment of a file's segments.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Alignment {
    /// The largest alignment of a mapped segment, in bytes.
    pub largest_alignment_bytes: u64,
    /// Unused bytes of the file between mapped segments, most of them for alignment.
    pub padding_bytes: u64,
    /// Whether it can be loaded with 64 KiB pages, as on many ARM and PowerPC servers.
    pub loads_with_64_kib_pages: bool,
    /// Why not, a sentence each.
    pub obstacles_to_64_kib_pages: Vec<String>,
    /// Whether all executable segments are in file and memory so that huge pages of 2 MiB can hold them.
    pub is_huge_page_aligned: bool,
}

pub(super) fn alignment(file: &ElfFile<'_>, segments: &[LoadSegment]) -> Alignment {
    let obstacles = obstacles(file);
    let mut executable = file.load_segments().filter(|segment| segment.is_executable()).peekable();
    Alignment {
        largest_alignment_bytes: file.load_segments().map(|segment| segment.alignment).max().unwrap_or(0),
        padding_bytes: segments.iter().map(|segment| segment.padding_before_bytes).fold(0, u64::saturating_add),
        loads_with_64_kib_pages: obstacles.is_empty(),
        obstacles_to_64_kib_pages: obstacles,
        is_huge_page_aligned: executable.peek().is_some()
            && executable.all(|segment| segment.alignment >= HUGE_PAGE && is_congruent(segment, HUGE_PAGE)),
    }
}

/// Whether its file offset and address are congruent modulo the page size.
fn is_congruent(segment: &Segment, page: u64) -> bool {
    segment.offset.0.abs_diff(segment.address.0).is_multiple_of(page)
}

/// glibc refuses an alignment below the page size (`elf/dl-load.c`, "not page-aligned"); the kernel maps whole pages
/// of the file; and if two segments share a page, one of them gets the other's bytes or flags.
fn obstacles(file: &ElfFile<'_>) -> Vec<String> {
    let mut obstacles = Vec::new();
    let mut last: Option<(Range<u64>, &Segment)> = None;
    for segment in file.load_segments() {
        let address = segment.address;
        if segment.alignment < LARGE_PAGE {
            obstacles.push(format!("the segment at address {address} is aligned to only {} bytes", segment.alignment));
        }
        if !is_congruent(segment, LARGE_PAGE) {
            obstacles.push(format!("the segment at address {address} has different page offsets in file and memory"));
        }
        let pages = round_down(address.0, LARGE_PAGE)..round_up(segment.end().0, LARGE_PAGE);
        if let Some((before, other)) = &last
            && pages.start < before.end
            && other.flags != segment.flags
        {
            obstacles.push(format!(
                "the segments at addresses {} ({}) and {address} ({}) share a page",
                other.address,
                flags(other),
                flags(segment)
            ));
        }
        last = Some((pages, segment));
    }
    obstacles
}
