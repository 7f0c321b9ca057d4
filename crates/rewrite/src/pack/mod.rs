//! Packing: converts relative relocations to RELR and removes the freed space from the file.
//!
//! | phase | file |
//! |---|---|
//! | check the file | `checks.rs` |
//! | the loader's tables, and the run of them around the relocations | `anatomy/tables.rs` |
//! | the relocations to convert, and the values of their words | `relatives.rs`, `words.rs` |
//! | the version that makes old loaders refuse the result | `versions.rs` |
//! | new places for the tables | `place.rs` |
//! | how the rest of the file moves | `room.rs`, `anatomy/preface.rs` |
//! | new headers, dynamic table, end of the file | `headers.rs`, `slots.rs`, `empty_function.rs`, `sections.rs`, `anatomy/tail.rs` |
//! | all of it as one script; the undo data | `assemble.rs`, `way_back.rs`, `../assembly.rs` |

mod assemble;
mod checks;
mod decision;
mod empty_function;
mod headers;
mod place;
mod relatives;
mod room;
mod sections;
mod slots;
mod versions;
mod way_back;
mod words;

use coldstart_elf::{DynamicEntry, DynamicTable, ElfFile, Position, RelocationTable, Tag, Vaddr};

pub use decision::{Caution, NothingToPack, PackDecision, PackOptions, PackPlan, PackSummary, Room, SlotSource, Stuck};

use crate::anatomy::PAGE;
use crate::anatomy::tables::{self, FrontRun, LoaderTable};
use crate::anatomy::tail;
use crate::note;
use crate::refusal::Refusal;
use assemble::{Layout, Parts};
use relatives::{Relatives, TableTags};
use room::Shape;
use versions::Guard;

/// Plans the packing of a file.
///
/// # Errors
/// The reason why it cannot be done safely.
pub fn plan_pack(file: &ElfFile<'_>, options: &PackOptions) -> Result<PackDecision, Refusal> {
    checks::check_file(file)?;
    let dynamic = file.dynamic()?.ok_or(Refusal::NoDynamicTable)?;
    checks::check_dynamic(file, &dynamic)?;
    let relocations = file.dynamic_relocations(&dynamic)?;
    if relocations.relr.is_some() || dynamic.get(Tag::RELR).is_some() {
        let by_us = note::read(file).is_some_and(|note| note.about.edits.iter().any(|edit| edit == assemble::EDIT));
        return nothing(if by_us { NothingToPack::PackedByUs } else { NothingToPack::AlreadyRelr });
    }
    let Some((table, tags)) = relatives::table_of(&relocations)? else { return nothing(NothingToPack::NoRelative) };
    if !relatives::has_relative(file, &table) {
        return nothing(NothingToPack::NoRelative);
    }
    checks::check_tags(&dynamic, &tags, file.encoding().machine)?;
    checks::check_libc(file, &dynamic, options)?;
    tail::check_gaps(file)?;
    let all = tables::all(file, &dynamic, tags.address)?;
    let run = tables::front_run(file, &section_of(&all, &table, &tags, &dynamic)?, &all)?;
    tables::check_pointers(file, &dynamic, &run, tags.address)?;
    let Some(relatives) = relatives::sort_out(file, (table, tags), &dynamic, &relocations, run.memory_span())? else {
        return nothing(NothingToPack::NoRelative);
    };
    let guard = versions::with_guard(file, &dynamic)?;
    let table_bytes = relatives.saved_bytes();
    let layout = match lay_out(file, run, &all, &relatives, &guard, options)? {
        Ok(layout) => layout,
        Err(stuck) => {
            let would_gain = table_bytes >= 2 * PAGE;
            return nothing(NothingToPack::NoGain { table_bytes, stuck: would_gain.then_some(stuck) });
        }
    };
    let wanted = slots::Wanted {
        relocations: &relatives.tags,
        leading: relatives.leading,
        is_empty: relatives.kept_bytes() == 0,
        new: new_entries(file, &layout),
        drop_syment: options.drop_syment,
    };
    let entries = slots::make_room(file, &dynamic, &wanted)?;
    let parts =
        Parts { file, dynamic: &dynamic, layout: &layout, relatives: &relatives, guard: &guard, entries: &entries };
    let plan = assemble::assemble(&parts, options)?;
    // The note and the new section headers take some of the saved space.
    if plan.summary.room != Room::Hole && plan.summary.size_after >= plan.summary.size_before {
        return nothing(NothingToPack::NoGain { table_bytes, stuck: None });
    }
    Ok(PackDecision::Pack(Box::new(plan)))
}

fn nothing(reason: NothingToPack) -> Result<PackDecision, Refusal> {
    Ok(PackDecision::Nothing(reason))
}

/// The section of the relocations, if it contains exactly the table, or the table and the PLT's.
fn section_of(
    all: &[LoaderTable],
    table: &RelocationTable<'_>,
    tags: &TableTags,
    dynamic: &DynamicTable<'_>,
) -> Result<LoaderTable, Refusal> {
    let found = all.iter().find(|found| found.tag == tags.address && found.memory.size() == table.size());
    found.copied().ok_or_else(|| Refusal::TableIsNoSection {
        table: tags.name,
        address: Vaddr(dynamic.get(tags.address).unwrap_or(0)),
        hint: " (as with `-z nocombreloc`)",
    })
}

/// The best layout that makes the file at least a page smaller; or why there is none.
fn lay_out(
    file: &ElfFile<'_>,
    run: FrontRun,
    all: &[LoaderTable],
    relatives: &Relatives<'_>,
    guard: &Guard,
    options: &PackOptions,
) -> Result<Result<Layout, Stuck>, Refusal> {
    let contents = place::contents(&run, all, relatives, guard)?;
    let shapes = room::shapes(file, &run, options.sparse)?;
    let stuck = match shapes.iter().all(|shape| *shape == Shape::Hole) {
        true => Stuck::NoProgramHeader,
        false => Stuck::Alignment,
    };
    for shape in shapes {
        let start = run.memory_span().start().plus(shape.run_moves_by())?;
        let placed = place::place(file, start, &contents)?;
        if placed.end > run.memory_span().end() {
            continue;
        }
        let slide = room::slide(file, &run, &shape, placed.end)?;
        if slide.by > 0 || (shape == Shape::Hole && assemble::hole(&run, placed.end)?.is_some()) {
            return Ok(Ok(Layout { run, shape, slide, placed }));
        }
    }
    Ok(Err(stuck))
}

fn new_entries(file: &ElfFile<'_>, layout: &Layout) -> Vec<DynamicEntry> {
    let Some(relr) = layout.placed.relr() else { return Vec::new() };
    vec![
        DynamicEntry { tag: Tag::RELR, value: relr.memory.start().0 },
        DynamicEntry { tag: Tag::RELRSZ, value: relr.memory.size() },
        DynamicEntry { tag: Tag::RELRENT, value: file.encoding().word_size() },
    ]
}
