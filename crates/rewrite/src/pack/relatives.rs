//! The relocations that become RELR, relative ones and bound ones: their selection, their table, and the values of
//! their words.
//!
//! RELR has no addends: each word must contain its own in the file. GNU ld, gold and mold write it there anyway; lld
//! writes zero, because its record has the addend.

use std::collections::BTreeMap;
use std::ops::Range;

use coldstart_elf::{
    DynamicRelocations, DynamicTable, ElfFile, FileOffset, FileSpan, NotRelr, Position, Relocation, RelocationClass,
    RelocationClasses, RelocationForm, RelocationTable, RelrEncoder, Tag, Vaddr, VaddrSpan,
};

use super::words::Words;
use crate::layout::word_bytes;
use crate::refusal::Refusal;
use crate::script::WordPatch;

/// The tags that describe a table of relocations.
#[derive(Clone, Copy, Debug)]
pub(super) struct TableTags {
    pub(super) address: Tag,
    pub(super) size: Tag,
    pub(super) entry_size: Tag,
    pub(super) relative_count: Tag,
    pub(super) name: &'static str,
}

const REL: TableTags = TableTags {
    address: Tag::REL,
    size: Tag::RELSZ,
    entry_size: Tag::RELENT,
    relative_count: Tag::RELCOUNT,
    name: "DT_REL",
};
const RELA: TableTags = TableTags {
    address: Tag::RELA,
    size: Tag::RELASZ,
    entry_size: Tag::RELAENT,
    relative_count: Tag::RELACOUNT,
    name: "DT_RELA",
};

/// Adjacent records with the same decision, by their indices in the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) records: Range<usize>,
    pub(super) fate: Fate,
}

/// What becomes of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It stays.
    Kept,
    /// A relative one becomes RELR.
    Relative,
    /// One of this type, with a symbol of the file's own, becomes RELR.
    Bound(u32),
}

/// The old values of the words of packed relative relocations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum InPlace {
    /// All equal to the addend.
    Addends,
    /// All zero.
    Zeros,
    /// Mixed or other values: the words that differ from their addends, as patches for undoing.
    Mixed(Vec<WordPatch>),
}

/// The new contents of a relocation table.
#[derive(Debug)]
pub(super) struct Relatives<'data> {
    pub(super) table: RelocationTable<'data>,
    pub(super) tags: TableTags,
    /// All records in order.
    pub(super) runs: Vec<Run>,
    pub(super) packed: u64,
    /// Those among the packed ones that had a symbol.
    pub(super) bound: u64,
    pub(super) kept_relative: u64,
    pub(super) kept_others: u64,
    /// Number of leading relative records among the kept ones.
    pub(super) leading: u64,
    /// For each packed record, in table order, its position in address order; empty if the orders are the same.
    pub(super) order: Vec<u32>,
    pub(super) relr: Vec<u8>,
    /// Words whose addend is not in place yet.
    pub(super) patches: Vec<WordPatch>,
    pub(super) in_place: InPlace,
    /// Records with a symbol that become relative and stay, because RELR cannot encode them, with their values.
    pub(super) bound_in_table: BTreeMap<usize, u64>,
    /// Words of bound relocations that were not zero before, with their old values.
    pub(super) bound_before: Vec<WordPatch>,
    /// Words that had neither zero nor their addend.
    pub(super) third_values: u64,
}

/// The table whose relative relocations can be packed.
pub(super) fn table_of<'data>(
    relocations: &DynamicRelocations<'data>,
) -> Result<Option<(RelocationTable<'data>, TableTags)>, Refusal> {
    match (relocations.rel, relocations.rela) {
        (Some(_), Some(_)) => Err(Refusal::MixedForms),
        (Some(table), None) => Ok(Some((table, REL))),
        (None, Some(table)) => Ok(Some((table, RELA))),
        (None, None) => Ok(None),
    }
}

/// Whether a table has any relative relocation.
pub(super) fn has_relative(file: &ElfFile<'_>, table: &RelocationTable<'_>) -> bool {
    let mut classes = RelocationClasses::new(file.encoding().machine);
    // Linkers put them first, so this usually ends at once.
    (0..table.len())
        .filter_map(|number| table.get(number))
        .any(|relocation| classes.of(relocation.kind) == RelocationClass::Relative)
}

/// Selects the relocations of a file; `None` if RELR can encode none.
///
/// `bound` are the values of records with a symbol that become relative, by their indices. `forbidden` are addresses that no pointer may have, because their data moves. `early`, for a stub, are words that keep their
/// relocations, in order; the encoded words then end with a zero.
pub(super) fn sort_out<'data>(
    file: &ElfFile<'data>,
    (table, tags): (RelocationTable<'data>, TableTags),
    dynamic: &DynamicTable<'data>,
    relocations: &DynamicRelocations<'data>,
    bound: &BTreeMap<usize, u64>,
    forbidden: VaddrSpan,
    early: Option<&'_ [VaddrSpan]>,
) -> Result<Option<Relatives<'data>>, Refusal> {
    let mut sorting = Sorting::new(file, (table, tags), bound);
    sorting.old_leading = dynamic.get(tags.relative_count).unwrap_or(0);
    sorting.forbidden = forbidden;
    sorting.early = early;
    let mut refusal = None;
    let mut numbers = 0_usize..;
    table.for_each(|relocation| {
        if let (None, Some(number)) = (&refusal, numbers.next()) {
            refusal = sorting.take(number, &relocation).err();
        }
    });
    match refusal {
        Some(refusal) => Err(refusal),
        None => sorting.finish(relocations),
    }
}

struct Sorting<'file, 'data> {
    bound: &'file BTreeMap<usize, u64>,
    words: Words<'file, 'data>,
    classes: RelocationClasses,
    old_leading: u64,
    forbidden: VaddrSpan,
    /// Words that are not packed.
    early: Option<&'file [VaddrSpan]>,
    /// The type number of the first relative relocation.
    kind: Option<u32>,
    /// Packed words with their required values: in record order, then in address order.
    packed: Vec<(Vaddr, u64)>,
    /// Number of relative ones whose word was zero.
    zeros: u64,
    /// Words of relative ones that change, with their old values.
    before: Vec<WordPatch>,
    result: Relatives<'data>,
    encoding: coldstart_elf::Encoding,
}

impl<'file, 'data> Sorting<'file, 'data> {
    fn new(
        file: &'file ElfFile<'data>,
        (table, tags): (RelocationTable<'data>, TableTags),
        bound: &'file BTreeMap<usize, u64>,
    ) -> Self {
        let encoding = file.encoding();
        Self {
            bound,
            words: Words::new(file),
            classes: RelocationClasses::new(encoding.machine),
            old_leading: 0,
            forbidden: VaddrSpan::default(),
            early: None,
            kind: None,
            packed: Vec::new(),
            zeros: 0,
            before: Vec::new(),
            encoding,
            result: Relatives {
                table,
                tags,
                runs: Vec::new(),
                packed: 0,
                bound: 0,
                kept_relative: 0,
                kept_others: 0,
                leading: 0,
                order: Vec::new(),
                relr: Vec::new(),
                patches: Vec::new(),
                in_place: InPlace::Addends,
                bound_in_table: BTreeMap::new(),
                bound_before: Vec::new(),
                third_values: 0,
            },
        }
    }

    /// Whether a word must be relocated by the loader.
    fn is_early(&self, address: Vaddr) -> bool {
        let size = self.encoding.word_size();
        let early = self.early.unwrap_or_default();
        let next = early.partition_point(|span| span.end() <= address);
        let end = address.plus(size).unwrap_or(address);
        early.get(next).is_some_and(|span| span.start() < end)
    }

    fn take(&mut self, number: usize, relocation: &Relocation) -> Result<(), Refusal> {
        let is_relative = self.classes.of(relocation.kind) == RelocationClass::Relative && relocation.symbol == 0;
        // glibc takes this many as relative without checking their types (`elf/do-rel.h`).
        if !is_relative && (number as u64) < self.old_leading {
            let table = self.result.tags.name;
            return Err(Refusal::Layout(format!("entry {number} of {table} counts as relative, but is not")));
        }
        let fate = match self.bound.get(&number) {
            Some(value) if !self.is_early(relocation.offset) && self.pack_bound(relocation, *value)? => {
                Fate::Bound(relocation.kind)
            }
            Some(value) => {
                self.result.bound_in_table.insert(number, *value);
                Fate::Kept
            }
            None if is_relative && !self.is_early(relocation.offset) && self.pack(number, relocation)? => {
                Fate::Relative
            }
            _ => Fate::Kept,
        };
        // A number of a record in memory.
        let behind = number.wrapping_add(1);
        match self.result.runs.last_mut() {
            Some(run) if run.fate == fate => run.records.end = behind,
            _ => self.result.runs.push(Run { records: number..behind, fate }),
        }
        if fate != Fate::Kept {
            return Ok(());
        }
        let becomes_relative = self.bound.contains_key(&number);
        let count =
            if is_relative || becomes_relative { &mut self.result.kept_relative } else { &mut self.result.kept_others };
        // Counts of records in memory, here and below: no overflow.
        *count = count.wrapping_add(1);
        if (number as u64) < self.old_leading {
            self.result.leading = self.result.leading.wrapping_add(1);
        }
        Ok(())
    }

    /// Whether RELR can encode this relative relocation; then records it.
    fn pack(&mut self, number: usize, relocation: &Relocation) -> Result<bool, Refusal> {
        // x32 has two kinds of relative relocations; those of another size are not packed.
        let kind = *self.kind.get_or_insert(relocation.kind);
        let address = relocation.offset;
        if !self.words.is_writable(address) {
            return Err(Refusal::NotWritable {
                entry: number,
                table: self.result.tags.name,
                offset: self.result.record_at(number)?,
                address,
            });
        }
        if kind != relocation.kind || address.0 & 1 != 0 {
            return Ok(false);
        }
        // Zero-filled memory cannot contain an addend.
        let Some((offset, held)) = self.words.at(address) else { return Ok(false) };
        let mask = if self.encoding.word_size() == 4 { u64::from(u32::MAX) } else { u64::MAX };
        let wanted = relocation.addend.map_or(held, |addend| addend as u64 & mask);
        self.check_target(address, wanted)?;
        self.packed.push((address, wanted));
        if held != wanted {
            self.result.patches.push(WordPatch { at: offset, value: wanted });
            self.before.push(WordPatch { at: offset, value: held });
            self.result.third_values = self.result.third_values.wrapping_add(u64::from(held != 0));
        }
        if held == 0 {
            self.zeros = self.zeros.wrapping_add(1);
        }
        Ok(true)
    }

    /// Whether RELR can encode a relocation with a symbol whose value is known; then records it.
    fn pack_bound(&mut self, relocation: &Relocation, value: u64) -> Result<bool, Refusal> {
        let address = relocation.offset;
        if address.0 & 1 != 0 {
            return Ok(false);
        }
        let Some((offset, held)) = self.words.at(address) else { return Ok(false) };
        self.check_target(address, value)?;
        self.packed.push((address, value));
        self.result.bound = self.result.bound.wrapping_add(1);
        if held != value {
            self.result.patches.push(WordPatch { at: offset, value });
        }
        // Linkers leave zero in such words, so only other values are kept for undoing.
        if held != 0 {
            self.result.bound_before.push(WordPatch { at: offset, value: held });
        }
        Ok(true)
    }

    /// Refuses a pointer to data that moves.
    fn check_target(&self, word: Vaddr, target: u64) -> Result<(), Refusal> {
        if self.forbidden.contains(Vaddr(target)) {
            return Err(Refusal::PointedTo { word, address: Vaddr(target) });
        }
        Ok(())
    }

    fn finish(mut self, relocations: &DynamicRelocations<'data>) -> Result<Option<Relatives<'data>>, Refusal> {
        if self.packed.is_empty() {
            return Ok(None);
        }
        self.result.packed = self.packed.len() as u64;
        if !self.packed.is_sorted_by(|one, next| one.0 < next.0) {
            self.result.order = ranks(&self.packed);
            self.packed.sort_unstable();
        }
        self.result.patches.sort_unstable_by_key(|patch| patch.at);
        self.check_overlaps(relocations)?;
        self.encode()?;
        self.result.in_place = if self.before.is_empty() {
            InPlace::Addends
        } else if self.result.packed.checked_sub(self.result.bound) == Some(self.zeros) {
            InPlace::Zeros
        } else {
            InPlace::Mixed(self.before)
        };
        Ok(Some(self.result))
    }

    /// RELR is applied before the other tables; this matters only where two relocations change the same bytes.
    fn check_overlaps(&self, relocations: &DynamicRelocations<'_>) -> Result<(), Refusal> {
        let size = self.encoding.word_size();
        // Whether two words at these addresses overlap.
        let touch = |one: Vaddr, other: Vaddr| one.0.abs_diff(other.0) < size;
        let touching = |pair: &&[(Vaddr, u64)]| matches!(pair, [one, next] if touch(one.0, next.0));
        if let Some([(address, _), _]) = self.packed.windows(2).find(touching) {
            return Err(Refusal::Overlapping { address: *address });
        }
        let overlapped = |relocation: &Relocation| {
            // They do not overlap one another: only the two neighbours can overlap it.
            let next = self.packed.partition_point(|(address, _)| *address < relocation.offset);
            let around = [next.checked_sub(1), Some(next)].into_iter().flatten();
            around.filter_map(|number| self.packed.get(number)).any(|(address, _)| touch(*address, relocation.offset))
        };
        let others = self.result.runs.iter().filter(|run| run.fate == Fate::Kept).flat_map(|run| run.records.clone());
        let others = others.filter_map(|number| self.result.table.get(number));
        let plt = relocations.plt.iter().flat_map(|table| (0..table.len()).filter_map(|number| table.get(number)));
        match others.chain(plt).find(overlapped) {
            Some(relocation) => Err(Refusal::Overlapping { address: relocation.offset }),
            None => Ok(()),
        }
    }

    fn encode(&mut self) -> Result<(), Refusal> {
        let encoding = self.encoding;
        let mut bytes = Vec::new();
        let mut encoder = RelrEncoder::new(encoding, |word| bytes.extend_from_slice(&word_bytes(encoding, word)));
        for (address, _) in &self.packed {
            encoder.push(*address).map_err(|not: NotRelr| Refusal::Layout(not.to_string()))?;
        }
        encoder.finish();
        if self.early.is_some() {
            bytes.extend(word_bytes(encoding, 0));
        }
        self.result.relr = bytes;
        Ok(())
    }
}

/// The position of each word in address order.
fn ranks(words: &[(Vaddr, u64)]) -> Vec<u32> {
    let mut numbers: Vec<u32> = (0..words.len() as u32).collect();
    numbers.sort_by_key(|number| words.get(*number as usize));
    let mut ranks = vec![0; words.len()];
    for (rank, number) in numbers.iter().enumerate() {
        if let Some(place) = ranks.get_mut(*number as usize) {
            *place = rank as u32;
        }
    }
    ranks
}

impl Relatives<'_> {
    /// Whether records contain addends.
    pub(super) fn has_addends(&self) -> bool {
        self.table.form() == RelocationForm::Rela
    }

    /// Where a record is in the file.
    fn record_at(&self, number: usize) -> Result<FileOffset, Refusal> {
        let (start, size) = (self.table.file_offset(), self.table.record_size() as u64);
        let before = (number as u64).checked_mul(size);
        let before = before.ok_or_else(|| {
            Refusal::Layout(format!("record {number} at file offset {start} exceeds the largest offset"))
        })?;
        Ok(start.plus(before)?)
    }

    /// Where the records of a run are in the file.
    pub(super) fn file_span(&self, records: &Range<usize>) -> Result<FileSpan, Refusal> {
        Ok(FileSpan::between(self.record_at(records.start)?, self.record_at(records.end)?)?)
    }

    /// The symbols of records, by their indices in the dynamic symbol table.
    pub(super) fn symbols(&self, records: &Range<usize>) -> Vec<u32> {
        records.clone().filter_map(|number| self.table.get(number)).map(|relocation| relocation.symbol).collect()
    }

    /// Bytes saved in the tables; 0 if none.
    pub(super) fn saved_bytes(&self) -> u64 {
        let now = self.kept_bytes().checked_add(self.relr.len() as u64);
        now.and_then(|now| self.table.size().checked_sub(now)).unwrap_or(0)
    }

    /// Bytes of the records that stay.
    pub(super) fn kept_bytes(&self) -> u64 {
        // No more of them than the table has, whose size is a number.
        let kept = self.kept_relative.wrapping_add(self.kept_others);
        kept.wrapping_mul(self.table.record_size() as u64)
    }
}
