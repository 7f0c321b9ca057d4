//! Files, and those of them that are ELF objects.

use coldstart_profile::trace::figures::{Figures, PageCounts, SectionFigures, SumOf};
use coldstart_profile::trace::{FileCategory, FileId, ObjectSection, ObjectSegment, Trace, TracedObject};
use serde::Serialize;

use crate::figures::FileNumbers;
use crate::page::columns::{EventGroups, Symbols};
use crate::page::words;
use crate::section_class::section_class;

/// A file.
#[derive(Serialize)]
pub(super) struct FileHead<'a> {
    path: String,
    category: FileCategory,
    size: Option<u64>,
    events: (usize, usize),
    figures: Option<FileHeadNumbers>,
    object: Option<ObjectHead<'a>>,
}

/// What happened to it, in bytes and counts; `None` where that was not recorded.
#[derive(Serialize)]
struct FileHeadNumbers {
    touched: Option<u64>,
    read: Option<u64>,
    filled: Option<u64>,
    wasted: Option<u64>,
    requests: Option<u64>,
    major: Option<u64>,
    touches: Option<u64>,
    functions: Option<u64>,
}

/// What is known of it as an ELF object.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ObjectHead<'a> {
    soname: Option<&'a str>,
    build_id: Option<&'a str>,
    segments: Vec<SegmentHead>,
    sections: Vec<SectionHead<'a>>,
    symbols: (usize, usize),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SegmentHead {
    address: u64,
    offset: u64,
    file_size: u64,
    memory_size: u64,
    flags: u32,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SectionHead<'a> {
    name: &'a str,
    class: &'static str,
    address: u64,
    offset: u64,
    size: u64,
    zero_filled: bool,
    pages: Option<SectionPages>,
}

#[derive(Serialize)]
struct SectionPages {
    all: u64,
    touched: u64,
    written: u64,
    executed: u64,
}

/// All files of a trace, in their order.
pub(super) fn files<'a>(
    trace: &'a Trace,
    figures: &Figures,
    groups: &EventGroups,
    symbols: &Symbols<'a>,
) -> Vec<FileHead<'a>> {
    let files = (0u32..).zip(&trace.files).map(|(place, file)| {
        let id = FileId(place);
        let of_file = figures.file(id);
        FileHead {
            path: words::path(&file.path),
            category: file.category,
            size: file.identity.map(|identity| identity.size),
            events: groups.of_file(usize::try_from(place).unwrap_or(usize::MAX)),
            figures: of_file.map(|_| numbers(FileNumbers::of(id, figures))),
            object: symbols.object(id).map(|object| {
                let touches = of_file.filter(|_| figures.basis.has(SumOf::Touches));
                object_head(object, symbols.of_file(id), touches.map_or(&[], |figures| &figures.sections))
            }),
        }
    });
    files.collect()
}

/// Pages as bytes.
fn numbers(numbers: FileNumbers) -> FileHeadNumbers {
    let bytes = |pages: Option<u64>| pages.map(PageCounts::bytes);
    FileHeadNumbers {
        touched: bytes(numbers.pages_touched),
        read: bytes(numbers.pages_read),
        filled: bytes(numbers.pages_filled),
        wasted: bytes(numbers.pages_wasted),
        requests: numbers.requests,
        major: numbers.major_touches,
        touches: numbers.touches,
        functions: numbers.functions,
    }
}

fn object_head<'a>(object: &'a TracedObject, symbols: (usize, usize), figures: &[SectionFigures]) -> ObjectHead<'a> {
    let sections = object.sections.iter().enumerate().map(|(place, section)| {
        // They are in the order of sections.
        let found = figures.binary_search_by_key(&place, |figures| figures.section).ok();
        section_head(section, object, found.and_then(|found| figures.get(found)))
    });
    ObjectHead {
        soname: object.soname.as_deref(),
        build_id: object.build_id.as_deref(),
        segments: object.segments.iter().map(segment_head).collect(),
        sections: sections.collect(),
        symbols,
    }
}

fn segment_head(segment: &ObjectSegment) -> SegmentHead {
    SegmentHead {
        address: segment.address,
        offset: segment.offset,
        file_size: segment.file_size,
        memory_size: segment.memory_size,
        flags: segment.flags,
    }
}

fn section_head<'a>(
    section: &'a ObjectSection,
    object: &TracedObject,
    figures: Option<&SectionFigures>,
) -> SectionHead<'a> {
    SectionHead {
        name: &section.name,
        class: section_class(section, object),
        address: section.address,
        offset: section.offset,
        size: section.size,
        zero_filled: section.is_zero_filled,
        pages: figures.map(|figures| SectionPages {
            all: figures.pages,
            touched: figures.touched,
            written: figures.written,
            executed: figures.executed,
        }),
    }
}
