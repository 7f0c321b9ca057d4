//! The tables' new places, back to back from the run's start.

use coldstart_elf::{ElfFile, Position, Tag, Vaddr, VaddrSpan};

use super::relatives::{Fate, Relatives};
use super::stub;
use super::versions::{Added, GUARD, Guard};
use crate::anatomy::tables::{FrontRun, LoaderTable};
use crate::anatomy::{check_alignment, zeros};
use crate::refusal::Refusal;
use crate::script::{Piece, end_of};

/// What a new place is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The table of an old section.
    Old(LoaderTable),
    /// The words of RELR, or those that the stub applies.
    Relr,
    /// The stub with its numbers.
    Stub,
}

impl Role {
    /// The table's old section.
    pub(super) fn old(&self) -> Option<&LoaderTable> {
        match self {
            Self::Old(old) => Some(old),
            Self::Relr | Self::Stub => None,
        }
    }
}

/// A table with its new address.
#[derive(Clone, Debug)]
pub(super) struct PlacedTable {
    pub(super) role: Role,
    pub(super) memory: VaddrSpan,
    pub(super) pieces: Vec<Piece>,
}

/// All rewritten tables.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub(super) tables: Vec<PlacedTable>,
    /// The first address after them.
    pub(super) end: Vaddr,
}

impl Placed {
    /// The new address of a tag's table.
    pub(super) fn of(&self, tag: Tag) -> Option<&PlacedTable> {
        self.tables.iter().find(|table| table.role.old().is_some_and(|old| old.tag == tag))
    }

    /// The new address of a section.
    pub(super) fn of_section(&self, section: usize) -> Option<&PlacedTable> {
        self.tables.iter().find(|table| table.role.old().is_some_and(|old| old.section == section))
    }

    /// The new table.
    pub(super) fn relr(&self) -> Option<&PlacedTable> {
        self.tables.iter().find(|table| table.role == Role::Relr)
    }

    /// The stub, if it is among the tables.
    pub(super) fn stub(&self) -> Option<&PlacedTable> {
        self.tables.iter().find(|table| table.role == Role::Stub)
    }
}

/// What is to be placed, with its new contents.
pub(super) type Content = (Role, Vec<Piece>);

/// The new contents of each table, in the order of the run. Tables outside the run that must grow come after it;
/// their old bytes stay, unused.
pub(super) fn contents(
    run: &FrontRun,
    all: &[LoaderTable],
    relatives: &Relatives<'_>,
    guard: &Guard,
) -> Result<Vec<Content>, Refusal> {
    let mut tables: Vec<LoaderTable> = run.tables.clone();
    if let Guard::Added(_) = guard {
        for tag in [Tag::VERNEED, Tag::STRTAB] {
            if !tables.iter().any(|table| table.tag == tag) {
                let outside = all.iter().find(|table| table.tag == tag);
                let unfit = Refusal::TableIsNoSection { table: "DT_STRTAB", address: Vaddr(0), hint: "" };
                tables.push(*outside.ok_or(unfit)?);
            }
        }
    }
    let content = |table: &LoaderTable| -> Result<Vec<Piece>, Refusal> {
        Ok(match (table.tag, guard) {
            (tag, _) if tag == relatives.tags.address => {
                let kept = relatives.runs.iter().filter(|run| run.fate == Fate::Kept);
                return kept.map(|run| Ok(Piece::Copy(relatives.file_span(&run.records)?))).collect();
            }
            (Tag::VERNEED, Guard::Added(Added { table, .. })) => vec![Piece::Bytes(table.clone())],
            (Tag::STRTAB, Guard::Added(_)) => {
                vec![Piece::Copy(table.file), Piece::Bytes([GUARD.as_bytes(), b"\0"].concat())]
            }
            _ => vec![Piece::Copy(table.file)],
        })
    };
    let mut contents = Vec::with_capacity(tables.len());
    for table in &tables {
        contents.push((Role::Old(*table), content(table)?));
    }
    contents.push((Role::Relr, vec![Piece::Bytes(relatives.relr.clone())]));
    Ok(contents)
}

/// Gives each table the next address with its alignment.
///
/// # Errors
/// If an alignment is larger than a page, which no linker uses for a table, or the addresses overflow.
pub(super) fn place(file: &ElfFile<'_>, start: Vaddr, contents: &[Content]) -> Result<Placed, Refusal> {
    let mut at = start;
    let mut tables = Vec::with_capacity(contents.len());
    for (role, pieces) in contents {
        // Symbol versions are 2 bytes wide, but linkers also align other tables less than loaders prefer.
        let alignment = match role {
            Role::Old(old) => old.alignment,
            Role::Relr => file.encoding().word_size(),
            Role::Stub => stub::ALIGNMENT,
        };
        check_alignment(alignment)?;
        let memory = VaddrSpan::new(at.aligned_up(alignment)?, end_of(pieces)?.0)?;
        tables.push(PlacedTable { role: *role, memory, pieces: pieces.clone() });
        at = memory.end();
    }
    Ok(Placed { tables, end: at })
}

impl Placed {
    /// Everything from `start` on, with zeros between the tables.
    pub(super) fn pieces(&self, start: Vaddr) -> Result<Vec<Piece>, Refusal> {
        let mut at = start;
        let mut pieces = Vec::new();
        for table in &self.tables {
            pieces.extend(zeros(at, table.memory.start())?);
            pieces.extend(table.pieces.iter().cloned());
            at = table.memory.end();
        }
        Ok(pieces)
    }
}
