//! Packing: a list of passes over the relocations of a file.
//!
//! All passes give one new file with one note. `bind-local` decides which relocations become relative; `relr` converts
//! these and the others that are relative, and removes the freed space from the file. Without `relr`, the new relative
//! ones stay in their table.
//!
//! | phase | file |
//! |---|---|
//! | the passes, and what each reports | `pass.rs` |
//! | references to the file's own definitions (`bind-local`) | `own.rs`; without RELR `in_place.rs` |
//! | references to pure virtual functions (`pure-virtual`), and the code for them | `pure_virtual.rs`, `unused_code.rs` |
//! | check the file | `checks.rs` |
//! | the loader's tables, and the run of them around the relocations | `anatomy/tables.rs` |
//! | the relocations to convert, and the values of their words | `relatives.rs`, `words.rs` |
//! | the version that makes old loaders refuse the result | `versions.rs` |
//! | new places for the tables | `place.rs` |
//! | code that applies them (`stub`), and its place | `stub.rs` |
//! | alignments that keep freed bytes in the file (`lower-alignment`) | `alignment.rs` |
//! | how the rest of the file moves | `room.rs`, `anatomy/preface.rs` |
//! | new headers, dynamic table, end of the file | `headers.rs`, `slots.rs`, `empty_function.rs`, `sections.rs`, `anatomy/tail.rs` |
//! | all of it as one script; the undo data | `assemble.rs`, `way_back.rs`, `../assembly.rs` |

mod alignment;
mod assemble;
mod checks;
mod decision;
mod empty_function;
mod headers;
mod in_place;
mod own;
mod pass;
mod place;
mod pure_virtual;
mod relatives;
mod room;
mod sections;
mod slots;
mod stub;
mod unused_code;
mod versions;
mod way_back;
mod words;

use std::collections::BTreeSet;

use coldstart_elf::{DynamicEntry, DynamicRelocations, DynamicTable, ElfFile, Position, RelocationTable, Tag, Vaddr};

pub use decision::{
    Caution, ClosedWorld, NothingToPack, PackDecision, PackOptions, PackPlan, PackSummary, Room, SlotSource, Stuck,
};
pub use own::OwnReferences;
pub use pass::{Pass, PassOutcome, PassReport, Passes, WrongPasses};

use crate::anatomy::PAGE;
use crate::anatomy::tables::{self, FrontRun, LoaderTable};
use crate::anatomy::tail;
use crate::note::About;
use crate::refusal::Refusal;
use crate::script::Piece;
use alignment::LoadAlignment;
use assemble::{Layout, Parts};
use own::Bound;
use place::{Placed, Role};
use relatives::{Relatives, TableTags};
use room::Shape;
use stub::CodePlace;
use versions::Guard;

/// Plans the packing of a file.
///
/// A pass that refuses the file, or finds nothing to do, does not keep the others from running.
///
/// # Errors
/// The reason why it cannot be done safely: that of `relr`, if no pass can do anything.
pub fn plan_pack(file: &ElfFile<'_>, options: &PackOptions) -> Result<PackDecision, Refusal> {
    checks::check_file(file)?;
    let dynamic = file.dynamic()?.ok_or(Refusal::NoDynamicTable)?;
    checks::check_dynamic(file, &dynamic)?;
    let relocations = file.dynamic_relocations(&dynamic)?;
    let table = relatives::table_of(&relocations);
    let subject = Subject { file, dynamic: &dynamic, relocations: &relocations, options };
    let mut bound = Bound::default();
    if let (true, Ok(_)) = (options.passes.has(Pass::BindLocal), &table) {
        let closed = options.closed_world.as_ref().and_then(|closed| closed.not_interposed.as_ref());
        bound = own::find(file, &dynamic, &relocations, closed.unwrap_or(&BTreeSet::new()))?;
    }
    let mut pure_virtual = None;
    if let (true, Ok(_)) = (options.passes.has(Pass::PureVirtual), &table) {
        let found = pure_virtual::find(file, &dynamic, &relocations);
        pure_virtual = Some(match found {
            Ok(Some(found)) => {
                let relocations = found.values.len() as u64;
                bound.add(found);
                Ok(PassOutcome::Done { relocations })
            }
            Ok(None) => Ok(PassOutcome::Nothing { cause: NothingToPack::NoPureVirtual }),
            Err(refusal) => Err(refusal),
        });
    }
    let packing = [Pass::Relr, Pass::Stub].into_iter().find(|pass| options.passes.has(*pass));
    let relr = packing.map(|pass| relr(&subject, table.clone(), &bound, pass == Pass::Stub));
    let (mut plan, relr) = match relr {
        Some(Ok(Ok(plan))) => {
            let relocations = plan.summary.packed;
            (plan, Some(PassOutcome::Done { relocations }))
        }
        // What RELR cannot have, the table of relocations keeps, as relative ones.
        relr if !bound.is_empty() => {
            let plan = in_place::plan(&subject, &bound)?;
            (plan, relr.and_then(|relr| why_not(relr.map(Result::err))))
        }
        Some(Ok(Err(cause))) => {
            // The wrong program is what a user can put right.
            let is_lost = bound.counts.all > 0 && nothing_bound(options) == NothingToPack::NotInClosedWorld;
            return nothing(if is_lost { NothingToPack::NotInClosedWorld } else { cause });
        }
        Some(Err(refusal)) => return Err(refusal),
        None => {
            return match pure_virtual {
                _ if table.is_err() || options.passes.has(Pass::BindLocal) => {
                    table.map(|_| PackDecision::Nothing(nothing_bound(options)))
                }
                Some(Err(refusal)) => Err(refusal),
                _ => nothing(NothingToPack::NoPureVirtual),
            };
        }
    };
    if options.passes.has(Pass::BindLocal) {
        // What is counted in a file in memory: no overflow.
        let outcome = match plan.summary.bound.wrapping_sub(plan.summary.pure_virtual) {
            0 => PassOutcome::Nothing { cause: nothing_bound(options) },
            relocations => PassOutcome::Done { relocations },
        };
        plan.summary.passes.push(PassReport { pass: Pass::BindLocal, outcome });
        plan.summary.own_references = Some(bound.counts);
    }
    if let Some(found) = pure_virtual {
        let outcome = found.unwrap_or_else(|refusal| PassOutcome::from(&refusal));
        plan.summary.passes.push(PassReport { pass: Pass::PureVirtual, outcome });
    }
    if options.passes.has(Pass::LowerAlignment)
        && !plan.summary.passes.iter().any(|report| report.pass == Pass::LowerAlignment)
    {
        let outcome = not_lowered(file);
        plan.summary.passes.push(PassReport { pass: Pass::LowerAlignment, outcome });
    }
    plan.summary.passes.extend(packing.zip(relr).map(|(pass, outcome)| PassReport { pass, outcome }));
    plan.summary.passes.sort_by_key(|report| report.pass);
    Ok(PackDecision::Pack(Box::new(plan)))
}

/// Why alignments stay.
fn not_lowered(file: &ElfFile<'_>) -> PassOutcome {
    match LoadAlignment::lowest(file) {
        Err(refusal) => PassOutcome::from(&refusal),
        Ok(lowest) => {
            let is_large = file.load_segments().any(|load| load.alignment > PAGE);
            let cause = match is_large && !lowest.lowers(file) {
                true => NothingToPack::AlignmentNeeded,
                false => NothingToPack::AlignmentCostsNothing,
            };
            PassOutcome::Nothing { cause }
        }
    }
}

/// Why `bind-local` has nothing to do.
fn nothing_bound(options: &PackOptions) -> NothingToPack {
    match &options.closed_world {
        Some(ClosedWorld { not_interposed: None, .. }) => NothingToPack::NotInClosedWorld,
        _ => NothingToPack::NoOwnReferences,
    }
}

/// The outcome of a pass without a plan.
fn why_not(pass: Result<Option<NothingToPack>, Refusal>) -> Option<PassOutcome> {
    match pass {
        Ok(cause) => cause.map(|cause| PassOutcome::Nothing { cause }),
        Err(refusal) => Some(PassOutcome::from(&refusal)),
    }
}

/// A file, and what is asked for it.
pub(super) struct Subject<'a, 'data> {
    file: &'a ElfFile<'data>,
    dynamic: &'a DynamicTable<'data>,
    relocations: &'a DynamicRelocations<'data>,
    options: &'a PackOptions,
}

/// The pass `relr` or `stub`, with the relocations that `bind-local` makes relative; or why there is nothing to do.
fn relr(
    subject: &Subject<'_, '_>,
    table: Result<Option<(RelocationTable<'_>, TableTags)>, Refusal>,
    bound: &Bound,
    with_stub: bool,
) -> Result<Result<PackPlan, NothingToPack>, Refusal> {
    let Subject { file, dynamic, relocations, options } = *subject;
    if relocations.relr.is_some() || dynamic.get(Tag::RELR).is_some() {
        let by_us = is_packed(file);
        return Ok(Err(if by_us { NothingToPack::PackedByUs } else { NothingToPack::AlreadyRelr }));
    }
    if is_packed(file) {
        return Ok(Err(NothingToPack::PackedByUs));
    }
    let Some((table, tags)) = table? else { return Ok(Err(NothingToPack::NoRelative)) };
    if bound.values.is_empty() && !relatives::has_relative(file, &table) {
        return Ok(Err(NothingToPack::NoRelative));
    }
    checks::check_tags(dynamic, &tags, file.encoding().machine)?;
    let early = match with_stub {
        true => {
            stub::check(subject)?;
            let closed = options.closed_world.as_ref().and_then(|closed| closed.not_interposed.as_ref());
            Some(stub::early_words(file, dynamic, closed.unwrap_or(&BTreeSet::new()))?)
        }
        false => {
            checks::check_libc(file, dynamic, options)?;
            None
        }
    };
    tail::check_gaps(file)?;
    let all = tables::all(file, dynamic, tags.address)?;
    let run = tables::front_run(file, &section_of(&all, &table, &tags, dynamic)?, &all)?;
    tables::check_pointers(file, dynamic, &run, tags.address)?;
    let packed = relatives::sort_out(
        file,
        (table, tags),
        dynamic,
        relocations,
        &bound.values,
        run.memory_span(),
        early.as_deref(),
    )?;
    let none = if with_stub { NothingToPack::NoneForStub } else { NothingToPack::NoRelative };
    let Some(relatives) = packed else { return Ok(Err(none)) };
    let guard = if with_stub { Guard::NotNeeded } else { versions::with_guard(file, dynamic)? };
    let table_bytes = relatives.saved_bytes();
    let layout = match lay_out(subject, run, &all, &relatives, &guard)? {
        Ok(layout) => layout,
        Err(stuck) => {
            let would_gain = table_bytes >= 2 * PAGE;
            return Ok(Err(NothingToPack::NoGain { table_bytes, stuck: would_gain.then_some(stuck) }));
        }
    };
    let wanted = slots::Wanted {
        relocations: &relatives.tags,
        leading: relatives.leading,
        is_empty: relatives.kept_bytes() == 0,
        new: new_entries(file, dynamic, &layout),
        drop_syment: options.drop_syment,
    };
    let entries = slots::make_room(file, dynamic, &wanted)?;
    let mut in_place = in_place::plt_patches(file, relocations, bound)?;
    in_place.extend(in_place::patches(file, &table, &relatives.bound_in_table)?);
    in_place.extend(&bound.code);
    // Counts of records in memory: no overflow.
    let bound_in_place = bound.plt.len().wrapping_add(relatives.bound_in_table.len()) as u64;
    let parts = Parts {
        file,
        dynamic,
        layout: &layout,
        relatives: &relatives,
        guard: &guard,
        entries: &entries,
        bound: relatives.bound.wrapping_add(bound_in_place),
        bound_in_place,
        pure_virtual: bound.pure_virtual,
        in_place: &in_place,
    };
    let plan = assemble::assemble(&parts, options)?;
    // The note and the new section headers take some of the saved space.
    if plan.summary.room != Room::Hole && plan.summary.size_after >= plan.summary.size_before {
        return Ok(Err(NothingToPack::NoGain { table_bytes, stuck: None }));
    }
    Ok(Ok(plan))
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
    subject: &Subject<'_, '_>,
    run: FrontRun,
    all: &[LoaderTable],
    relatives: &Relatives<'_>,
    guard: &Guard,
) -> Result<Result<Layout, Stuck>, Refusal> {
    let Subject { file, dynamic, options, .. } = *subject;
    let mut contents = place::contents(&run, all, relatives, guard)?;
    let with_stub = *guard == Guard::NotNeeded;
    let among_code = file.segments().get(run.segment).is_some_and(|segment| segment.is_executable());
    if with_stub && among_code {
        // Its bytes need its address.
        contents.push((Role::Stub, vec![Piece::Hole(stub::size(file))]));
    }
    let lowest = match options.passes.has(Pass::LowerAlignment) {
        // A refusal of that pass alone.
        true => LoadAlignment::lowest(file).unwrap_or(LoadAlignment::Kept),
        false => LoadAlignment::Kept,
    };
    let shapes = room::shapes(file, &run, options.sparse)?;
    let stuck = match shapes.iter().all(|shape| *shape == Shape::Hole) {
        true => Stuck::NoProgramHeader,
        false => Stuck::Alignment,
    };
    for shape in shapes {
        let start = run.memory_span().start().plus(shape.run_moves_by())?;
        let mut placed = place::place(file, start, &contents)?;
        if placed.end > run.memory_span().end() {
            continue;
        }
        let slide_by = |loads: LoadAlignment| room::slide(file, &run, &shape, placed.end, loads);
        let mut slide = slide_by(lowest)?;
        let lost_by_alignment = slide.by.saturating_sub(slide_by(LoadAlignment::Kept)?.by);
        let alignment = if lost_by_alignment > 0 { lowest } else { LoadAlignment::Kept };
        let code_behind = match with_stub && !among_code {
            true => Some(stub::behind_code(file, &run, alignment)?),
            false => None,
        };
        slide.inserted = code_behind.and_then(|place| place.grows?.inserted());
        if slide.by > 0 || (shape == Shape::Hole && assemble::hole(&run, placed.end)?.is_some()) {
            let stub = fill_stub(file, dynamic, &mut placed)?.or(code_behind);
            return Ok(Ok(Layout { run, shape, slide, placed, stub, alignment, lost_by_alignment }));
        }
    }
    Ok(Err(stuck))
}

/// Writes the stub at its place among the tables, if it is there.
fn fill_stub(
    file: &ElfFile<'_>,
    dynamic: &DynamicTable<'_>,
    placed: &mut Placed,
) -> Result<Option<CodePlace>, Refusal> {
    let Some(memory) = placed.stub().map(|stub| stub.memory) else { return Ok(None) };
    let code = stub::code(file, dynamic, placed, memory.start())?;
    for table in placed.tables.iter_mut().filter(|table| table.role == Role::Stub) {
        table.pieces = vec![Piece::Bytes(code.clone())];
    }
    Ok(Some(CodePlace { memory, grows: None }))
}

/// Whether we have packed a file already.
fn is_packed(file: &ElfFile<'_>) -> bool {
    let packs = |edit: &String| [Pass::Relr, Pass::Stub].iter().any(|pass| edit == pass.name());
    About::read(file).is_some_and(|about| about.edits.iter().any(packs))
}

fn new_entries(file: &ElfFile<'_>, dynamic: &DynamicTable<'_>, layout: &Layout) -> Vec<DynamicEntry> {
    if let Some(stub) = &layout.stub {
        let entry = DynamicEntry { tag: Tag::INIT, value: stub.memory.start().0 };
        return if dynamic.get(Tag::INIT).is_some() { Vec::new() } else { vec![entry] };
    }
    let Some(relr) = layout.placed.relr() else { return Vec::new() };
    vec![
        DynamicEntry { tag: Tag::RELR, value: relr.memory.start().0 },
        DynamicEntry { tag: Tag::RELRSZ, value: relr.memory.size() },
        DynamicEntry { tag: Tag::RELRENT, value: file.encoding().word_size() },
    ]
}
