//! ELF objects and what belongs to each.

use std::ops::ControlFlow;

use coldstart_profile::trace::{FileId, ObjectSection, ObjectSegment, ObjectSymbol, RelocationRun, TracedObject};

use super::rows::{Cells, Wrong, numbered, rows};
use crate::error::TraceFileError;
use crate::open::TraceFile;

const ON: Result<ControlFlow<()>, Wrong> = Ok(ControlFlow::Continue(()));

pub(super) fn read(file: &TraceFile) -> Result<Vec<TracedObject>, TraceFileError> {
    let mut objects = Vec::new();
    let sql = "SELECT id, file, soname, build_id, machine, is_64_bit, entry FROM object ORDER BY id";
    numbered(file, "object", 0, sql, |cells| {
        objects.push(TracedObject {
            file: FileId(cells.small(1)?),
            soname: cells.optional(2, |cells, column| cells.text(column))?,
            build_id: cells.optional(3, |cells, column| cells.text(column))?,
            machine: cells.small(4)?,
            is_64_bit: cells.flag(5)?,
            entry: cells.u64(6)?,
            segments: Vec::new(),
            sections: Vec::new(),
            symbols: Vec::new(),
            relocations: Vec::new(),
        });
        ON
    })?;
    segments_and_sections(file, &mut objects)?;
    symbols(file, &mut objects)?;
    relocations(file, &mut objects)?;
    Ok(objects)
}

/// The object that a row belongs to.
fn owner<'a>(objects: &'a mut [TracedObject], cells: &Cells<'_>, column: usize) -> Result<&'a mut TracedObject, Wrong> {
    let number: usize = cells.small(column)?;
    objects.get_mut(number).ok_or_else(|| Wrong::Value(format!("no object {number}")))
}

fn segments_and_sections(file: &TraceFile, objects: &mut [TracedObject]) -> Result<(), TraceFileError> {
    let sql = "SELECT rowid, object, address, offset, file_size, memory_size, flags FROM segment ORDER BY rowid";
    numbered(file, "segment", 1, sql, |cells| {
        owner(objects, cells, 1)?.segments.push(ObjectSegment {
            address: cells.u64(2)?,
            offset: cells.u64(3)?,
            file_size: cells.u64(4)?,
            memory_size: cells.u64(5)?,
            flags: cells.small(6)?,
        });
        ON
    })?;
    let sql = "SELECT id, object, name, address, offset, size, entry_size, is_zero_filled FROM section ORDER BY id";
    numbered(file, "section", 0, sql, |cells| {
        let object = owner(objects, cells, 1)?;
        object.sections.push(ObjectSection {
            name: cells.text(2)?,
            address: cells.u64(3)?,
            offset: cells.u64(4)?,
            size: cells.u64(5)?,
            entry_size: cells.u64(6)?,
            is_zero_filled: cells.flag(7)?,
        });
        ON
    })
}

fn symbols(file: &TraceFile, objects: &mut [TracedObject]) -> Result<(), TraceFileError> {
    let mut last = None;
    let sql = "SELECT object, address, nth, size, is_function, name FROM symbol ORDER BY object, address, nth";
    rows(file, "symbol", sql, |cells| {
        let key = (cells.integer(0)?, cells.integer(1)?, cells.integer(2)?);
        if last.replace(key).is_some_and(|last| last >= key) {
            return Err(Wrong::Value("wrong order".to_owned()));
        }
        let address = cells.u64(1)?;
        let name = cells.optional(5, |cells, column| cells.text(column))?;
        owner(objects, cells, 0)?.symbols.push(ObjectSymbol {
            address,
            size: cells.u64(3)?,
            name: name.unwrap_or_else(|| format!("fn_{address:x}")),
            is_function: cells.flag(4)?,
        });
        ON
    })?;
    // SQLite takes addresses from 2^63 on for negative numbers, which come first.
    for object in objects {
        object.symbols.sort_by_key(|symbol| symbol.address);
    }
    Ok(())
}

fn relocations(file: &TraceFile, objects: &mut [TracedObject]) -> Result<(), TraceFileError> {
    let mut names = Vec::new();
    numbered(file, "name", 0, "SELECT id, name FROM name ORDER BY id", |cells| {
        names.push(cells.text(1)?);
        ON
    })?;
    let name = |cells: &Cells<'_>, column| -> Result<String, Wrong> {
        let number: usize = cells.small(column)?;
        names.get(number).cloned().ok_or_else(|| Wrong::Value(format!("no name {number}")))
    };
    let sql = "SELECT rowid, object, table_name, first, count, kind, section, lowest_address, highest_address
               FROM relocation ORDER BY rowid";
    numbered(file, "relocation", 1, sql, |cells| {
        let run = RelocationRun {
            table: name(cells, 2)?,
            first: cells.u64(3)?,
            count: cells.u64(4)?,
            kind: name(cells, 5)?,
            section: name(cells, 6)?,
            from: cells.u64(7)?,
            to: cells.u64(8)?,
        };
        owner(objects, cells, 1)?.relocations.push(run);
        ON
    })
}
