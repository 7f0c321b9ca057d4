//! Files that are no history, disks that are full, writers that are killed: nothing is lost and nothing is overwritten.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use coldstart_history::{History, HistoryError, Search};
use coldstart_profile::measurement::KeptMeasurement;

use crate::common::kept;

/// Opening fails both ways in the same manner, and the file is as it was.
fn refused(path: &Path) -> HistoryError {
    let before = fs::read(path).ok();
    let to_read = History::open_to_read(path).map(|_| ()).unwrap_err();
    let error = History::open(path).map(|_| ()).unwrap_err();
    assert_eq!(to_read.to_string(), error.to_string());
    assert!(error.to_string().contains(&path.display().to_string()), "{error}");
    assert!(error.hint().is_some_and(|hint| hint.contains("--no-history")), "{error}");
    assert!(!error.is_passing(), "{error}");
    assert_eq!(fs::read(path).ok(), before, "it was changed");
    error
}

fn history_with_one(path: &Path) -> History {
    let mut history = History::open(path).unwrap();
    history.add(&kept("one", 1, None, &[1.0; 50])).unwrap();
    history
}

#[test]
fn other_files_are_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("text"), "dear diary, ".repeat(1000)).unwrap();
    fs::write(at("short"), "x").unwrap();
    fs::create_dir(at("directory")).unwrap();
    for (name, words) in
        [("text", "not a SQLite database"), ("short", "not a SQLite database"), ("directory", "directory")]
    {
        let error = refused(&at(name));
        assert!(matches!(&error, HistoryError::SomethingElse { what, .. } if what.contains(words)), "{error}");
    }
}

#[test]
fn other_programs_databases_and_later_formats_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("h");
    // A database is a header of 100 bytes first; 60: user version, 68: application id (SQLite file format, 1.3).
    let change = |path: &Path, offset: usize, value: u32| {
        let mut bytes = fs::read(path).unwrap();
        bytes[offset..offset + 4].copy_from_slice(&value.to_be_bytes());
        fs::write(path, bytes).unwrap();
    };
    drop(history_with_one(&path));
    change(&path, 68, 0);
    assert!(matches!(refused(&path), HistoryError::SomethingElse { what, .. } if what.contains("another program")));
    change(&path, 68, 0x1234);
    assert!(matches!(refused(&path), HistoryError::SomethingElse { .. }));
    change(&path, 68, 0x636f_6c64);
    change(&path, 60, 99);
    assert!(matches!(refused(&path), HistoryError::Newer { found: 99, .. }));
    change(&path, 60, 1);
    assert_eq!(History::open(&path).unwrap().search(&Search::default()).unwrap().len(), 1);
}

#[test]
fn text_that_is_no_utf_8_is_damage() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("h");
    drop(history_with_one(&path));
    let bytes = fs::read(&path).unwrap();
    for text in [&b"\"kernel\":\"6.1"[..], b"\"how\":\"exited"] {
        // A byte within the documents, where the database itself stays whole; in every place, since pages that were
        // split keep old copies.
        let mut changed = bytes.clone();
        for at in 0..bytes.len() - text.len() {
            if bytes[at..].starts_with(text) {
                changed[at + text.len() - 1] = 0xff;
            }
        }
        fs::write(&path, changed).unwrap();
        let error = History::open_to_read(&path).unwrap().unwrap().search(&Search::default()).unwrap_err();
        assert!(matches!(error, HistoryError::Damaged { .. }), "{error}");
    }
}

#[test]
fn those_who_begin_a_history_at_once_all_find_it_ours() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..20 {
        let path = folder.path().join(round.to_string());
        let add = |number: i64| add_patiently(&path, &kept(&number.to_string(), number, None, &[1.0]));
        std::thread::scope(|scope| (0..6).for_each(|number| drop(scope.spawn(move || add(number)))));
        let history = History::open_to_read(&path).unwrap().unwrap();
        assert_eq!(history.search(&Search::default()).unwrap().len(), 6);
    }
}

#[test]
fn a_damaged_file_is_never_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("h");
    drop(history_with_one(&path));
    let whole = fs::read(&path).unwrap();
    // Cut off, and a page in the middle overwritten.
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let error = refused(&path);
    assert!(matches!(error, HistoryError::Damaged { .. }), "{error}");
    assert!(error.hint().unwrap().contains(".recover"));
    let mut scribbled = whole.clone();
    let middle = whole.len() / 2 / 4096 * 4096;
    scribbled[middle..middle + 4096].fill(0x5a);
    fs::write(&path, scribbled).unwrap();
    let error = refused(&path);
    assert!(matches!(error, HistoryError::Damaged { .. }), "{error}");
}

#[test]
fn links_are_followed_and_stay() {
    let folder = tempfile::tempdir().unwrap();
    let (real, link) = (folder.path().join("real.sqlite"), folder.path().join("link.sqlite"));
    std::os::unix::fs::symlink("real.sqlite", &link).unwrap();
    assert!(History::open_to_read(&link).unwrap().is_none(), "it leads nowhere yet");
    drop(history_with_one(&link));
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink() && real.is_file());
    assert_eq!(History::open_to_read(&real).unwrap().unwrap().search(&Search::default()).unwrap().len(), 1);
}

#[test]
fn reading_makes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sub/h");
    assert!(History::open_to_read(&path).unwrap().is_none());
    assert!(!path.parent().unwrap().exists());
    fs::write(folder.path().join("empty"), "").unwrap();
    assert!(History::open_to_read(&folder.path().join("empty")).unwrap().is_none());
}

#[test]
fn a_name_that_means_something_to_sqlite_is_a_file() {
    let folder = tempfile::tempdir().unwrap();
    for name in [":memory:", "file:h?mode=memory", "a'b\"c %"] {
        let path = folder.path().join(name);
        drop(history_with_one(&path));
        assert!(path.is_file(), "{name}");
    }
}

/// Adds a measurement, however long others are writing: whoever is not let in within the history's patience is told so, and
/// nothing is lost. A slow disk holds a writer for long.
fn add_patiently(path: &Path, measurement: &KeptMeasurement) {
    loop {
        match History::open(path).and_then(|mut history| history.add(measurement)) {
            Err(HistoryError::Locked { .. }) => {}
            added => {
                added.unwrap();
                return;
            }
        }
    }
}

/// This test's own program, as another process that adds to a history until it is killed or done.
fn other_process(path: &Path, count: usize) -> std::process::Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "hard_cases::another_process_adds", "--nocapture"])
        .env("HISTORY_TO_ADD_TO", path)
        .env("HOW_MANY", count.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn another_process_adds() {
    let Some(path) = std::env::var_os("HISTORY_TO_ADD_TO") else { return };
    let count: usize = std::env::var("HOW_MANY").unwrap().parse().unwrap();
    for number in 0..count {
        let id = format!("{}-{number}", std::process::id());
        add_patiently(Path::new(&path), &kept(&id, number as i64, None, &[1.0; 400]));
    }
}

#[test]
fn two_processes_at_once_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("h");
    let children = [other_process(&path, 8), other_process(&path, 8), other_process(&path, 8)];
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let found = History::open(&path).unwrap().search(&Search::default()).unwrap();
    assert_eq!(found.len(), 24);
}

#[test]
fn killed_at_any_moment_it_holds_whole_measurements() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("h");
    drop(history_with_one(&path));
    let mut before = 1;
    // The long ones are for disks so slow that nothing was written in the short ones.
    for delay in [150, 220, 310, 400, 520, 700, 5000, 30_000] {
        if delay > 700 && before > 1 {
            break;
        }
        let mut child = other_process(&path, 1_000_000);
        std::thread::sleep(Duration::from_millis(delay));
        child.kill().unwrap();
        child.wait().unwrap();
        let found = History::open(&path).unwrap().search(&Search::default()).unwrap();
        assert!(found.len() >= before, "measurements were lost");
        before = found.len();
        for stored in found.iter().filter(|stored| stored.kept.id != "one") {
            assert_eq!(stored.kept.measurement.samples.len(), 400);
        }
    }
    assert!(before > 1, "nothing was ever written");
}
