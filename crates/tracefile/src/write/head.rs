//! Writes everything before the events: it is small, and the events depend on it.

use std::collections::HashMap;

use coldstart_profile::trace::{EventKind, FileId, Run, Trace, TracedObject};
use rusqlite::{Connection, Statement, params};

use crate::schema::TABLES;
use crate::values::{Bytes, place, signed};
use crate::words::{Word, layers, run_end};

pub(super) fn write(to: &Connection, trace: &Trace) -> rusqlite::Result<()> {
    let mut meta = to.prepare("INSERT INTO meta VALUES (?1, ?2)")?;
    meta.execute(params!["coldstart", env!("CARGO_PKG_VERSION")])?;
    for (name, value) in [
        ("events", 0),
        ("events_expected", place(trace.events.len())),
        ("lookups", 0),
        ("lookups_expected", place(trace.lookups.len())),
    ] {
        meta.execute(params![name, value])?;
    }
    run(to, &trace.run)?;
    kinds(to)?;
    processes(to, trace)?;
    files(to, trace)?;
    let mut names = Names { known: HashMap::new(), insert: to.prepare("INSERT INTO name VALUES (?1, ?2)")? };
    let mut section = 0;
    // Rows that are copied from a table of the same shape are packed without gaps; one by one they leave an eighth
    // empty.
    let symbols = TABLES.iter().find(|(name, _)| *name == "symbol").map_or("", |(_, text)| *text);
    to.execute_batch(&symbols.replacen("CREATE TABLE symbol", "CREATE TEMP TABLE collected", 1))?;
    for (number, object) in trace.objects.iter().enumerate() {
        write_object(to, place(number), object, &mut section)?;
        relocations(to, place(number), object, &mut names)?;
    }
    to.execute_batch("INSERT INTO symbol SELECT * FROM temp.collected")?;
    phases(to, trace)
}

fn run(to: &Connection, run: &Run) -> rusqlite::Result<()> {
    let (end, code) = run_end(run.end);
    to.execute(
        "INSERT INTO run VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, 0)",
        params![
            run.started,
            layers(&run.layers),
            run.pages.word(),
            run.state.word(),
            run.ready_at.map(|moment| signed(moment.0)),
            signed(run.ended_at.0),
            end,
            code,
            run.readiness,
            signed(run.lost_events),
            signed(run.stops),
            signed(run.stopped),
            run.kernel,
            run.processors,
        ],
    )?;
    let mut argument = to.prepare("INSERT INTO argument VALUES (NULL, ?1)")?;
    for word in &run.command {
        argument.execute([Bytes(word)])?;
    }
    let mut note = to.prepare("INSERT INTO note VALUES (NULL, ?1)")?;
    for sentence in &run.notes {
        note.execute([sentence])?;
    }
    Ok(())
}

fn kinds(to: &Connection) -> rusqlite::Result<()> {
    let mut insert = to.prepare("INSERT INTO kind VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")?;
    for (number, kind) in (0..EventKind::NUMBERS).filter_map(|number| Some((number, EventKind::from_number(number)?))) {
        let touch = if let EventKind::Touch(touch) = kind { Some(touch) } else { None };
        let cause = if let EventKind::Fill(cause) = kind { Some(cause.name()) } else { None };
        let access = touch.map(|touch| match (touch.execute, touch.write) {
            (true, _) => "execute",
            (false, Some(true)) => "write",
            (false, Some(false)) => "read",
            (false, None) => "unknown",
        });
        insert.execute(params![
            number,
            kind.name(),
            access,
            touch.and_then(|touch| touch.write),
            touch.map(|touch| touch.execute),
            touch.map(|touch| touch.major),
            touch.map(|touch| touch.by_kernel),
            touch.map(|touch| touch.zero_filled),
            touch.map(|touch| touch.first_of_run),
            cause,
        ])?;
    }
    Ok(())
}

fn processes(to: &Connection, trace: &Trace) -> rusqlite::Result<()> {
    let mut insert = to.prepare("INSERT INTO process VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?;
    let mut argument = to.prepare("INSERT INTO argument VALUES (?1, ?2)")?;
    let mut note = to.prepare("INSERT INTO note VALUES (?1, ?2)")?;
    for (number, process) in trace.processes.iter().enumerate() {
        insert.execute(params![
            place(number),
            process.number,
            earlier(process.parent.map(|parent| parent.0), number),
            Bytes(process.program.as_os_str()),
            signed(process.began.0),
            process.ended.map(|moment| signed(moment.0)),
            process.executed,
            process.pages.word(),
        ])?;
        for word in &process.arguments {
            argument.execute(params![place(number), Bytes(word)])?;
        }
        for sentence in &process.notes {
            note.execute(params![place(number), sentence])?;
        }
    }
    let mut insert = to.prepare("INSERT INTO thread VALUES (?1, ?2, ?3)")?;
    for (number, thread) in trace.threads.iter().enumerate() {
        insert.execute(params![place(number), thread.number, thread.process.0])?;
    }
    Ok(())
}

/// A parent comes before its children, as [`Trace`] guarantees; so following parents terminates.
fn earlier(parent: Option<u32>, child: usize) -> Option<u32> {
    parent.filter(|parent| i64::from(*parent) < place(child))
}

fn files(to: &Connection, trace: &Trace) -> rusqlite::Result<()> {
    let objects = object_of_file(trace);
    let mut insert = to.prepare("INSERT INTO file VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?;
    for (number, file) in trace.files.iter().enumerate() {
        let id = u32::try_from(number).ok().map(FileId);
        insert.execute(params![
            place(number),
            Bytes(file.path.as_os_str()),
            signed(file.device),
            signed(file.inode),
            file.identity.map(|identity| signed(identity.size)),
            file.identity.map(|identity| identity.modified),
            file.category.word(),
            id.and_then(|id| objects.get(&id)).map(|object| place(*object)),
        ])?;
    }
    Ok(())
}

/// The object of each file that is one; the first, as [`Trace::object`] has it.
pub(super) fn object_of_file(trace: &Trace) -> HashMap<FileId, usize> {
    let mut objects = HashMap::new();
    for (number, object) in trace.objects.iter().enumerate() {
        objects.entry(object.file).or_insert(number);
    }
    objects
}

fn write_object(to: &Connection, id: i64, object: &TracedObject, section_id: &mut i64) -> rusqlite::Result<()> {
    to.prepare_cached("INSERT INTO object VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?.execute(params![
        id,
        object.file.0,
        object.soname,
        object.build_id,
        object.machine,
        object.is_64_bit,
        signed(object.entry),
    ])?;
    let mut insert = to.prepare_cached("INSERT INTO segment VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
    for segment in &object.segments {
        insert.execute(params![
            id,
            signed(segment.address),
            signed(segment.offset),
            signed(segment.file_size),
            signed(segment.memory_size),
            segment.flags,
        ])?;
    }
    let mut insert = to.prepare_cached("INSERT INTO section VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?;
    for section in &object.sections {
        insert.execute(params![
            *section_id,
            id,
            section.name,
            signed(section.address),
            signed(section.offset),
            signed(section.size),
            signed(section.entry_size),
            section.is_zero_filled,
        ])?;
        *section_id += 1;
    }
    symbols(to, id, object)
}

fn symbols(to: &Connection, object_id: i64, object: &TracedObject) -> rusqlite::Result<()> {
    let mut insert = to.prepare_cached("INSERT INTO temp.collected VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
    let mut symbols: Vec<_> = object.symbols.iter().collect();
    symbols.sort_by_key(|symbol| symbol.address);
    let mut last = None;
    for symbol in symbols {
        let nth = match last {
            Some((address, nth)) if address == symbol.address => nth + 1,
            _ => 0,
        };
        last = Some((symbol.address, nth));
        // Most names of stripped programs; written out they would double the table.
        let name = Some(&symbol.name).filter(|name| **name != format!("fn_{:x}", symbol.address));
        insert.execute(params![
            object_id,
            signed(symbol.address),
            nth,
            signed(symbol.size),
            symbol.is_function,
            name
        ])?;
    }
    Ok(())
}

/// Words that are in many relocation runs, kept once.
struct Names<'a> {
    known: HashMap<String, i64>,
    insert: Statement<'a>,
}

impl Names<'_> {
    fn id(&mut self, name: &str) -> rusqlite::Result<i64> {
        if let Some(id) = self.known.get(name) {
            return Ok(*id);
        }
        let id = place(self.known.len());
        self.insert.execute(params![id, name])?;
        self.known.insert(name.to_owned(), id);
        Ok(id)
    }
}

fn relocations(to: &Connection, id: i64, object: &TracedObject, names: &mut Names<'_>) -> rusqlite::Result<()> {
    let mut insert = to.prepare_cached("INSERT INTO relocation VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?;
    for run in &object.relocations {
        insert.execute(params![
            id,
            names.id(&run.table)?,
            signed(run.first),
            signed(run.count),
            names.id(&run.kind)?,
            names.id(&run.section)?,
            signed(run.from),
            signed(run.to),
        ])?;
    }
    Ok(())
}

fn phases(to: &Connection, trace: &Trace) -> rusqlite::Result<()> {
    let mut insert = to.prepare("INSERT INTO load VALUES (?1, ?2, ?3, ?4)")?;
    for load in &trace.loads {
        insert.execute(params![load.process.0, load.file.0, signed(load.bias), signed(load.at.0)])?;
    }
    let mut insert = to.prepare("INSERT INTO phase VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")?;
    for (number, phase) in trace.phases.iter().enumerate() {
        insert.execute(params![
            place(number),
            phase.process.0,
            phase.kind.word(),
            phase.file.map(|file| file.0),
            phase.address.map(signed),
            signed(phase.begin.0),
            signed(phase.end.0),
            earlier(phase.parent.map(|parent| parent.0), number),
            phase.known.word(),
        ])?;
    }
    Ok(())
}
