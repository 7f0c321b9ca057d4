//! Writes a trace: to a temporary file, complete, then renamed.
//!
//! Not obvious: a full disk is no reason to lose a recording that cannot be repeated. Everything
//! that a reader needs first comes before the events, and the events are written in pieces, in order of time. If the
//! disk is full, the current piece is rolled back, and the file is a shorter trace that says so.

mod events;
mod head;

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use coldstart_output::{OutputKind, OutputTarget};
use coldstart_profile::trace::{Moment, Trace};
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::TraceFileError;
use crate::open::TraceFile;
use crate::schema::{APPLICATION, DATABASE_PAGE, FORMAT, TABLES};
use crate::side_files::{self, with_suffix};
use crate::views::VIEWS;

/// What SQLite may keep in memory while it writes, in KiB: a piece of events and more, so that nothing is written
/// twice.
const CACHE_KIB: i64 = 16 * 1024;

/// A trace was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// The size of the file.
    pub bytes: u64,
}

/// How far the events came.
struct Reached {
    events: u64,
    until: Moment,
    stopped_by: Option<rusqlite::Error>,
}

/// What a trace may replace: a trace, whole or damaged.
pub const KIND: OutputKind = OutputKind { name: "a trace", recognises: is_trace, same_bytes: false };

/// How every SQLite database begins (SQLite file format, 1.3.1).
const DATABASE: &[u8] = b"SQLite format 3\0";
/// Where SQLite keeps the application's number, big-endian (SQLite file format, 1.3).
const APPLICATION_AT: usize = 68;

/// Whether a file's header is that of a trace.
fn is_trace(file: &File) -> io::Result<bool> {
    let mut header = [0; APPLICATION_AT + 4];
    match file.read_exact_at(&mut header, 0) {
        Ok(()) => Ok(header.starts_with(DATABASE) && header.ends_with(&APPLICATION.to_be_bytes())),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// Tries out whether a trace can be written there, before the start that it is about: that cannot be repeated as it
/// was.
///
/// # Errors
/// The reason why not.
pub fn try_out(place: &OutputTarget) -> Result<(), TraceFileError> {
    place.try_out()?;
    check_side_files(place)
}

/// A journal may stand beside an earlier trace, whose it is, and nowhere else: SQLite would play it into the new one,
/// and it is not ours to remove.
fn check_side_files(place: &OutputTarget) -> Result<(), TraceFileError> {
    let target = place.sure_path();
    let is_file = fs::symlink_metadata(&target).is_ok_and(|found| found.is_file());
    if is_file && File::open(&target).and_then(|file| is_trace(&file)).unwrap_or(false) {
        return Ok(());
    }
    let is_there = |path: &PathBuf| fs::symlink_metadata(path).is_ok();
    match side_files::SUFFIXES.into_iter().find(|suffix| is_there(&with_suffix(&target, suffix))) {
        None => Ok(()),
        Some(suffix) => {
            let there = with_suffix(&place.real_path(), suffix);
            let what = format!("`{}` exists; SQLite would treat it as part of the trace", there.display());
            Err(TraceFileError::NotWritable { path: place.path().to_owned(), source: io::Error::other(what) })
        }
    }
}

/// Writes a trace to a file of this name, over an earlier trace at most.
///
/// # Errors
/// As [`write_trace_at`].
pub fn write_trace(path: &Path, trace: &Trace) -> Result<Written, TraceFileError> {
    write_trace_at(&OutputTarget::new(path, KIND, false)?, trace)
}

/// Writes a trace to its place. Symbols and lookups are expected in the order that [`Trace`] promises; symbols are put
/// into it.
///
/// # Errors
/// [`TraceFileError::Incomplete`] when the disk became full, and the file holds what had room; after all others what
/// stood there before is there still.
pub fn write_trace_at(place: &OutputTarget, trace: &Trace) -> Result<Written, TraceFileError> {
    let path = place.path();
    let not_writable = |source| TraceFileError::NotWritable { path: path.to_owned(), source };
    check_side_files(place)?;
    let staged = place.begin_named()?;
    let beside = staged.temporary_path().and_then(Path::file_name);
    // SQLite does not open a file by a link to its directory, as the sure path is one.
    let beside = place.directory().join(beside.ok_or_else(|| not_writable(io::ErrorKind::NotFound.into()))?);
    let reached = fill(&beside, trace).map_err(|error| {
        let source = io_error(error);
        let path = path.to_owned();
        if is_full(&source) {
            TraceFileError::NoRoom { path, source }
        } else {
            TraceFileError::NotWritable { path, source }
        }
    })?;
    if reached.stopped_by.is_some()
        && let Err(damage) = read_back(&beside, reached.events)
    {
        let source = reached.stopped_by.map_or_else(|| io::ErrorKind::StorageFull.into(), io_error);
        return Err(TraceFileError::NotKept { path: path.to_owned(), damage, source });
    }
    let bytes = staged.file().metadata().map_err(not_writable)?.len();
    // They belong to what is replaced, and SQLite would play them back into the new file.
    place.check()?;
    for suffix in side_files::SUFFIXES {
        match fs::remove_file(with_suffix(&place.sure_path(), suffix)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(not_writable(error)),
            _ => {}
        }
    }
    // SQLite was told not to wait for the disk; this is the one time that it matters.
    place.finish(staged)?;
    match reached.stopped_by {
        None => Ok(Written { bytes }),
        Some(error) => Err(TraceFileError::Incomplete {
            path: path.to_owned(),
            events_kept: reached.events,
            events_total: u64::try_from(trace.events.len()).unwrap_or(u64::MAX),
            until: reached.until,
            source: io_error(error),
        }),
    }
}

/// Whether a shortened trace has the events that had room. Taking back a piece overwrites pages; where that needs room, too
/// (copy-on-write file systems), SQLite may fail to do so, and says nothing.
fn read_back(path: &Path, events: u64) -> Result<(), String> {
    let read = TraceFile::open(path).and_then(|file| file.read());
    match read {
        Ok(trace) if u64::try_from(trace.events.len()) == Ok(events) => Ok(()),
        Ok(trace) => Err(format!("it has {} events instead of {events}", trace.events.len())),
        Err(TraceFileError::Damaged { what, .. }) => Err(what),
        Err(error) => Err(error.to_string()),
    }
}

/// Fails only if not even what is before the events could be written.
fn fill(path: &Path, trace: &Trace) -> rusqlite::Result<Reached> {
    // Without links: another user may have exchanged a directory on the way.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.pragma_update(None, "page_size", DATABASE_PAGE)?;
    // Only we know the file, and after a crash it is rubbish: the journal serves to take back a piece that had no room.
    connection.pragma_update_and_check(None, "journal_mode", "MEMORY", |_| Ok(()))?;
    connection.pragma_update_and_check(None, "locking_mode", "EXCLUSIVE", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "OFF")?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    // Rows name rows that are written later.
    connection.pragma_update(None, "foreign_keys", false)?;
    connection.pragma_update(None, "application_id", APPLICATION)?;
    let transaction = connection.transaction()?;
    for (_, text) in TABLES.iter().chain(VIEWS) {
        transaction.execute_batch(text)?;
    }
    head::write(&transaction, trace)?;
    transaction.pragma_update(None, "user_version", FORMAT)?;
    transaction.commit()?;
    let mut reached = Reached { events: 0, until: Moment(0), stopped_by: None };
    if let Err(error) = events::write(&mut connection, trace, &mut reached) {
        reached.stopped_by = Some(error);
    } else if trace.run.complete
        && let Err(error) = connection.execute("UPDATE run SET complete = 1", [])
    {
        reached.stopped_by = Some(error);
    }
    connection.close().map_err(|(_, error)| error)?;
    Ok(reached)
}

/// SQLite's errors as the system's, as far as it matters what to do about them.
fn io_error(error: rusqlite::Error) -> io::Error {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => io::Error::new(io::ErrorKind::StorageFull, "no space left on the disk"),
        _ => io::Error::other(error),
    }
}

fn is_full(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::StorageFull
}
