//! Opens a trace file and checks that it can be queried safely.
//!
//! What a newcomer would not guess: a database is a program. Its views are queries that run when they are read, its
//! triggers run when it is written, its virtual tables call code. So before any query, tables and views must be
//! exactly those that this crate creates, and there must be no other views, triggers or virtual tables.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use coldstart_sys::named_file::{NotUsable, open_regular};
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};

use crate::error::TraceFileError;
use crate::query;
use crate::schema::{APPLICATION, FORMAT, TABLES};
use crate::side_files::with_suffix;
use crate::views::VIEWS;

/// Steps of SQLite's virtual machine between two looks at the limits: some microseconds.
const STEPS_AT_ONCE: i32 = 1000;

/// How many such looks an answer of ours may take at least, and one more for so many bytes of the file. A row takes
/// some 30 steps and a dozen bytes; a hostile file can make SQLite walk the same pages again and again.
const LEAST_LOOKS: i64 = 10_000;
const BYTES_PER_LOOK: u64 = 32;

/// The largest trace that is read, in bytes. One of a million events has some forty million, and its events are held
/// in memory.
const MOST_BYTES: u64 = 4 << 30;

/// An open trace file.
#[derive(Debug)]
pub struct TraceFile {
    pub(crate) connection: Connection,
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    looks_left: Arc<AtomicI64>,
}

impl TraceFile {
    /// Opens a trace to read it. The file is never written, and nothing beside it.
    ///
    /// # Errors
    /// [`TraceFileError`]: not there, empty, another program's, of a later format, damaged.
    pub fn open(path: &Path) -> Result<Self, TraceFileError> {
        let bytes = check_header(path)?;
        for suffix in ["-journal", "-wal"] {
            let journal = with_suffix(path, suffix);
            if fs::metadata(&journal).is_ok_and(|metadata| metadata.len() > 0) {
                return Err(TraceFileError::BeingChanged { path: path.to_owned(), journal });
            }
        }
        let looks_left = Arc::new(AtomicI64::new(LEAST_LOOKS));
        let connection =
            connect(path, bytes, &looks_left).map_err(|error| TraceFileError::from_sqlite(path, &error))?;
        let file = Self { connection, path: path.to_owned(), bytes, looks_left };
        file.check_schema()?;
        Ok(file)
    }

    /// Its path, as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its size in bytes.
    pub fn size(&self) -> u64 {
        self.bytes
    }

    /// A new question of ours begins: as many steps as the file has a right to.
    pub(crate) fn begin_reading(&self) {
        let looks = LEAST_LOOKS.saturating_add_unsigned(self.bytes / BYTES_PER_LOOK);
        self.looks_left.store(looks, Ordering::Relaxed);
    }

    /// Sets the limits of user queries.
    pub(crate) fn watch(&mut self, ends: impl FnMut() -> bool + Send + 'static) -> Result<(), TraceFileError> {
        let watched = self.connection.progress_handler(STEPS_AT_ONCE, Some(ends));
        watched.map_err(|error| self.error(&error))
    }

    /// Questions of ours follow.
    pub(crate) fn watch_reading(&mut self) -> Result<(), TraceFileError> {
        let looks_left = Arc::clone(&self.looks_left);
        self.watch(looks_at(looks_left))
    }

    /// What went wrong with a question of ours.
    pub(crate) fn error(&self, error: &rusqlite::Error) -> TraceFileError {
        if error.sqlite_error_code() == Some(rusqlite::ErrorCode::OperationInterrupted) {
            if self.looks_left.load(Ordering::Relaxed) > 0 {
                return TraceFileError::Interrupted;
            }
            return TraceFileError::damaged(&self.path, "its tables contain a cycle");
        }
        TraceFileError::from_sqlite(&self.path, error)
    }

    fn check_schema(&self) -> Result<(), TraceFileError> {
        let damaged = |what: String| TraceFileError::damaged(&self.path, what);
        self.begin_reading();
        let read = || {
            let mut statement =
                self.connection.prepare("SELECT type, name, sql FROM sqlite_schema WHERE type <> 'index'")?;
            let entry = |row: &rusqlite::Row<'_>| {
                Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?))
            };
            statement.query_map([], entry)?.collect::<rusqlite::Result<Vec<_>>>()
        };
        let entries = read().map_err(|error: rusqlite::Error| self.error(&error))?;
        let mut found = HashMap::new();
        for (kind, name, text) in entries {
            let is_ours = TABLES.iter().chain(VIEWS).any(|(known, _)| *known == name);
            // People may well add a table of their own. It does nothing.
            if !is_ours && (kind != "table" || text.to_ascii_uppercase().starts_with("CREATE VIRTUAL")) {
                return Err(damaged(format!("unexpected {kind} `{name}`")));
            }
            found.insert(name, text);
        }
        for (name, text) in TABLES.iter().chain(VIEWS) {
            match found.get(*name) {
                None => return Err(damaged(format!("`{name}` is missing"))),
                Some(there) if there != text => {
                    return Err(damaged(format!("`{name}` differs from coldstart's definition")));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }
}

/// Whether it is ours and of a format that is known, before SQLite sees it. Gives the file's size.
fn check_header(path: &Path) -> Result<u64, TraceFileError> {
    let not_readable = |source| TraceFileError::NotReadable { path: path.to_owned(), source };
    let something_else =
        |what: &str| Err(TraceFileError::SomethingElse { path: path.to_owned(), what: what.to_owned() });
    let mut file = open_regular(path).map_err(not_readable)?;
    let size = file.metadata().map_err(not_readable)?.len();
    if size == 0 {
        return Err(TraceFileError::Empty { path: path.to_owned() });
    }
    if size > MOST_BYTES {
        return Err(not_readable(NotUsable::TooLarge { limit: MOST_BYTES }.into()));
    }
    // SQLite file format, section 1.3: the header of 100 bytes, numbers big-endian.
    let mut header = [0; 100];
    match file.read_exact(&mut header) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            return something_else("not a SQLite database");
        }
        read => read.map_err(not_readable)?,
    }
    if !header.starts_with(b"SQLite format 3\0") {
        return something_else("not a SQLite database");
    }
    let number = |at: usize| header.get(at..)?.first_chunk().copied().map(u32::from_be_bytes);
    match number(68) {
        Some(APPLICATION) => {}
        // The history's: `docs/formats/history.md`.
        Some(0x636f_6c64) => return something_else("a history of measurements"),
        _ => return something_else("another program's database"),
    }
    match number(60) {
        Some(FORMAT) => Ok(size),
        Some(found) if found > FORMAT => Err(TraceFileError::Newer { path: path.to_owned(), found, known: FORMAT }),
        found => Err(TraceFileError::damaged(path, format!("it has format {}", found.unwrap_or_default()))),
    }
}

fn connect(path: &Path, bytes: u64, looks_left: &Arc<AtomicI64>) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(immutable_address(path), flags)?;
    connection.progress_handler(STEPS_AT_ONCE, Some(looks_at(Arc::clone(looks_left))))?;
    // No text and no row can be longer than the file.
    let longest = i32::try_from(bytes).unwrap_or(i32::MAX).max(1 << 20);
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, longest)?;
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    connection.set_limit(Limit::SQLITE_LIMIT_WORKER_THREADS, 0)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    // "path" in double quotes is a column or an error, and no text.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.pragma_update(None, "query_only", true)?;
    // A file that is cut off while it is mapped would kill us.
    connection.pragma_update_and_check(None, "mmap_size", 0, |_| Ok(()))?;
    // What a sort or a GROUP BY needs stays in memory and does not touch the disk whose start is looked at.
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.authorizer(Some(query::allow))?;
    Ok(connection)
}

/// Ends a question that has used up its looks.
fn looks_at(left: Arc<AtomicI64>) -> impl FnMut() -> bool + Send + 'static {
    move || left.fetch_sub(1, Ordering::Relaxed) <= 0
}

/// The file's address for SQLite (`sqlite.org/uri.html`): every byte escaped that might mean something. Immutable: no
/// locks, and no journal is looked for; so files can be read where nothing may be written.
fn immutable_address(path: &Path) -> String {
    let mut address = "file:".to_owned();
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for byte in absolute.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => address.push(char::from(*byte)),
            _ => address.push_str(&format!("%{byte:02x}")),
        }
    }
    address.push_str("?immutable=1");
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_means_the_file_and_nothing_else() {
        let path = Path::new("/tmp/a b?mode=rwc#%41\u{e9}");
        assert_eq!(immutable_address(path), "file:/tmp/a%20b%3fmode%3drwc%23%2541%c3%a9?immutable=1");
    }
}
