//! What is kept comes back as it was, is found by what people know of it, and can be asked with SQL.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use coldstart_history::{Added, History, HistoryError, Search};
use coldstart_profile::measurement::{KeptMeasurement, path_to_text};
use proptest::prelude::*;

use crate::common::{document, kept};

#[test]
fn a_measurement_comes_back_with_every_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/folders/history.sqlite");
    let measurement = kept("a", 1000, Some("v1"), &[0.123_456_789_012_345_67, 1e-9, 3.0]);
    let added = History::open(&path).unwrap().add(&measurement).unwrap();
    assert_eq!(added, Added::New(1));
    let mut history = History::open(&path).unwrap();
    assert_eq!(history.get(1).unwrap().unwrap().kept, measurement);
    assert_eq!(history.get(2).unwrap(), None);
    assert_eq!(history.add(&measurement).unwrap(), Added::Known(1), "taken in twice, it is one");
    assert_eq!(history.search(&Search::default()).unwrap().len(), 1);
}

#[test]
fn searches_find_by_label_command_path_and_part() {
    let folder = tempfile::tempdir().unwrap();
    let mut history = History::open(&folder.path().join("h.sqlite")).unwrap();
    for (number, label) in [Some("v1"), Some("v2"), None, Some("v1")].into_iter().enumerate() {
        // The last was measured first.
        history.add(&kept(&number.to_string(), 100 - number as i64, label, &[1.0; 4])).unwrap();
    }
    let found =
        |search: Search| -> Vec<i64> { history.search(&search).unwrap().iter().map(|stored| stored.number).collect() };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(found(Search::default()), [4, 3, 2, 1], "oldest first");
    assert_eq!(found(Search { newest: Some(2), ..Search::default() }), [2, 1]);
    assert_eq!(found(Search { label: some("v1"), ..Search::default() }), [4, 1]);
    assert_eq!(found(Search { command_line: some("./server --port 80"), ..Search::default() }).len(), 4);
    assert!(found(Search { command_line: some("./server"), ..Search::default() }).is_empty());
    for program in ["server", "--port", &path_to_text(b"/opt/\xffa/server")] {
        assert_eq!(found(Search { program: some(program), ..Search::default() }).len(), 4, "{program}");
    }
    assert!(found(Search { program: some("client"), ..Search::default() }).is_empty());
    assert!(found(Search { program: some("%"), ..Search::default() }).is_empty(), "no wildcards");
    let programs = history.programs().unwrap();
    assert_eq!(programs.len(), 1);
    assert_eq!((programs[0].measurements, programs[0].last_measured_at), (4, 100));
}

#[test]
fn a_new_history_is_its_owners_alone_and_an_old_one_keeps_its_mode() {
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("made/for/it");
    let [new, old, link, target] = ["h.sqlite", "old", "link", "target"].map(|name| folder.path().join(name));
    symlink(&target, &link).unwrap();
    let inside = made.join("h.sqlite");
    for path in [&new, &link, &inside] {
        let mut history = History::open(path).unwrap();
        history.add(&kept("a", 1, None, &[1.0])).unwrap();
        assert_eq!(mode(path), 0o600, "{}", path.display());
    }
    for folder in [&made, made.parent().unwrap()] {
        assert_eq!(mode(folder), 0o700, "{}", folder.display());
    }

    drop(History::open(&old).unwrap());
    fs::set_permissions(&old, Permissions::from_mode(0o640)).unwrap();
    drop(History::open(&old).unwrap());
    assert_eq!(mode(&old), 0o640);

    // Beside a database that is being written.
    let writer = rusqlite::Connection::open(&new).unwrap();
    writer.execute_batch("BEGIN; UPDATE measurement SET label = 'b'").unwrap();
    assert_eq!(mode(&folder.path().join("h.sqlite-journal")), 0o600);
}

#[test]
fn the_tables_answer_plain_sql() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("h.sqlite");
    let mut history = History::open(&path).unwrap();
    history.add(&kept("a", 1000, Some("v1"), &[9.0, 1.0, 3.0])).unwrap();
    history.add(&kept("b", 2000, Some("v2"), &[9.0, 2.0, 4.0])).unwrap();
    let sql = "SELECT label, count(*), avg(seconds) FROM sample JOIN measurement ON id = measurement
               WHERE used = 'counted' GROUP BY id ORDER BY id; SELECT count(*) FROM machine; SELECT sentence FROM warning;
               UPDATE measurement SET label = 'release' WHERE label = 'v1';
               PRAGMA foreign_keys = on; DELETE FROM measurement WHERE label = 'v2'; SELECT count(*) FROM sample;
               PRAGMA application_id; PRAGMA user_version; PRAGMA journal_mode;";
    let output = match std::process::Command::new("sqlite3").arg(&path).arg(sql).output() {
        Ok(output) => output,
        Err(error) => {
            coldstart_testing::skip(&format!("no sqlite3: {error}"));
            return;
        }
    };
    let said = String::from_utf8_lossy(&output.stdout);
    let warning = "others read from the same devices during run 2, up to 4.8 MiB: the machine was not idle";
    let wanted = format!("v1|2|2.0\nv2|2|3.0\n1\n{warning}\n{warning}\n3\n1668246628\n2\ndelete\n");
    assert_eq!(said, wanted, "{}", String::from_utf8_lossy(&output.stderr));
    let kept = history.search(&Search::default()).unwrap();
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0].kept.label.as_deref(), Some("release"), "a label corrected by hand counts");
}

#[test]
fn what_contradicts_itself_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let mut history = History::open(&folder.path().join("h.sqlite")).unwrap();
    let mut wrong = vec![kept("", 1, None, &[1.0])];
    for place in ["samples", "summaries"] {
        let mut json = document("a", 1, None, &[1.0]);
        json[place][0]["command"] = 7.into();
        wrong.push(serde_json::from_value(json).unwrap());
    }
    let mut json = document("a", 1, None, &[1.0]);
    json["commands"] = serde_json::json!([]);
    wrong.push(serde_json::from_value(json).unwrap());
    for measurement in wrong {
        assert!(matches!(history.add(&measurement), Err(HistoryError::Contradictory { .. })), "{measurement:?}");
    }
    assert!(history.search(&Search::default()).unwrap().is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn any_text_and_any_number_comes_back(
        label: Option<String>,
        command_line: String,
        path: Vec<u8>,
        seconds in proptest::collection::vec(proptest::num::f64::POSITIVE | proptest::num::f64::ZERO, 0..6),
        bytes: Option<u64>,
        measured_at: i64,
        reason: String,
    ) {
        let mut json = document("a", measured_at, label.as_deref(), &seconds);
        json["commands"][0]["command_line"] = command_line.clone().into();
        json["programs"][0]["path"] = path_to_text(&path).into();
        if let Some(sample) = json["samples"].get_mut(0) {
            sample["bytes_read"] = bytes.into();
            sample["used"] = serde_json::json!({"use": "failed", "reason": reason});
        }
        let measurement: KeptMeasurement = serde_json::from_value(json).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut history = History::open(&folder.path().join("h")).unwrap();
        let number = history.add(&measurement).unwrap().number();
        prop_assert_eq!(&history.get(number).unwrap().unwrap().kept, &measurement);
        let found = history.search(&Search { command_line: Some(command_line), label, ..Search::default() }).unwrap();
        prop_assert_eq!(found.len(), 1);
    }
}
