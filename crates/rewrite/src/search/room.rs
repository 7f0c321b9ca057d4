//! Space for added data: after all loaded data, in a longer or a new segment.

use coldstart_elf::{DynamicTable, ElfFile, FileOffset, Position, Segment, SegmentKind, Tag, Vaddr, VaddrSpan};
use serde::Serialize;

use super::entries::Content;
use crate::anatomy::preface::{Preface, give_way};
use crate::anatomy::tables::{self, FrontRun, LoaderTable};
use crate::anatomy::{PAGE, check_alignment, program_header_range, records, tail};
use crate::refusal::Refusal;

/// `PF_X` and `PF_W`.
const EXECUTE: u32 = 1;
const WRITE: u32 = 2;
const READ: u32 = 4;
/// Alignment of the added data.
const ALIGNMENT: u64 = 16;

/// The source of the space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SearchRoom {
    /// The last segment grew at the end.
    SegmentGrown,
    /// A new segment; its program header replaced one without meaning.
    NewSegmentInstead,
    /// A new segment; the program header table grew into the space that the strings left.
    NewSegment,
}

/// The new layout.
#[derive(Debug)]
pub(super) struct Room {
    /// The old strings.
    pub(super) strings: LoaderTable,
    /// Index of the last segment, if it grows; otherwise there is a new one.
    pub(super) grows: Option<usize>,
    /// The segment with the added data: the new one, or the last one after growing.
    pub(super) segment: Segment,
    /// Indices of program headers without meaning that are replaced.
    pub(super) instead: Vec<usize>,
    /// How the program header table grows.
    pub(super) grown: Option<Grown>,
    /// Address of the new dynamic table, if it moves.
    pub(super) dynamic: Option<VaddrSpan>,
    /// Address of the loaded note.
    pub(super) note: Option<VaddrSpan>,
    /// Address of the new strings.
    pub(super) new_strings: VaddrSpan,
    /// File offset of the added data.
    pub(super) offset: FileOffset,
    /// The file offset in the original that it follows.
    pub(super) behind: FileOffset,
}

/// A growing program header table.
#[derive(Debug)]
pub(super) struct Grown {
    /// The data between it and the loader's tables.
    pub(super) preface: Preface,
    /// The tables from there up to the strings.
    pub(super) run: FrontRun,
    /// The tables before the strings, with their new addresses.
    pub(super) places: Vec<(LoaderTable, Vaddr)>,
}

impl Room {
    /// Address of the added data.
    pub(super) fn start(&self) -> Vaddr {
        let all = [self.dynamic, self.note, Some(self.new_strings)];
        VaddrSpan::around(all.into_iter().flatten()).unwrap_or_default().start()
    }

    /// File offset for an address in the added data.
    pub(super) fn offset_of(&self, address: Vaddr) -> Result<FileOffset, Refusal> {
        Ok(self.offset.plus(address.since(self.start())?)?)
    }

    /// Number of added program headers: for a new segment and the loaded note.
    pub(super) fn added_headers(&self) -> usize {
        [self.grows.is_none(), self.note.is_some()].into_iter().filter(|added| *added).count()
    }

    pub(super) fn summary(&self) -> SearchRoom {
        match (self.grows, &self.grown) {
            (Some(_), _) => SearchRoom::SegmentGrown,
            (None, None) => SearchRoom::NewSegmentInstead,
            (None, Some(_)) => SearchRoom::NewSegment,
        }
    }
}

/// Finds space.
pub(super) fn find(file: &ElfFile<'_>, dynamic: &DynamicTable<'_>, content: &Content) -> Result<Room, Refusal> {
    let strings = tables::find(file, dynamic, Tag::STRTAB)?.filter(|found| found.memory.size() == content.old_strings);
    let strings = strings.ok_or(Refusal::TableIsNoSection {
        table: "DT_STRTAB",
        address: Vaddr(dynamic.get(Tag::STRTAB).unwrap_or(0)),
        hint: "",
    })?;
    let loads: Vec<(usize, &Segment)> =
        file.segments().iter().enumerate().filter(|(_, segment)| segment.kind == SegmentKind::Load).collect();
    let (last_number, last) = *loads.last().ok_or_else(|| Refusal::Layout("it has no loadable segment".to_owned()))?;
    let behind = tail::loaded_end(file)?;
    let wanted = READ | if content.dynamic_moves { WRITE } else { 0 };
    let can_grow = last.memory_size == last.file_size
        && last.file_size > 0
        && last.flags & wanted == wanted
        && last.flags & EXECUTE == 0
        && last.file_span()?.end() == behind;
    let grows = can_grow.then_some(last_number);
    let alignment = loads.iter().map(|(_, load)| load.alignment).max().unwrap_or(1);
    if alignment > 1 && !alignment.is_power_of_two() {
        return Err(Refusal::Layout(format!("an alignment of {alignment} bytes is not a power of two")));
    }
    let last_end = last.memory_span()?.end();
    let (address, offset) = match grows {
        Some(_) => {
            let address = last_end.aligned_up(ALIGNMENT)?;
            (address, behind.plus(address.since(last_end)?)?)
        }
        None => {
            let offset = behind.aligned_up(ALIGNMENT)?;
            // Segments must not share a page, at any page size up to the alignment.
            let page = alignment.max(PAGE);
            (last_end.aligned_up(page)?.plus(offset.since(offset.aligned_down(page))?)?, offset)
        }
    };
    let mut at = address;
    let mut place = |size: u64, alignment: u64| {
        let span = VaddrSpan::new(at.aligned_up(alignment)?, size)?;
        at = span.end();
        Ok::<_, Refusal>(span)
    };
    let entry_size = file.encoding().word_size().wrapping_mul(2);
    // Sizes of what is in memory: they do not wrap.
    let table_size = (content.capacity as u64).wrapping_mul(entry_size);
    let table = if content.dynamic_moves { Some(place(table_size, ALIGNMENT)?) } else { None };
    let note = content.note.as_ref().map(|note| place(note.bytes.len() as u64, 4)).transpose()?;
    let new_strings = place(content.old_strings.wrapping_add(content.added_strings.len() as u64), 1)?;
    let end = new_strings.end();
    if end.0 == u64::MAX || (file.encoding().word_size() == 4 && end.0 > u64::from(u32::MAX)) {
        return Err(Refusal::Layout("no address is left after its last segment".to_owned()));
    }
    let segment = match grows {
        Some(_) => {
            let size = end.since(last.address)?;
            Segment { file_size: size, memory_size: size, ..*last }
        }
        None => {
            let size = end.since(address)?;
            Segment {
                kind: SegmentKind::Load,
                flags: wanted,
                offset,
                address,
                file_size: size,
                memory_size: size,
                alignment: alignment.max(PAGE),
            }
        }
    };
    let mut room = Room {
        strings,
        grows,
        segment,
        instead: Vec::new(),
        grown: None,
        dynamic: table,
        note,
        new_strings,
        offset,
        behind,
    };
    (room.instead, room.grown) = header_room(file, dynamic, &strings, room.added_headers())?;
    Ok(room)
}

/// Finds space for this many more program headers.
fn header_room(
    file: &ElfFile<'_>,
    dynamic: &DynamicTable<'_>,
    strings: &LoaderTable,
    count: usize,
) -> Result<(Vec<usize>, Option<Grown>), Refusal> {
    let is_library = file.segment(SegmentKind::Interpreter).is_none();
    let says_nothing = |segment: &Segment| match segment.kind {
        SegmentKind::Other(kind) => kind == 0,
        // Only a program's own is looked at (glibc, elf/rtld.c).
        SegmentKind::ProgramHeaders => is_library,
        _ => false,
    };
    let instead: Vec<usize> = file
        .segments()
        .iter()
        .enumerate()
        .filter(|(_, segment)| says_nothing(segment))
        .map(|(number, _)| number)
        .take(count)
        .collect();
    // No more than needed.
    let missing = count.abs_diff(instead.len());
    if missing == 0 {
        return Ok((instead, None));
    }
    // `PN_XNUM` begins a different way to count.
    if file.segments().len().wrapping_add(missing) >= 0xffff {
        return Err(Refusal::NoHeaderRoom);
    }
    let relocations = [Tag::RELA, Tag::REL].into_iter().find(|tag| dynamic.get(*tag).is_some()).unwrap_or(Tag::RELA);
    let all = tables::all(file, dynamic, relocations)?;
    let mut run = tables::run_around(file, strings, &all)?;
    let place = run.tables.iter().position(|table| table.tag == Tag::STRTAB).ok_or(Refusal::NoHeaderRoom)?;
    run.tables.truncate(place.wrapping_add(1));
    let size = records(FileOffset(0), file.header().segment_entry_size, missing)?.size();
    let preface = give_way(file, &run, program_header_range(file)?.end(), size)?.ok_or(Refusal::NoHeaderRoom)?;
    let mut at = run.memory_span().start().plus(preface.run_moves_by)?;
    let mut places = Vec::new();
    for table in run.tables.iter().take(place) {
        check_alignment(table.alignment)?;
        let stays = preface.run_moves_by == 0;
        let start = if stays { table.memory.start() } else { at.aligned_up(table.alignment)? };
        at = start.plus(table.memory.size())?;
        places.push((*table, start));
    }
    // The strings have left; data before them may extend to their old end.
    if at > strings.memory.end() {
        return Err(Refusal::NoHeaderRoom);
    }
    Ok((instead, Some(Grown { preface, run, places })))
}
