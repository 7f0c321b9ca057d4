//! Questions in SQL, to the library and to the `sqlite3` of the distribution.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use coldstart_tracefile::{Answer, TraceFile, TraceFileError, Value, write_trace};

use crate::common::{large, skip, small};

fn written(folder: &Path) -> PathBuf {
    let path = folder.join("t.coldtrace");
    write_trace(&path, &small()).unwrap();
    path
}

fn shown(value: &Value<'_>) -> String {
    match value {
        Value::Null => String::new(),
        Value::Integer(number) => number.to_string(),
        Value::Real(number) => format!("{number:?}"),
        Value::Text(text) => (*text).to_owned(),
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// Columns in the first line, values divided by `|`.
fn ask(file: &mut TraceFile, sql: &str) -> Result<Vec<String>, TraceFileError> {
    let mut lines = Vec::new();
    file.query(sql, Some(Duration::from_secs(60)), |answer| {
        lines.push(match answer {
            Answer::Columns(names) => names.join("|"),
            Answer::Row(values) => values.iter().map(shown).collect::<Vec<_>>().join("|"),
        });
        ControlFlow::Continue(())
    })?;
    Ok(lines)
}

#[test]
fn views_have_names_in_place_of_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = TraceFile::open(&written(folder.path())).unwrap();
    let mut ask = |sql| ask(&mut file, sql).unwrap();
    assert_eq!(
        ask("SELECT at_ms, pid, tid, path, page, section, symbol, access, major, code_path, code_symbol FROM touches"),
        [
            "at_ms|pid|tid|path|page|section|symbol|access|major|code_path|code_symbol",
            "1.0|4711|4711|/opt/p|3|.data|settings|write|1|/opt/libq.so|",
            "1.5|4711|4711|/opt/libq.so|2|.text||read|0|/opt/libq.so|",
            "2.6|4711|4711|/opt/p|2|.text|fn_2000|execute|1|/opt/p|fn_2000",
            "2.7|4711|4711|/opt/p|6|.bss|buffer|write|0|/opt/p|fn_2000",
            "6.0|4711|4711|/opt/p|2|.text|fn_2000|read|0||",
        ]
    );
    assert_eq!(ask("SELECT symbol, section, page FROM functions")[1..], ["fn_2000|.text|2", "main|.text|1"]);
    assert_eq!(ask("SELECT path, bytes FROM reads")[1..], ["/home/u/caf\u{fffd}.conf|16384"]);
    assert_eq!(ask("SELECT path, section, cause, bytes FROM fills")[1..], ["/opt/p||demand|4096", "||other|36864"]);
    assert_eq!(
        ask("SELECT path, kind, failed, means FROM lookups")[1..],
        ["/etc/missing|open|1|", "/home/u/caf\u{fffd}.conf|open|0|/home/u/caf\u{fffd}.conf", "/link/to/p|ask|0|/opt/p"]
    );
    assert_eq!(
        ask("SELECT kind, path, symbol, begin_ms, duration_ms FROM phases WHERE parent IS NOT NULL")[1..],
        ["initialiser|/opt/p|fn_2000|2.5|0.4"]
    );
    assert_eq!(
        ask("SELECT path, touches, major_faults, bytes_touched, functions, bytes_read, bytes_filled FROM files")[1..],
        ["/opt/p|4|2|12288|2|0|4096", "/opt/libq.so|1|0|4096|0|0|0", "/home/u/caf\u{fffd}.conf|0|0|0|0|16384|0"]
    );
    assert_eq!(
        ask("SELECT path, section, touches, functions FROM sections WHERE touches > 0")[1..],
        ["/opt/p|.text|2|2", "/opt/p|.data|1|0", "/opt/p|.bss|1|0", "/opt/libq.so|.text|1|0"]
    );
    assert_eq!(
        ask("SELECT symbol, first_page, last_page FROM symbols WHERE is_function")[1..],
        ["_start|1|1", "main|1|1", "fn_2000|2|2"]
    );
    assert_eq!(ask("SELECT table_name, kind, section, count FROM relocations")[1], ".rela.dyn|RELATIVE|.data|12");
    assert_eq!(ask("SELECT pid, command FROM processes")[1..], ["4711|/opt/p -x"]);
    assert_eq!(ask("SELECT count(*), min(at), max(at) FROM events")[1..], ["10|500000|6000000"]);
}

/// The examples of `docs/formats/trace.md`.
#[test]
fn examples_in_the_documentation_work() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    write_trace(&path, &large(5000)).unwrap();
    let mut file = TraceFile::open(&path).unwrap();
    let text = include_str!("../../../../docs/formats/trace.md");
    let questions: Vec<_> = text.split("```sql\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(questions.len() >= 8, "{}", questions.len());
    for question in questions {
        let answer = ask(&mut file, question).unwrap_or_else(|error| panic!("{question}: {error}"));
        assert!(!answer.is_empty());
    }
}

#[test]
fn each_table_column_and_view_is_documented() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = TraceFile::open(&written(folder.path())).unwrap();
    let text = include_str!("../../../../docs/formats/trace.md");
    let sql = "SELECT schema.name, shape.name FROM sqlite_schema AS schema, pragma_table_info(schema.name) AS shape
               WHERE schema.type IN ('table', 'view')";
    for line in &ask(&mut file, sql).unwrap()[1..] {
        let (of, column) = line.split_once('|').unwrap();
        let row = text.lines().find(|line| line.starts_with(&format!("| `{of}` |")));
        let row = row.unwrap_or_else(|| panic!("{of} is not documented"));
        assert!(row.contains(&format!("`{column}`")), "{of}.{column} is not documented");
    }
}

#[test]
fn only_one_question_at_a_time_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path());
    let before = std::fs::read(&path).unwrap();
    let mut file = TraceFile::open(&path).unwrap();
    for sql in ["", " -- nothing", "SELECT 1; SELECT 2"] {
        let error = ask(&mut file, sql).unwrap_err();
        assert!(matches!(error, TraceFileError::NotOneStatement { .. }), "{sql}: {error}");
    }
    for sql in [
        "DELETE FROM run",
        "SELECT 1; DELETE FROM run",
        "CREATE TABLE a (b)",
        "CREATE TEMP TABLE a (b)",
        "ATTACH '/etc/passwd' AS other",
        "PRAGMA journal_mode = WAL",
        "PRAGMA query_only = 0",
        "SELECT load_extension('/tmp/x.so')",
        "VACUUM INTO '/tmp/coldstart-never'",
        "BEGIN",
        "SELECT * FROM pragma_journal_mode('WAL')",
    ] {
        let error = ask(&mut file, sql).unwrap_err();
        assert!(
            matches!(error, TraceFileError::NotAQuestion { .. } | TraceFileError::Question { .. }),
            "{sql}: {error}"
        );
        assert!(error.hint().is_some());
    }
    for sql in ["SELEC 1", "SELECT no FROM run", "SELECT * FROM nothing", "SELECT zeroblob(1 << 30)"] {
        let error = ask(&mut file, sql).unwrap_err();
        assert!(matches!(error, TraceFileError::Question { .. }), "{sql}: {error}");
    }
    assert_eq!(ask(&mut file, "SELECT 1 AS a, 'x' AS b, NULL, x'ff'; -- that is all").unwrap()[0], "a|b|NULL|x'ff'");
    assert_eq!(ask(&mut file, "EXPLAIN QUERY PLAN SELECT * FROM touches").unwrap()[0], "id|parent|notused|detail");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn endless_answers_come_to_an_end() {
    const ENDLESS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    let folder = tempfile::tempdir().unwrap();
    let mut file = TraceFile::open(&written(folder.path())).unwrap();
    let error = file.query(ENDLESS, Some(Duration::from_millis(50)), |_| ControlFlow::Continue(())).unwrap_err();
    assert!(matches!(error, TraceFileError::TooSlow { .. }), "{error}");
    let interrupter = file.interrupter();
    let ends = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Again and again: an interrupt before the question has begun is none.
        scope.spawn(|| {
            while !ends.load(std::sync::atomic::Ordering::Relaxed) {
                interrupter.interrupt();
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let error = file.query(ENDLESS, None, |_| ControlFlow::Continue(())).unwrap_err();
        ends.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(matches!(error, TraceFileError::Interrupted), "{error}");
    });
    // Whoever takes the rows may have enough of them, and the file is as good as before.
    let mut rows = 0;
    let endless_rows = ENDLESS.replace("count(*)", "i");
    file.query(&endless_rows, None, |_| {
        rows += 1;
        if rows == 10 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .unwrap();
    assert_eq!(rows, 10);
    assert!(file.read().unwrap() == small());
}

#[test]
fn the_distributions_sqlite3_reads_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path());
    let sqlite3 = |sql: &str| Command::new("sqlite3").arg("-readonly").arg(&path).arg(sql).output();
    let Ok(check) = sqlite3("PRAGMA integrity_check") else { return skip("there is no sqlite3") };
    assert_eq!(String::from_utf8_lossy(&check.stdout), "ok\n");
    let mut file = TraceFile::open(&path).unwrap();
    for view in
        ["touches", "functions", "reads", "fills", "lookups", "phases", "files", "sections", "symbols", "processes"]
    {
        let sql = format!("SELECT * FROM {view}");
        let theirs = sqlite3(&sql).unwrap();
        assert!(theirs.status.success(), "{}", String::from_utf8_lossy(&theirs.stderr));
        assert_eq!(
            String::from_utf8_lossy(&theirs.stdout).lines().collect::<Vec<_>>(),
            ask(&mut file, &sql).unwrap()[1..]
        );
    }
}
