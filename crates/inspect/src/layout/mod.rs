//! The layout of a file as far as it costs start-up time: what is mapped, where it is, and what is redundant.
//!
//! Everything here is a fact of the file. Costs and fixes are in `findings`.

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
    /// Zero-filled memory without bytes in the file (`.bss`).
    pub zero_fill: Vec<ZeroFill>,
    /// The dynamic table; none in a static program.
    pub dynamic: Option<DynamicLayout>,
    /// The part that is made read-only after relocation; none without `PT_GNU_RELRO`.
    pub relro: Option<Relro>,
    /// The symbol hash tables.
    pub hash: HashTables,
    /// Needed and defined versions.
    pub versions: Versions,
    /// Names that the loader uses.
    pub names: LoaderNames,
    /// The alignment of the segments.
    pub alignment: Alignment,
    /// Rare features with a cost.
    pub special: Special,
    /// The traces of prelink; none if the file was not prelinked.
    pub prelink: Option<Prelink>,
    /// The packed relocation formats in use.
    pub packings: Vec<ExistingPacking>,
    /// Parts that cannot be read, a sentence each.
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

/// A sentence for each mapped segment that extends past the end of the file: accessing that part kills the program.
fn cut_off(file: &ElfFile<'_>) -> impl Iterator<Item = String> {
    let past_the_end = |segment: &&Segment| segment.offset.0.saturating_add(segment.file_size) > file.size();
    file.load_segments().filter(past_the_end).map(|segment| {
        format!(
            "the file is truncated: the segment at address {} ({} bytes at file offset {}) extends past its end ({} bytes)",
            segment.address,
            segment.file_size,
            segment.offset,
            file.size()
        )
    })
}

/// Bytes of the file as text; what is not UTF-8 is replaced.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
