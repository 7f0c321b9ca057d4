//! Files that are no traces, or were made to harm: an error that names the file, and no harm.

use std::fs;
use std::path::{Path, PathBuf};

use coldstart_tracefile::{TraceFile, TraceFileError, write_trace};

use crate::common::{Random, large, small};

fn refused(path: &Path) -> TraceFileError {
    let before = fs::read(path).ok();
    let error = TraceFile::open(path).and_then(|file| file.read()).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains(&path.display().to_string()), "{error}");
    assert!(error.hint().is_some(), "{error}");
    assert_eq!(fs::read(path).ok(), before, "it was changed");
    error
}

fn written(folder: &Path) -> PathBuf {
    let path = folder.join("t.coldtrace");
    write_trace(&path, &small()).unwrap();
    path
}

/// As somebody with `sqlite3` would change it.
fn change(path: &Path, sql: &str) {
    rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

#[test]
fn other_files() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("text"), "dear diary, ".repeat(1000)).unwrap();
    fs::write(at("short"), "SQLite format 3\0").unwrap();
    fs::write(at("empty"), "").unwrap();
    fs::create_dir(at("directory")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
    change(&at("foreign"), "CREATE TABLE a (b)");
    change(&at("history"), "PRAGMA application_id = 1668246628; CREATE TABLE a (b)");
    for (name, words) in [
        ("text", "not a SQLite database"),
        ("short", "not a SQLite database"),
        ("empty", "is empty"),
        ("foreign", "another program's"),
        ("history", "history of measurements"),
        ("missing", "No such file"),
    ] {
        let error = refused(&at(name));
        assert!(error.to_string().contains(words), "{error}");
    }
    // Neither is opened, so nothing waits for a process that would write to the FIFO.
    for (name, kind) in [("pipe", "a FIFO"), ("directory", "a directory")] {
        let error = TraceFile::open(&at(name)).unwrap_err();
        assert!(error.to_string().ends_with(&format!("it is {kind}, not a regular file")), "{error}");
    }
}

#[test]
fn later_formats_and_begun_changes() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path());
    change(&path, "PRAGMA user_version = 2");
    assert!(matches!(refused(&path), TraceFileError::Newer { found: 2, known: 1, .. }));
    change(&path, "PRAGMA user_version = 0");
    assert!(matches!(refused(&path), TraceFileError::Damaged { .. }));
    let path = written(folder.path());
    fs::write(folder.path().join("t.coldtrace-wal"), "x").unwrap();
    assert!(matches!(refused(&path), TraceFileError::BeingChanged { .. }));
}

#[test]
fn tables_and_views_that_are_not_ours() {
    let folder = tempfile::tempdir().unwrap();
    for (sql, words) in [
        ("DROP VIEW touches", "`touches` is missing"),
        ("DROP VIEW touches; CREATE VIEW touches AS SELECT 1", "differs from coldstart's definition"),
        ("DROP TABLE lookup; CREATE VIEW lookup AS SELECT randomblob(1 << 30)", "differs from coldstart's definition"),
        ("CREATE VIEW mine AS SELECT 1", "unexpected view `mine`"),
        ("CREATE TRIGGER t AFTER INSERT ON event BEGIN DELETE FROM run; END", "unexpected trigger `t`"),
        ("CREATE VIRTUAL TABLE v USING dbstat", "`v`"),
    ] {
        let path = written(folder.path());
        change(&path, sql);
        let error = refused(&path);
        assert!(matches!(error, TraceFileError::Damaged { .. }), "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
    // An index or a table of one's own does no harm.
    let path = written(folder.path());
    change(&path, "CREATE INDEX i ON event (file); CREATE TABLE mine (a); ANALYZE");
    assert!(TraceFile::open(&path).unwrap().read().unwrap() == small());
}

#[test]
fn values_that_cannot_be() {
    let folder = tempfile::tempdir().unwrap();
    for (sql, table) in [
        ("UPDATE event SET kind = 102 WHERE id = (SELECT max(id) FROM event)", "event"),
        ("UPDATE event SET page = 'x'", "event"),
        ("UPDATE event SET pages = 1 << 40", "event"),
        ("UPDATE file SET category = 'mine'", "file"),
        ("UPDATE file SET device = 7.5", "file"),
        ("UPDATE file SET size = NULL", "file"),
        ("UPDATE file SET id = 10 WHERE id = 1", "file"),
        ("UPDATE run SET kernel = CAST(x'ff' AS TEXT)", "run"),
        ("UPDATE run SET code = NULL", "run"),
        ("DELETE FROM run", "run"),
        ("UPDATE phase SET parent = 3", "phase"),
        ("UPDATE section SET object = 9", "section"),
        ("UPDATE symbol SET object = 9", "symbol"),
        ("UPDATE relocation SET kind = 99", "relocation"),
        ("UPDATE lookup SET path = NULL", "lookup"),
        ("UPDATE argument SET process = 5", "argument"),
        ("DELETE FROM event WHERE page = 3", "events"),
    ] {
        let path = written(folder.path());
        change(&path, sql);
        println!("{sql}");
        let error = refused(&path);
        assert!(matches!(error, TraceFileError::Damaged { .. }), "{sql}: {error}");
        assert!(error.to_string().contains(table), "{sql}: {error}");
    }
}

#[test]
fn damage_anywhere_is_an_error_or_another_trace() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    write_trace(&path, &large(3000)).unwrap();
    let whole = fs::read(&path).unwrap();
    let mut random = Random(7);
    for round in 0..90 {
        let mut bytes = whole.clone();
        match round % 3 {
            0 => bytes.truncate(usize::try_from(random.below(whole.len() as u64)).unwrap()),
            1 => {
                let page = random.below(whole.len() as u64 / 4096) as usize * 4096;
                bytes[page..page + 4096].fill(round as u8);
            }
            // The first bytes of pages are where trees are held together.
            _ => (0..20).for_each(|_| {
                let page = random.below(whole.len() as u64 / 4096) as usize * 4096;
                bytes[page + random.below(40) as usize] = random.below(256) as u8;
            }),
        }
        fs::write(&path, &bytes).unwrap();
        let Ok(mut file) = TraceFile::open(&path) else { continue };
        let _ = (file.read(), file.summary());
        for view in ["touches", "files", "symbols"] {
            let limit = std::time::Duration::from_millis(200);
            let _ = file.query(&format!("SELECT * FROM {view}"), Some(limit), |_| std::ops::ControlFlow::Continue(()));
        }
    }
}

#[test]
fn a_tree_in_circles_comes_to_an_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    write_trace(&path, &large(60_000)).unwrap();
    let root: u32 = {
        let connection = rusqlite::Connection::open(&path).unwrap();
        connection.query_row("SELECT rootpage FROM sqlite_schema WHERE name = 'event'", [], |row| row.get(0)).unwrap()
    };
    // An interior page of a table (file format, 1.6): the type 5, the count of cells at 3, pointers to cells from 12
    // on; a cell begins with the number of its child. All children become the first one.
    let mut bytes = fs::read(&path).unwrap();
    let page = (root as usize - 1) * 4096;
    assert_eq!(bytes[page], 5);
    let cells = usize::from(u16::from_be_bytes([bytes[page + 3], bytes[page + 4]]));
    let cell = |bytes: &[u8], number: usize| {
        let at = page + 12 + number * 2;
        page + usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]))
    };
    let first = cell(&bytes, 0);
    let child: [u8; 4] = bytes[first..first + 4].try_into().unwrap();
    // At 8 stands the last child, which has no cell.
    bytes[page + 8..page + 12].copy_from_slice(&child);
    for number in 0..cells {
        let at = cell(&bytes, number);
        bytes[at..at + 4].copy_from_slice(&child);
    }
    fs::write(&path, bytes).unwrap();
    let error = refused(&path);
    assert!(matches!(error, TraceFileError::Damaged { .. }), "{error}");
}
