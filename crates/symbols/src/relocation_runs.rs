//! Summarises relocation tables: adjacent entries of the same kind for the same section form one run.
//!
//! A large program has a million entries and a few dozen runs, because linkers sort them. A few linkers do not; then
//! a run covers a page of the table and is named after its most frequent kind.

use std::collections::HashMap;

use coldstart_elf::{ElfFile, RelocationTable, RelrTable, relocation_type_name};
use coldstart_profile::trace::RelocationRun;

use super::sections::{LoadedSection, section_at};
use super::touched::PAGE;

/// A table with more runs is summarised by page.
const MAXIMUM_RUNS: usize = 20_000;

/// The runs of all tables in the loader's order; entries of `.relr.dyn` are its words. Android's packed tables, whose
/// entries have no fixed size, are left out.
pub(super) fn relocation_runs(file: &ElfFile<'_>, sections: &[LoadedSection]) -> Vec<RelocationRun> {
    let relocations = match file.dynamic() {
        Ok(Some(dynamic)) => file.dynamic_relocations(&dynamic),
        _ => file.static_relocations(),
    };
    let Ok(relocations) = relocations else { return Vec::new() };
    let mut runs = Vec::new();
    if let Some(relr) = &relocations.relr {
        let name = table_name(sections, relr.file_offset().0, ".relr.dyn");
        let mut table = TableRuns::new(file, sections, &name, file.encoding().word_size(), relr.size());
        relr_words(file, relr, |address| table.add(None, address));
        runs.extend(table.finish());
    }
    let records = [(&relocations.rel, ".rel.dyn"), (&relocations.rela, ".rela.dyn"), (&relocations.plt, ".rela.plt")];
    for (records, usual_name) in records {
        let Some(records) = records else { continue };
        let usual_name = match records {
            RelocationTable::Rel(_) if usual_name == ".rela.plt" => ".rel.plt",
            _ => usual_name,
        };
        let name = table_name(sections, records.file_offset().0, usual_name);
        let mut table = TableRuns::new(file, sections, &name, records.record_size() as u64, records.size());
        records.for_each(|relocation| table.add(Some(relocation.kind), relocation.offset.0));
        runs.extend(table.finish());
    }
    runs
}

/// The section name of a table.
fn table_name(sections: &[LoadedSection], offset: u64, usual_name: &str) -> String {
    let same = sections.iter().find(|section| section.section.offset == offset && !section.section.is_zero_filled);
    same.map_or_else(|| usual_name.to_owned(), |section| section.section.name.clone())
}

/// Calls `visit` with the lowest address that each word of a RELR table changes.
fn relr_words(file: &ElfFile<'_>, relr: &RelrTable<'_>, mut visit: impl FnMut(u64)) {
    let encoding = file.encoding();
    let size = encoding.word_size();
    let Ok(bytes) = file.file_bytes("DT_RELR", relr.file_offset(), relr.size()) else { return };
    let bits = size.saturating_mul(8).saturating_sub(1);
    let mut base = 0_u64;
    for word in bytes.chunks_exact(usize::try_from(size).unwrap_or(8)).filter_map(|bytes| encoding.word(bytes)) {
        if word & 1 == 0 {
            visit(word);
            base = word.wrapping_add(size);
        } else {
            let first = u64::from((word >> 1).trailing_zeros()).min(bits);
            visit(base.wrapping_add(first.wrapping_mul(size)));
            base = base.wrapping_add(bits.wrapping_mul(size));
        }
    }
}

/// A run while it grows: type (`None` for RELR), number of the section.
#[derive(Clone, Copy, Debug)]
struct Growing {
    first: u64,
    count: u64,
    kind: Option<u32>,
    section: Option<usize>,
    from: u64,
    to: u64,
}

struct TableRuns<'data> {
    machine: u16,
    sections: &'data [LoadedSection],
    table: String,
    entry_size: u64,
    /// Of which every run is a part once there are too many, in bytes.
    chunk: u64,
    runs: Vec<Growing>,
    /// How much each kind of entry has in the chunk that is made at the moment; empty until there are too many runs.
    counts: HashMap<(Option<u32>, Option<usize>), u64>,
    by_chunk: bool,
    next: u64,
    /// The section of the entry before: nearly always that of the next.
    last_section: Option<(u64, u64, usize)>,
}

impl<'data> TableRuns<'data> {
    fn new(file: &ElfFile<'_>, sections: &'data [LoadedSection], table: &str, entry_size: u64, size: u64) -> Self {
        let chunk = size.div_ceil(MAXIMUM_RUNS as u64).next_multiple_of(PAGE);
        Self {
            machine: file.encoding().machine,
            sections,
            table: table.to_owned(),
            entry_size,
            chunk,
            runs: Vec::new(),
            counts: HashMap::new(),
            by_chunk: false,
            next: 0,
            last_section: None,
        }
    }

    fn add(&mut self, kind: Option<u32>, address: u64) {
        let section = self.section(address);
        let entry = Growing { first: self.next, count: 1, kind, section, from: address, to: address };
        self.next = self.next.saturating_add(1);
        self.push(entry);
        if self.runs.len() > MAXIMUM_RUNS && !self.by_chunk {
            self.by_chunk = true;
            for run in std::mem::take(&mut self.runs) {
                self.push(run);
            }
        }
    }

    fn push(&mut self, entry: Growing) {
        let chunk_of =
            |entry: &Growing| entry.first.saturating_mul(self.entry_size).checked_div(self.chunk).unwrap_or(0);
        let what = (entry.kind, entry.section);
        let joins = |last: &Growing| match self.by_chunk {
            true => chunk_of(last) == chunk_of(&entry),
            false => (last.kind, last.section) == what,
        };
        match self.runs.last_mut() {
            Some(last) if joins(last) => {
                last.count = last.count.saturating_add(entry.count);
                last.from = last.from.min(entry.from);
                last.to = last.to.max(entry.to);
            }
            _ => {
                self.name_last_chunk();
                self.runs.push(entry);
            }
        }
        if self.by_chunk {
            let count = self.counts.entry(what).or_default();
            *count = count.saturating_add(entry.count);
        }
    }

    /// Names the last run after what is most frequent in it.
    fn name_last_chunk(&mut self) {
        // Equally frequent ones have an order, too: a trace of the same file is the same.
        let most = self.counts.iter().max_by_key(|(what, count)| (**count, std::cmp::Reverse(**what)));
        if let (Some(last), Some(((kind, section), _))) = (self.runs.last_mut(), most) {
            (last.kind, last.section) = (*kind, *section);
        }
        self.counts.clear();
    }

    fn section(&mut self, address: u64) -> Option<usize> {
        if let Some((from, to, number)) = self.last_section
            && (from..to).contains(&address)
        {
            return Some(number);
        }
        section_at(self.sections, address)?;
        let number = self.sections.partition_point(|section| section.section.address <= address).checked_sub(1)?;
        let section = self.sections.get(number)?;
        self.last_section = Some((section.section.address, section.end(), number));
        Some(number)
    }

    fn finish(mut self) -> Vec<RelocationRun> {
        self.name_last_chunk();
        let mut kinds: HashMap<Option<u32>, String> = HashMap::new();
        let finished = self.runs.iter().map(|run| RelocationRun {
            table: self.table.clone(),
            first: run.first,
            count: run.count,
            kind: kinds.entry(run.kind).or_insert_with(|| kind_name(self.machine, run.kind)).clone(),
            section: run
                .section
                .and_then(|number| self.sections.get(number))
                .map_or_else(String::new, |section| section.section.name.clone()),
            from: run.from,
            to: run.to,
        });
        finished.collect()
    }
}

/// A type's name without its machine: `GLOB_DAT` of `R_X86_64_GLOB_DAT`.
fn kind_name(machine: u16, kind: Option<u32>) -> String {
    let Some(kind) = kind else { return "RELATIVE".to_owned() };
    let name = relocation_type_name(machine, kind);
    let rest = name.strip_prefix("R_X86_64_");
    let rest = rest.or_else(|| name.strip_prefix("R_").and_then(|name| name.split_once('_')).map(|(_, rest)| rest));
    rest.map_or_else(|| name.clone(), str::to_owned)
}
