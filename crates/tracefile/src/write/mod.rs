//! Writing a trace: beside its place, whole, then under its name.
//!
//! What a newcomer would not guess: a full disk is no reason to lose a recording that cannot be repeated. Everything that a
//! reader needs first stands before the events, and the events are written in pieces, in order of time. When the disk is
//! full, the piece that was begun is taken back, and what stands there is a shorter trace that says so.

mod events;
mod head;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use coldstart_profile::trace::{Moment, Trace};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use tempfile::NamedTempFile;

use crate::error::TraceFileError;
use crate::schema::{APPLICATION, DATABASE_PAGE, FORMAT, TABLES};
use crate::views::VIEWS;

/// What SQLite may keep in memory while it writes, in KiB: a piece of events and more, so that nothing is written twice.
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

/// Writes a trace to a file, in the place of what has this name. Symbols and lookups are expected in the order that
/// [`Trace`] promises; symbols are put into it.
///
/// # Errors
/// [`TraceFileError::Incomplete`] when the disk became full, and the file holds what had room; after all others what stood
/// there before stands there still.
pub fn write_trace(path: &Path, trace: &Trace) -> Result<Written, TraceFileError> {
    let not_writable = |source| TraceFileError::NotWritable { path: path.to_owned(), source };
    let target = place_of(path).map_err(not_writable)?;
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    let beside = temporary(&folder).map_err(not_writable)?;
    let reached = fill(beside.path(), trace).map_err(|error| {
        let source = io_error(error);
        let path = path.to_owned();
        if is_full(&source) {
            TraceFileError::NoRoom { path, source }
        } else {
            TraceFileError::NotWritable { path, source }
        }
    })?;
    // SQLite was told not to wait for the disk; this is the one time that it matters.
    beside.as_file().sync_all().map_err(not_writable)?;
    let bytes = fs::metadata(beside.path()).map_err(not_writable)?.len();
    // They belong to what is replaced, and SQLite would play them back into the new file.
    for suffix in ["-journal", "-wal", "-shm"] {
        match fs::remove_file(with_suffix(&target, suffix)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(not_writable(error)),
            _ => {}
        }
    }
    beside.persist(&target).map_err(|error| not_writable(error.error))?;
    // The rename itself must last, too. A file system that cannot flush a directory has renamed all the same.
    let _ = File::open(&folder).and_then(|folder| folder.sync_all());
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

/// The file itself where the path is a link. A device, say, is not replaced by a file.
fn place_of(path: &Path) -> io::Result<PathBuf> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => fs::canonicalize(path),
        Ok(metadata) if metadata.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(_) => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => std::path::absolute(path),
        Err(error) => Err(error),
    }
}

fn temporary(folder: &Path) -> io::Result<NamedTempFile> {
    use std::os::unix::fs::PermissionsExt;

    // As any other new file: what the user's mask leaves.
    let mode = fs::Permissions::from_mode(0o666);
    tempfile::Builder::new().prefix(".").suffix(".coldtrace.partial").permissions(mode).tempfile_in(folder)
}

/// Another file's name, made of this one's.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Fails only if not even what stands before the events could be written.
fn fill(path: &Path, trace: &Trace) -> rusqlite::Result<Reached> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
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
        Some(ErrorCode::DiskFull) => io::Error::new(io::ErrorKind::StorageFull, "there is no room on the disk"),
        _ => io::Error::other(error),
    }
}

fn is_full(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::StorageFull
}
