//! `pagecache`.

use std::fs;
use std::path::{Path, PathBuf};

use coldstart_app::pagecache::{
    CELLS, EvictOptions, FilesOptions, ListOptions, SaveOptions, Saving, ShowOptions, SortKey, evict, pages_of,
    restore, save, show,
};
use coldstart_launch::Interrupt;

use super::scene::{Heard, json};

/// Two files below the build directory, where, other than in /tmp, files have a disk as a rule.
fn files() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (small, large) = (directory.path().join("small"), directory.path().join("large"));
    fs::write(&small, vec![1; 4096]).unwrap();
    fs::write(&large, vec![2; 40 * 4096]).unwrap();
    (directory, small, large)
}

fn in_tree(path: &Path) -> FilesOptions {
    FilesOptions { paths: vec![path.to_owned()], one_file_system: false }
}

#[test]
fn what_is_resident_is_shown() {
    let (directory, small, large) = files();
    let heard = Heard::default();
    let options = ShowOptions {
        files: FilesOptions {
            paths: vec![directory.path().to_owned(), directory.path().join("missing")],
            one_file_system: false,
        },
        list: ListOptions { sort: Some(SortKey::Size), limit: 1 },
        coverage: true,
        ranges: true,
    };
    let shown = show(&options, &heard);
    assert_eq!((shown.total.files, shown.total.file_pages, shown.files_omitted), (2, 41, 1));
    assert_eq!((shown.errors, heard.errors.lock().unwrap().len()), (1, 1));
    let first = &shown.files[0];
    assert_eq!((&first.path, first.coverage.len()), (&large, CELLS));
    // Written just now; what the kernel reclaims meanwhile is its own affair.
    assert!(shown.total.resident_pages <= 41 && shown.total.unknown_files == 0);
    let shown = json(&shown);
    assert_eq!((&shown["files"][0]["file_pages"], &shown["total"]["files"]), (&40.into(), &2.into()));
    assert!(shown["files"][0]["ranges"].is_array() && shown["passed_over"]["symbolic_links"] == 0);
    let sizes = show(&ShowOptions { files: in_tree(&small), ..ShowOptions::default() }, &heard);
    assert!(sizes.files[0].coverage.is_empty());
}

#[test]
fn files_are_evicted_or_it_is_said_why_not() {
    let (directory, ..) = files();
    let heard = Heard::default();
    let options = EvictOptions { files: in_tree(directory.path()), write_first: true, ..EvictOptions::default() };
    let evictions = evict(&options, &heard);
    assert_eq!((evictions.total.files, evictions.errors), (2, 0));
    for file in &evictions.files {
        let left = file.evicted.after.resident_pages();
        assert!(left == Some(0) || !file.stayed.is_empty(), "{file:?}");
    }
    assert_eq!(evictions.is_complete(), evictions.total.stayed_files + evictions.total.unknown_files == 0);
    assert_eq!(json(&evictions)["files"].as_array().unwrap().len(), 2);
}

#[test]
fn a_state_is_saved_and_brought_back() {
    let (directory, _, large) = files();
    let file = directory.path().join("state");
    let options = SaveOptions { file: file.clone(), paths: vec![large], ..SaveOptions::default() };
    let Saving::Saved(saved) = save(&options, &Interrupt::listen().unwrap(), &Heard::default()).unwrap() else {
        panic!("no signal came");
    };
    assert!(file.is_file() && json(&*saved)["whole_system"] == false);
    let pages = pages_of(saved.state.files());
    let restoration = restore(&file, false).unwrap();
    assert_eq!(restoration.restored.files.asked, pages);
    assert_eq!(json(&restoration)["dropped"], false);
    assert!(restore(directory.path(), false).is_err());
}
