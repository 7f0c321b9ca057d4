//! How a file is laid out, as far as a start pays for it: what is mapped, what lies where, and what is there twice or in
//! vain.
//!
//! Everything here is a fact of the file. What the facts cost, and what to do about them, is said elsewhere.

mod alignment;
mod dynamic;
mod hash;
mod names;
mod packed;
mod prelink;
mod relro;
mod segments;
mod special;
mod versions;
pub(crate) mod zeros;

use coldstart_elf::{ElfFile, Segment};
use serde::Serialize;

use crate::object::Object;

pub use alignment::Alignment;
pub use dynamic::{Binding, DynamicLayout};
pub use hash::{GnuHash, HashChains, HashTables, SysvHash};
pub use names::LoaderNames;
pub use packed::ExistingPacking;
pub use prelink::{Prelink, PrelinkUse};
pub use relro::Relro;
pub use segments::LoadSegment;
pub use special::{CopiedVariable, CopyRelocations, Special, Stack, TextRelocations};
pub use versions::{NeededVersions, Versions};
pub use zeros::ZeroFill;

/// The layout of a file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Layout {
    /// The segments that are mapped, in the order of the program headers.
    pub segments: Vec<LoadSegment>,
    /// Parts of memory that begin as zeros and have no bytes in the file (`.bss`).
    pub zero_fill: Vec<ZeroFill>,
    /// The dynamic table; none in a static program.
    pub dynamic: Option<DynamicLayout>,
    /// The part that is made read-only after relocation; none when the file asks for none (`PT_GNU_RELRO` is missing).
    pub relro: Option<Relro>,
    /// The tables in which symbols are looked up.
    pub hash: HashTables,
    /// Versions that are needed and defined.
    pub versions: Versions,
    /// Names that the loader works with.
    pub names: LoaderNames,
    /// What the segments are aligned to.
    pub alignment: Alignment,
    /// What is rare, and costs.
    pub special: Special,
    /// What prelink left behind; none when the file was not prelinked.
    pub prelink: Option<Prelink>,
    /// Ways in which its relocations are packed already.
    pub packings: Vec<ExistingPacking>,
    /// What cannot be read, a sentence each.
    pub problems: Vec<String>,
}

/// Describes the layout of an object.
pub fn layout(object: &Object<'_>) -> Layout {
    let mut problems: Vec<String> = cut_off(&object.file).collect();
    let segments = segments::segments(&object.file);
    Layout {
        zero_fill: zeros::zero_fill(object),
        dynamic: dynamic::dynamic(object),
        relro: relro::relro(&object.file),
        hash: hash::hash(object, &mut problems),
        versions: versions::versions(object, &mut problems),
        names: names::names(object, &mut problems),
        alignment: alignment::alignment(&object.file, &segments),
        special: special::special(object),
        prelink: prelink::prelink(object),
        packings: packed::packings(object),
        segments,
        problems,
    }
}

/// A sentence for each mapped segment that reaches past the end of the file: a program that comes there is killed.
fn cut_off(file: &ElfFile<'_>) -> impl Iterator<Item = String> {
    let past_the_end = |segment: &&Segment| segment.offset.0.saturating_add(segment.file_size) > file.size();
    file.load_segments().filter(past_the_end).map(|segment| {
        format!(
            "the file has been cut off: the segment at address {} ({} bytes at file offset {}) reaches past its end ({} bytes)",
            segment.address,
            segment.file_size,
            segment.offset,
            file.size()
        )
    })
}

/// Bytes of the file as text; what is no UTF-8 is replaced.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
