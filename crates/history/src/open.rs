//! Opening a history: any problem with it is found here, before hours of measuring.
//!
//! A rollback journal and no write-ahead log: the log needs memory shared between processes, which network file systems
//! do not support, and home directories may be on them. Writes are small and rare, so writers can take turns.

use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use coldstart_sys::named_file::{LastLink, NamedFile, NotUsable, open_regular};
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::error::HistoryError;
use crate::schema::{APPLICATION, STEPS, bring_up_to_date, format, known};

/// Timeout for another writer: writing takes milliseconds, on a slow network disk perhaps a second.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// SQLite's smallest page size, and so the size of the smallest database that is not empty, in bytes.
const SMALLEST: u64 = 512;

/// The largest history that is opened, in bytes: it is checked as a whole each time. A measurement takes some thousand.
const MOST_BYTES: u64 = 4 << 30;

/// An open history.
#[derive(Debug)]
pub struct History {
    pub(crate) connection: Connection,
    pub(crate) path: PathBuf,
}

impl History {
    /// Opens a history for reading and writing, and creates it if there is none. It is checked: intact, ours, and
    /// writable. An older format is upgraded.
    ///
    /// # Errors
    /// See [`HistoryError`]; after those that are [passing](HistoryError::is_passing) reading may still work.
    pub fn open(path: &Path) -> Result<Self, HistoryError> {
        let path = absolute(path)?;
        refuse_what_is_no_file(&path)?;
        if let Some(directory) = path.parent() {
            // The XDG base directory specification wants directories that are made for it to be private.
            let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(directory);
            made.map_err(|error| HistoryError::from_io(&path, &error))?;
        }
        create_private(&path);
        let mut history = Self::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
        history.check()?;
        history.prepare_to_write()?;
        Ok(history)
    }

    /// Opens a history to read it; `None` if there is no such file.
    ///
    /// # Errors
    /// See [`HistoryError`].
    pub fn open_to_read(path: &Path) -> Result<Option<Self>, HistoryError> {
        let path = absolute(path)?;
        refuse_what_is_no_file(&path)?;
        // A dangling link counts as no file, too.
        if !path.try_exists().map_err(|error| HistoryError::from_io(&path, &error))? {
            return Ok(None);
        }
        // SQLite's own error would be too general.
        if let Err(error) = open_regular(&path)
            && error.kind() == io::ErrorKind::PermissionDenied
        {
            return Err(HistoryError::NotReadable { path, reason: error.to_string() });
        }
        // Not read-only: a killed writer's incomplete changes are rolled back first, if permitted. SQLite itself falls back
        // to reading.
        let mut history = Self::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        match history.check()? {
            0 => return Ok(None),
            older if older < known(STEPS) => history.prepare_to_write()?,
            _ => {}
        }
        Ok(Some(history))
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn connect(path: PathBuf, flags: OpenFlags) -> Result<Self, HistoryError> {
        let connect = || {
            let connection = Connection::open_with_flags(&path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
            connection.busy_timeout(PATIENCE)?;
            connection.pragma_update(None, "foreign_keys", true)?;
            // A foreign file may contain views and triggers that call functions; ours has none.
            connection.pragma_update(None, "trusted_schema", false)?;
            Ok(connection)
        };
        let connection = connect().map_err(|error| HistoryError::from_sqlite(&path, &error))?;
        Ok(Self { connection, path })
    }

    /// Whether it is ours, of a known format, and intact. Returns the format.
    fn check(&self) -> Result<i64, HistoryError> {
        let said = |error| self.error(&error);
        // One transaction for all queries: otherwise another process may create the tables in between.
        let snapshot = self.connection.unchecked_transaction().map_err(said)?;
        let number = |pragma| snapshot.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
        let application = number("application_id").map_err(said)?;
        let found = format(&snapshot).map_err(said)?;
        let tables: i64 =
            snapshot.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0)).map_err(said)?;
        if application == 0 && found == 0 && tables == 0 {
            return Ok(0);
        }
        let path = || self.path.clone();
        if application != APPLICATION {
            let what = "it is another program's database".to_owned();
            return Err(HistoryError::SomethingElse { path: path(), what });
        }
        if found > known(STEPS) {
            return Err(HistoryError::Newer { path: path(), found, known: known(STEPS) });
        }
        let problem: String = snapshot.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(said)?;
        if problem != "ok" {
            return Err(HistoryError::Damaged { path: path(), what: problem.trim().replace('\n', "; ") });
        }
        if found < 1 {
            return Err(HistoryError::Damaged { path: path(), what: format!("it has format {found}") });
        }
        Ok(found)
    }

    /// Creates missing tables and checks that the file and its journal are writable.
    fn prepare_to_write(&mut self) -> Result<(), HistoryError> {
        let prepare = |connection: &mut Connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            // Checked again: another process may have created the tables before we had the lock.
            let is_new = format(&transaction)? < known(STEPS);
            bring_up_to_date(&transaction, STEPS)?;
            if is_new { transaction.commit() } else { transaction.rollback() }
        };
        prepare(&mut self.connection).map_err(|error| self.error(&error))
    }

    pub(crate) fn error(&self, error: &rusqlite::Error) -> HistoryError {
        HistoryError::from_sqlite(&self.path, error)
    }
}

/// Absolute, because SQLite gives `:memory:` a special meaning.
fn absolute(path: &Path) -> Result<PathBuf, HistoryError> {
    std::path::absolute(path).map_err(|error| HistoryError::from_io(path, &error))
}

/// Creates the file, if there is none, for its owner alone: command lines may contain secrets. An existing file keeps its
/// mode. SQLite gives its journal the mode of the database (`findCreateFileMode` in `os_unix.c`). What fails
/// here fails again when SQLite opens it, which then reports it.
fn create_private(path: &Path) {
    let _ = fs::OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path);
}

fn refuse_what_is_no_file(path: &Path) -> Result<(), HistoryError> {
    // Missing or unreachable: opening it reports that.
    let Ok(found) = NamedFile::find(path, LastLink::Follow) else { return Ok(()) };
    let something_else = |what: String| Err(HistoryError::SomethingElse { path: path.to_owned(), what });
    let found = match found.regular() {
        Ok(found) => found,
        Err(error) => return something_else(error.to_string()),
    };
    match u64::try_from(found.stat().st_size).unwrap_or(0) {
        // SQLite takes a file shorter than a page for an empty database, and would overwrite it.
        1..SMALLEST => something_else("it is not a SQLite database".to_owned()),
        size if size > MOST_BYTES => something_else(NotUsable::TooLarge { limit: MOST_BYTES }.to_string()),
        _ => Ok(()),
    }
}
