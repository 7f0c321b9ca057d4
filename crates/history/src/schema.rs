//! The tables, and how older formats are upgraded.
//!
//! `docs/formats/history.md` explains them. Each entry of [`STEPS`] upgrades the format of its index to the next; a
//! released step is never changed.

use rusqlite::{Connection, Transaction};

/// SQLite's `application_id` of our files: "cold".
pub(crate) const APPLICATION: i64 = 0x636f_6c64;

/// Upgrades from each format to the next.
pub(crate) const STEPS: &[&str] = &[
    "
CREATE TABLE machine (
    id INTEGER PRIMARY KEY,
    kernel TEXT NOT NULL,
    processor TEXT NOT NULL,
    processor_count INTEGER NOT NULL,
    memory INTEGER NOT NULL,
    governor TEXT,
    devices TEXT NOT NULL
);
CREATE TABLE measurement (
    id INTEGER PRIMARY KEY,
    uid TEXT NOT NULL UNIQUE,
    measured_at INTEGER NOT NULL,
    label TEXT,
    coldstart_version TEXT NOT NULL,
    machine INTEGER NOT NULL REFERENCES machine (id),
    json TEXT NOT NULL
);
CREATE INDEX measurement_by_label ON measurement (label);
CREATE TABLE command (
    measurement INTEGER NOT NULL REFERENCES measurement (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    label TEXT NOT NULL,
    command_line TEXT NOT NULL,
    readiness TEXT NOT NULL,
    program TEXT,
    program_size INTEGER,
    program_modified INTEGER,
    build_id TEXT,
    content_hash TEXT,
    PRIMARY KEY (measurement, position)
);
CREATE INDEX command_by_line ON command (command_line);
CREATE TABLE summary (
    measurement INTEGER NOT NULL,
    command INTEGER NOT NULL,
    state TEXT NOT NULL,
    counted INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    contradicting INTEGER NOT NULL,
    median REAL,
    mean REAL,
    mean_low REAL,
    mean_high REAL,
    least REAL,
    most REAL,
    standard_deviation REAL,
    FOREIGN KEY (measurement, command) REFERENCES command (measurement, position) ON DELETE CASCADE
);
CREATE INDEX summary_by_measurement ON summary (measurement);
CREATE TABLE sample (
    measurement INTEGER NOT NULL,
    position INTEGER NOT NULL,
    number INTEGER NOT NULL,
    command INTEGER NOT NULL,
    state TEXT NOT NULL,
    round INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    used TEXT NOT NULL,
    reason TEXT,
    seconds REAL,
    how_it_ended TEXT NOT NULL,
    bytes_read INTEGER NOT NULL,
    major_faults INTEGER NOT NULL,
    minor_faults INTEGER NOT NULL,
    user_seconds REAL NOT NULL,
    system_seconds REAL NOT NULL,
    file_pages INTEGER,
    resident_pages INTEGER,
    json TEXT NOT NULL,
    PRIMARY KEY (measurement, position),
    FOREIGN KEY (measurement, command) REFERENCES command (measurement, position) ON DELETE CASCADE
);
CREATE TABLE warning (
    measurement INTEGER NOT NULL REFERENCES measurement (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    kind TEXT NOT NULL,
    sentence TEXT NOT NULL,
    PRIMARY KEY (measurement, position)
);
",
    // A run's reads may be unknown. SQLite cannot drop NOT NULL from a column, so the table is recreated.
    "
CREATE TABLE sample_anew (
    measurement INTEGER NOT NULL,
    position INTEGER NOT NULL,
    number INTEGER NOT NULL,
    command INTEGER NOT NULL,
    state TEXT NOT NULL,
    round INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    used TEXT NOT NULL,
    reason TEXT,
    seconds REAL,
    how_it_ended TEXT NOT NULL,
    bytes_read INTEGER,
    major_faults INTEGER,
    minor_faults INTEGER,
    user_seconds REAL,
    system_seconds REAL,
    file_pages INTEGER,
    resident_pages INTEGER,
    json TEXT NOT NULL,
    PRIMARY KEY (measurement, position),
    FOREIGN KEY (measurement, command) REFERENCES command (measurement, position) ON DELETE CASCADE
);
INSERT INTO sample_anew SELECT * FROM sample;
DROP TABLE sample;
ALTER TABLE sample_anew RENAME TO sample;
",
];

/// The format after `steps`.
pub(crate) fn known(steps: &[&str]) -> i64 {
    i64::try_from(steps.len()).unwrap_or(i64::MAX)
}

/// The format a database has; 0 if it is empty.
pub(crate) fn format(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Runs the missing steps. All of them, or none: within one transaction.
pub(crate) fn bring_up_to_date(transaction: &Transaction<'_>, steps: &[&str]) -> rusqlite::Result<()> {
    let done = usize::try_from(format(transaction)?).unwrap_or(0);
    for step in steps.get(done..).unwrap_or_default() {
        transaction.execute_batch(step)?;
    }
    // Also if nothing was missing: it is the smallest possible write, and tests whether writing is permitted.
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", known(steps))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_format_is_brought_forward_with_what_it_holds() {
        let mut connection = Connection::open_in_memory().unwrap();
        let transaction = connection.transaction().unwrap();
        bring_up_to_date(&transaction, STEPS).unwrap();
        transaction.execute_batch("INSERT INTO machine VALUES (7, '6.1', 'P', 2, 1, NULL, '')").unwrap();
        transaction.commit().unwrap();
        let steps = [STEPS, &["ALTER TABLE machine ADD COLUMN name TEXT NOT NULL DEFAULT '?'"]].concat();
        for _ in 0..2 {
            let transaction = connection.transaction().unwrap();
            bring_up_to_date(&transaction, &steps).unwrap();
            transaction.commit().unwrap();
        }
        assert_eq!(format(&connection).unwrap(), known(&steps));
        let name: String = connection.query_row("SELECT name FROM machine WHERE id = 7", [], |row| row.get(0)).unwrap();
        assert_eq!(name, "?");
    }

    #[test]
    fn the_first_format_keeps_its_runs_and_may_hold_unknown_figures_afterwards() {
        let mut connection = Connection::open_in_memory().unwrap();
        connection.pragma_update(None, "foreign_keys", true).unwrap();
        let transaction = connection.transaction().unwrap();
        bring_up_to_date(&transaction, &STEPS[..1]).unwrap();
        let run = |number: u32, read: &str| {
            format!(
                "INSERT INTO sample VALUES (1, {number}, {number}, 0, 'cold', 1, 1, 'counted', NULL, 1.5, 'ended', {read},
                 {read}, {read}, 0.1, 0.2, 9, 8, '{{}}')"
            )
        };
        transaction
            .execute_batch(
                "INSERT INTO machine VALUES (7, '6.1', 'P', 2, 1, NULL, '');
                 INSERT INTO measurement VALUES (1, 'u', 5, NULL, '0.1.0', 7, '{}');
                 INSERT INTO command VALUES (1, 0, 'A', 'a', 'exit', NULL, NULL, NULL, NULL, NULL)",
            )
            .unwrap();
        transaction.execute_batch(&run(1, "4096")).unwrap();
        assert!(transaction.execute_batch(&run(2, "NULL")).is_err());
        transaction.commit().unwrap();
        let transaction = connection.transaction().unwrap();
        bring_up_to_date(&transaction, STEPS).unwrap();
        transaction.execute_batch(&run(2, "NULL")).unwrap();
        transaction.commit().unwrap();
        let read: Vec<Option<i64>> = connection
            .prepare("SELECT bytes_read FROM sample ORDER BY number")
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert_eq!(read, [Some(4096), None]);
        connection.execute_batch("DELETE FROM measurement").unwrap();
        let left: i64 = connection.query_row("SELECT count(*) FROM sample", [], |row| row.get(0)).unwrap();
        assert_eq!(left, 0, "runs still go with their measurement");
    }

    #[test]
    fn a_step_that_fails_leaves_the_older_format() {
        let mut connection = Connection::open_in_memory().unwrap();
        let transaction = connection.transaction().unwrap();
        bring_up_to_date(&transaction, STEPS).unwrap();
        transaction.commit().unwrap();
        let steps = [STEPS, &["CREATE TABLE new_one (a)", "CREATE TABLE machine (a)"]].concat();
        let transaction = connection.transaction().unwrap();
        assert!(bring_up_to_date(&transaction, &steps).is_err());
        drop(transaction);
        assert_eq!(format(&connection).unwrap(), known(STEPS));
        assert!(connection.prepare("SELECT * FROM new_one").is_err());
    }
}
