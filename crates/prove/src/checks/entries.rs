//! The entries of the dynamic table: the same, in the same order, except for redundant ones.
//!
//! An entry that only one file has must be shown to be redundant in the other. So the same rules hold for an edit and
//! for its reverse. A search edit sets some entries; then all others must be the same, redundant or not.

use object::elf;

use super::expected::{Expected, check_moved_dynamic};
use super::no_op::does_nothing;
use super::profiling::only_starts_profiling;
use super::search_entries;
use crate::image::Image;
use crate::image::dynamic::{Entry, tag, tag_name};
use crate::tables::Tables;
use crate::tables::symbols::{NameRoom, symbol_size};
use crate::verdict::{NotProven, Proof, broken, differs, hex};

const WHAT: &str = "dynamic table";

/// Entries that describe relocation tables; their relocations are compared one by one.
const RELOCATIONS: &[u64] = &[
    tag::RELA,
    tag::RELASZ,
    tag::RELAENT,
    tag::RELACOUNT,
    tag::REL,
    tag::RELSZ,
    tag::RELENT,
    tag::RELCOUNT,
    tag::RELR,
    tag::RELRSZ,
    tag::RELRENT,
];

/// Entries with the address of a table that is compared itself.
const PLACES: &[u64] = &[
    tag::HASH,
    tag::GNU_HASH,
    tag::SYMTAB,
    tag::STRTAB,
    tag::STRSZ,
    tag::VERSYM,
    tag::VERNEED,
    tag::VERDEF,
    tag::JMPREL,
];

/// Those of the relocation tables.
const RELOCATION_PLACES: &[u64] = &[tag::RELA, tag::REL, tag::RELR];

/// Entries whose value is not an address.
const NUMBERS: &[u64] = &[
    tag::NEEDED,
    tag::PLTRELSZ,
    tag::SYMENT,
    tag::SONAME,
    tag::RPATH,
    tag::SYMBOLIC,
    tag::PLTREL,
    tag::DEBUG,
    tag::TEXTREL,
    tag::BIND_NOW,
    tag::INIT_ARRAYSZ,
    tag::FINI_ARRAYSZ,
    tag::RUNPATH,
    tag::FLAGS,
    tag::PREINIT_ARRAYSZ,
    tag::FLAGS_1,
    tag::VERDEFNUM,
    tag::VERNEEDNUM,
    tag::AUXILIARY,
    tag::FILTER,
    // Also DT_RISCV_VARIANT_CC, which has the number of the first.
    tag::AARCH64_BTI_PLT,
    tag::AARCH64_PAC_PLT,
    tag::AARCH64_VARIANT_PCS,
];

/// Compares the two tables.
pub(crate) fn check(
    old: (&Image<'_>, &Tables<'_>),
    new: (&Image<'_>, &Tables<'_>),
    expected: &Expected<'_>,
    proof: &mut Proof,
) -> Result<(), NotProven> {
    let (original, output) = (old.0, new.0);
    let moved = expected.moves_dynamic(original, output);
    if moved {
        check_moved_dynamic(original, output)?;
    }
    if original.dynamic.exists != output.dynamic.exists || (original.dynamic.memory != output.dynamic.memory && !moved)
    {
        let [from, to] = [original, output].map(|image| format!("{:x?}", image.dynamic.memory));
        return Err(differs(WHAT, "its address", from, to));
    }
    let meant = |image: &Image<'_>| -> Vec<Entry> {
        let is_meant = |entry: &&Entry| match expected.search {
            Some(_) => !expected.sets(entry.tag),
            None => !RELOCATIONS.contains(&entry.tag),
        };
        image.dynamic.entries.iter().filter(is_meant).copied().collect()
    };
    let (from, to) = (meant(original), meant(output));
    let alike = |from: &Entry, to: &Entry| {
        let is_place =
            PLACES.contains(&from.tag) || RELOCATION_PLACES.contains(&from.tag) || expected.leads_to_stub(from.tag);
        from.tag == to.tag && (from.value == to.value || is_place)
    };
    let may_differ = expected.search.is_none();
    let (mut from, mut to) = (from.iter().peekable(), to.iter().peekable());
    loop {
        match (from.peek(), to.peek()) {
            (None, None) => break,
            (Some(old), Some(new)) if alike(old, new) => {
                from.next();
                to.next();
            }
            // Before an entry counts as changed, it may be one that only one of the files has.
            (Some(entry), _)
                if may_differ && output.dynamic.get(entry.tag).is_none() && is_redundant(old, entry, output) =>
            {
                proof.redundant_entries.push(tag_name(entry.tag));
                from.next();
            }
            (_, Some(entry)) if expected.leads_to_stub(entry.tag) && original.dynamic.get(entry.tag).is_none() => {
                to.next();
            }
            (_, Some(entry))
                if may_differ && original.dynamic.get(entry.tag).is_none() && is_redundant(new, entry, original) =>
            {
                proof.redundant_entries.push(tag_name(entry.tag));
                to.next();
            }
            (old, new) => {
                let entry = old.or(new).map_or(0, |entry| entry.tag);
                let shown = |entry: Option<&&Entry>| match entry {
                    Some(entry) => format!("{} = {:#x}", tag_name(entry.tag), entry.value),
                    None => "the end".to_owned(),
                };
                return Err(differs(WHAT, tag_name(entry), shown(old), shown(new)));
            }
        }
    }
    proof.dynamic_entries = original.dynamic.entries.len() as u64;
    check_names(new)?;
    if let Some(edit) = expected.search {
        search_entries::check(old, new, edit)?;
    }
    check_rest(original, output, moved)
}

/// The meaning of a name outside the string table depends on the bytes there.
fn check_names((image, tables): (&Image<'_>, &Tables<'_>)) -> Result<(), NotProven> {
    const NAMES: &[u64] = &[tag::NEEDED, tag::SONAME, tag::RPATH, tag::RUNPATH, tag::AUXILIARY, tag::FILTER];
    let mut entries = image.dynamic.entries.iter().filter(|entry| NAMES.contains(&entry.tag));
    let mut room = NameRoom::of(image);
    match entries.find(|entry| room.string(tables.strings, entry.value).is_none()) {
        Some(entry) => {
            let problem = "its name is outside the string table, or too many names share their bytes";
            Err(broken(image.which, WHAT, tag_name(entry.tag), problem))
        }
        None => Ok(()),
    }
}

/// After the end, the table must be empty or unchanged. Linkers leave values in spare entries; where the original
/// used the entry, the old value is unknown. In a moved table it must be empty.
fn check_rest(original: &Image<'_>, output: &Image<'_>, moved: bool) -> Result<(), NotProven> {
    let word = output.word_size() as usize;
    let entry = word.saturating_mul(2);
    let used = output.dynamic.entries.len();
    let all = |image: &Image<'_>| image.at(image.dynamic.memory.clone()).unwrap_or(&[]).to_vec();
    let to = all(output);
    let (from, used_before) =
        if moved { (vec![0; to.len()], 0) } else { (all(original), original.dynamic.entries.len()) };
    let mut pairs = from.chunks(entry).zip(to.chunks(entry)).enumerate().skip(used);
    let odd = pairs.find(|(number, (old, new))| {
        let is_empty = |bytes: Option<&[u8]>| bytes.is_some_and(|bytes| bytes.iter().all(|byte| *byte == 0));
        let was_used = *number < used_before;
        let may_stay = old == new || was_used || is_empty(new.get(word..));
        !may_stay || !is_empty(new.get(..word))
    });
    match odd {
        Some((number, _)) => {
            let place = format!("entry {number}, after its end");
            Err(broken(output.which, WHAT, place, "an unused entry is not empty"))
        }
        None => Ok(()),
    }
}

/// Whether an entry of `fuller` is redundant in `other`, which lacks it.
fn is_redundant(fuller: (&Image<'_>, &Tables<'_>), entry: &Entry, other: &Image<'_>) -> bool {
    const ORIGIN: u64 = elf::DF_ORIGIN.0;
    const SYMBOLIC: u64 = elf::DF_SYMBOLIC.0;
    const TEXTREL: u64 = elf::DF_TEXTREL.0;
    const BIND_NOW: u64 = elf::DF_BIND_NOW.0;
    let flags = other.dynamic.get(tag::FLAGS).unwrap_or(0);
    let flags_1 = other.dynamic.get(tag::FLAGS_1).unwrap_or(0);
    let has = |tag: u64| other.dynamic.get(tag).is_some();
    // glibc's elf_get_dynamic_info turns each flag into its old tag.
    let says = |flag: u64| match flag {
        ORIGIN => flags & ORIGIN != 0 || flags_1 & elf::DF_1_ORIGIN.0 != 0,
        SYMBOLIC => flags & SYMBOLIC != 0 || has(tag::SYMBOLIC),
        TEXTREL => flags & TEXTREL != 0 || has(tag::TEXTREL),
        BIND_NOW => flags & BIND_NOW != 0 || flags_1 & elf::DF_1_NOW.0 != 0 || has(tag::BIND_NOW),
        _ => false,
    };
    match entry.tag {
        tag::FLAGS => (0..64).map(|bit| 1_u64 << bit).filter(|flag| entry.value & flag != 0).all(says),
        tag::BIND_NOW => says(BIND_NOW),
        tag::SYMBOLIC => says(SYMBOLIC),
        tag::TEXTREL => says(TEXTREL),
        tag::INIT if only_starts_profiling(fuller, entry.value) => true,
        tag::INIT | tag::FINI => does_nothing(fuller.0, entry.value),
        // elf/dl-load.c and dl-dst.h: with DT_RUNPATH, DT_RPATH is ignored.
        tag::RPATH => has(tag::RUNPATH),
        tag::SYMENT => entry.value == symbol_size(fuller.0),
        _ => false,
    }
}

/// Addresses in unchanged entries must not be in moved tables.
pub(crate) fn check_pointers(
    image: &Image<'_>,
    moved: &[std::ops::Range<u64>],
    expected: &Expected<'_>,
) -> Result<(), NotProven> {
    let is_name = |tag: u64| expected.search.is_some() && [tag::AUDIT, tag::DEPAUDIT].contains(&tag);
    // The stub may be where tables were.
    let is_number = |tag: u64| NUMBERS.contains(&tag) || is_name(tag);
    let is_place = |tag: u64| PLACES.contains(&tag) || expected.leads_to_stub(tag);
    let known = |tag: u64| RELOCATIONS.contains(&tag) || is_place(tag) || is_number(tag);
    for entry in image.dynamic.entries.iter().filter(|entry| !known(entry.tag)) {
        if moved.iter().any(|range| range.contains(&entry.value)) {
            let problem = format!("{} points to {}, in a moved table", tag_name(entry.tag), hex(entry.value));
            return Err(broken(image.which, "pointer to a moved table", "the dynamic table", problem));
        }
    }
    Ok(())
}
