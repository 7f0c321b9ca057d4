//! Writes events and lookups, in transactions.

use coldstart_profile::trace::{Event, Lookup, Moment, Trace};
use rusqlite::{Connection, Transaction, params};

use super::Reached;
use super::head::object_of_file;
use crate::schema::MOMENT_SHIFT;
use crate::sections::SectionsTouched;
use crate::values::{Bytes, place, signed};
use crate::words::Word;

/// How many events are written at once: about a quarter of a megabyte, which is what a full disk costs at most.
const PIECE: usize = 8192;

/// Writes all pieces; `reached` says how far it came, also after an error.
pub(super) fn write(connection: &mut Connection, trace: &Trace, reached: &mut Reached) -> rusqlite::Result<()> {
    let mut sections = SectionsTouched::new(trace, object_of_file(trace));
    let (mut events, mut lookups, mut next) = (0, 0, 0);
    while events < trace.events.len() || lookups < trace.lookups.len() {
        let piece = trace.events.get(events..).unwrap_or_default();
        let piece = piece.get(..PIECE).unwrap_or(piece);
        let rest = trace.lookups.get(lookups..).unwrap_or_default();
        // What was looked up in the time of these events stands with them, so that both end at the same moment.
        // Behind the last event as many lookups as there are.
        let count = if events + piece.len() == trace.events.len() {
            rest.len().min(PIECE)
        } else {
            let until = piece.last().map_or(Moment(0), |event| event.at);
            rest.iter().take_while(|lookup| lookup.at <= until).count()
        };
        let asked = rest.get(..count).unwrap_or_default();
        let transaction = connection.transaction()?;
        write_events(&transaction, &mut next, piece, &mut sections)?;
        write_lookups(&transaction, lookups, asked, trace)?;
        events += piece.len();
        lookups += asked.len();
        for (name, count) in [("events", events), ("lookups", lookups)] {
            transaction.execute("UPDATE meta SET value = ?2 WHERE name = ?1", params![name, place(count)])?;
        }
        transaction.commit()?;
        reached.events = u64::try_from(events).unwrap_or(u64::MAX);
        reached.until = piece.last().map_or(reached.until, |event| event.at);
    }
    Ok(())
}

fn write_events(
    to: &Transaction<'_>,
    next: &mut i64,
    events: &[Event],
    sections: &mut SectionsTouched<'_>,
) -> rusqlite::Result<()> {
    let mut insert = to.prepare_cached("INSERT INTO event VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")?;
    for event in events {
        let number = number_at(event.at).map_or(*next, |number| number.max(*next));
        if number_at(event.at) != Some(number >> MOMENT_SHIFT << MOMENT_SHIFT) {
            // More events in a nanosecond than there are numbers, or a moment of another century.
            to.prepare_cached("INSERT INTO moment VALUES (?1, ?2)")?.execute([number, signed(event.at.0)])?;
        }
        *next = number.saturating_add(1);
        let code_file = event.code.map(|code| code.file).filter(|code| Some(*code) != event.file);
        insert.execute(params![
            number,
            event.thread.0,
            event.kind.number(),
            event.file.map(|file| file.0),
            signed(event.page),
            event.pages,
            sections.of(event),
            event.code.map(|code| signed(code.address)),
            code_file.map(|file| file.0),
        ])?;
    }
    Ok(())
}

/// The first number for events of a moment; `None` for moments that no number can hold.
fn number_at(at: Moment) -> Option<i64> {
    // Half of the numbers are left for what comes behind.
    let at = i64::try_from(at.0).ok().filter(|at| *at < i64::MAX >> (MOMENT_SHIFT + 1))?;
    Some(at << MOMENT_SHIFT)
}

fn write_lookups(to: &Transaction<'_>, first: usize, lookups: &[Lookup], trace: &Trace) -> rusqlite::Result<()> {
    let mut insert = to.prepare_cached("INSERT INTO lookup VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?;
    for (number, lookup) in lookups.iter().enumerate() {
        // Most names that are asked for are those of the files that are found.
        let file = lookup.file.and_then(|file| trace.file(file));
        let path = Some(lookup.path.as_os_str()).filter(|path| file.is_none_or(|file| file.path.as_os_str() != *path));
        insert.execute(params![
            place(first + number),
            signed(lookup.at.0),
            lookup.process.map(|process| process.0),
            lookup.kind.word(),
            lookup.failed,
            lookup.file.map(|file| file.0),
            path.map(Bytes),
        ])?;
    }
    Ok(())
}
