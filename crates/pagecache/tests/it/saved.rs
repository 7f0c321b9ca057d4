//! Saving a state of the page cache and bringing it back, page by page. Nothing is dropped here but the tests' own files:
//! dropping everything is tried once, through the command line.

use std::fs::File;
use std::ops::ControlFlow;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use coldstart_pagecache::{
    MissingReason, RestoreOptions, Restored, SaveNotes, SaveOptions, SavedError, SavedFormatError, SavedPageCache,
    pages, restore,
};
use coldstart_sys::held_pages::HeldPages;

use crate::common::{comes_about, drop_pages, scratch};

fn save(paths: &[&Path]) -> (SavedPageCache, SaveNotes) {
    let options =
        SaveOptions { paths: paths.iter().map(|path| path.to_path_buf()).collect(), ..SaveOptions::default() };
    SavedPageCache::save(&options, &|_| ControlFlow::Continue(())).unwrap()
}

fn add(saved: &SavedPageCache) -> Restored {
    restore(saved, &RestoreOptions { drop: false, threads: 8 }).unwrap()
}

/// First page and number, of each run.
fn resident(path: &Path) -> Vec<(u64, u64)> {
    pages(File::open(path).unwrap()).unwrap().iter().map(|range| (range.start.0, range.count)).collect()
}

/// A file with exactly these pages in memory, as long as the result is kept: a kernel that reclaims unused pages spares
/// those that are mapped.
fn file_with(path: &Path, pages: u64, resident: &[(u64, u64)]) -> Vec<HeldPages> {
    crate::common::hold(&crate::common::file_with(path, pages, resident), resident)
}

fn evict(path: &Path) {
    let file = File::open(path).unwrap();
    drop_pages(&file);
    assert_eq!(resident(path), []);
}

fn saved_names(saved: &SavedPageCache) -> Vec<String> {
    let names = saved.files().iter().map(|file| file.path.file_name().unwrap().to_str().unwrap().to_owned());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// Name, pages, and which of them are in memory.
type Pattern = (&'static str, u64, &'static [(u64, u64)]);

#[test]
fn odd_patterns_come_back_page_by_page_and_again() {
    let directory = scratch();
    let patterns: &[Pattern] = &[
        ("first", 100, &[(0, 1)]),
        ("last", 100, &[(99, 1)]),
        ("every other", 9, &[(0, 1), (2, 1), (4, 1), (6, 1), (8, 1)]),
        ("all", 33, &[(0, 33)]),
        ("holes", 3000, &[(1, 2), (700, 60), (2048, 8)]),
        ("line\nbreak", 5, &[(1, 3)]),
    ];
    let mut held = Vec::new();
    for (name, pages, ranges) in patterns {
        held.extend(file_with(&directory.path().join(name), *pages, ranges));
    }
    // A last page that is not whole.
    let ragged = directory.path().join("ragged");
    drop(file_with(&ragged, 3, &[]));
    let file = File::options().write(true).open(&ragged).unwrap();
    file.set_len(2 * 4096 + 17).unwrap();
    file.sync_all().unwrap();
    drop_pages(&file);
    crate::common::read_pages(&File::open(&ragged).unwrap(), &[(2, 1)]);
    held.extend(crate::common::hold(&File::open(&ragged).unwrap(), &[(2, 1)]));
    file_with(&directory.path().join("cold"), 10, &[]);
    File::create(directory.path().join("empty")).unwrap();

    let (saved, _) = save(&[directory.path()]);
    assert_eq!(saved.files().len(), patterns.len() + 1, "neither cold nor empty files");
    drop(held);
    for _ in 0..2 {
        let exactly = comes_about(|| {
            saved.files().iter().for_each(|file| evict(&file.path));
            let restored = add(&saved);
            assert_eq!((restored.files.asked, restored.files.extra), (saved.pages_of_files(), 0));
            let as_saved = |(name, _, ranges): &Pattern| resident(&directory.path().join(name)) == *ranges;
            restored.missing.is_empty() && patterns.iter().all(as_saved) && resident(&ragged) == [(2, 1)]
        });
        assert!(exactly, "each time something else was there than had been saved");
        assert_eq!(resident(&directory.path().join("cold")), []);
    }
    let again = SavedPageCache::from_bytes(&saved.to_bytes().unwrap()).unwrap();
    assert_eq!(again, saved);
}

/// What the tests count for themselves.
trait PagesOfFiles {
    fn pages_of_files(&self) -> u64;
}

impl PagesOfFiles for SavedPageCache {
    fn pages_of_files(&self) -> u64 {
        self.files().iter().flat_map(|file| &file.ranges).map(|range| range.count).sum()
    }
}

#[test]
fn what_is_gone_changed_or_something_else_is_left_out_and_named() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    let names = ["changed", "directory", "fifo", "gone", "grown", "kept", "link"];
    let held: Vec<_> = names.iter().map(|name| file_with(&path(name), 8, &[(2, 2)])).collect();
    let (saved, _) = save(&[directory.path()]);
    assert_eq!(saved_names(&saved), names);
    drop(held);
    for name in ["gone", "fifo", "link", "directory"] {
        std::fs::remove_file(path(name)).unwrap();
    }
    crate::common::run("mkfifo", &[path("fifo").to_str().unwrap()]).unwrap();
    std::os::unix::fs::symlink("kept", path("link")).unwrap();
    std::fs::create_dir(path("directory")).unwrap();
    drop(file_with(&path("changed"), 8, &[]));
    File::options().append(true).open(path("grown")).unwrap().set_len(1 << 20).unwrap();
    // A kernel that reclaims unused pages may be faster than the look that follows, but hardly each time.
    let restored = (0..5).find_map(|_| {
        evict(&path("kept"));
        let restored = add(&saved);
        (resident(&path("kept")) == [(2, 2)]).then_some(restored)
    });
    let restored = restored.expect("what was kept comes back");
    let mut missing: Vec<(PathBuf, u64, &str)> =
        restored.missing.iter().map(|missing| (missing.path.clone(), missing.pages, missing.reason.name())).collect();
    missing.sort();
    let real = directory.path().canonicalize().unwrap();
    let expected = [
        ("changed", "changed"),
        ("directory", "other-kind"),
        ("fifo", "other-kind"),
        ("gone", "gone"),
        ("grown", "changed"),
        ("link", "other-kind"),
    ];
    assert_eq!(missing, expected.map(|(name, reason)| (real.join(name), 2, reason)));
    assert_eq!((restored.files.asked, restored.files.back), (14, 2));
    assert!(!restored.is_close());
    assert_eq!(resident(&path("changed")), [], "it is not the file that was saved");
}

#[test]
fn each_file_is_saved_once_with_the_names_on_the_way() {
    let directory = scratch();
    let real = directory.path().canonicalize().unwrap();
    std::fs::create_dir_all(real.join("a/b")).unwrap();
    std::fs::create_dir(real.join("cold")).unwrap();
    let _held = [file_with(&real.join("a/b/file"), 4, &[(0, 4)]), file_with(&real.join("left out"), 4, &[(0, 4)])];
    std::fs::hard_link(real.join("a/b/file"), real.join("a/other name")).unwrap();
    std::os::unix::fs::symlink("b/file", real.join("a/link")).unwrap();
    std::os::unix::fs::symlink("link", real.join("a/link to link")).unwrap();
    std::os::unix::fs::symlink("nowhere", real.join("a/dangling")).unwrap();
    let options = SaveOptions {
        // The same tree by three names.
        paths: vec![real.clone(), real.join("a/link"), real.join("a")],
        one_file_system: true,
        leave_out: vec![real.join("left out"), real.join("not there")],
    };
    let (saved, notes) = SavedPageCache::save(&options, &|_| ControlFlow::Continue(())).unwrap();
    assert_eq!(saved_names(&saved), ["file"]);
    assert!(saved.directories().contains(&real.join("a/b")) && saved.directories().contains(&real));
    assert!(!saved.directories().contains(&real.join("cold")), "nothing of it was in memory");
    assert_eq!(saved.links(), [real.join("a/link"), real.join("a/link to link")]);
    assert!(saved.origin().is_this_boot() && !saved.origin().is_whole_system);
    assert_eq!((notes.hidden_files, notes.failed_files, notes.unread_directories), (0, 0, 0));

    std::fs::remove_file(real.join("a/link")).unwrap();
    let restored = add(&saved);
    assert_eq!((restored.links.asked, restored.links.back), (2, 1));
    assert_eq!(restored.directories.asked, restored.directories.back);
    assert_eq!(restored.missing.len(), 1);
    assert_eq!(restored.missing[0].reason, MissingReason::Gone);
}

#[test]
fn pages_that_were_not_asked_for_are_extra() {
    let directory = scratch();
    let path = directory.path().join("file");
    let mut held = file_with(&path, 50, &[(10, 5)]);
    let (saved, _) = save(&[&path]);
    let file = File::open(&path).unwrap();
    crate::common::read_pages(&file, &[(0, 3), (15, 1)]);
    held.extend([HeldPages::hold(&file, 0, 3 * 4096).unwrap(), HeldPages::hold(&file, 15 * 4096, 4096).unwrap()]);
    let restored = add(&saved);
    assert_eq!((restored.files.asked, restored.files.back, restored.files.extra), (5, 5, 4));
    assert!(restored.is_close());
}

#[test]
fn a_huge_sparse_file_takes_little() {
    let directory = scratch();
    let path = directory.path().join("sparse");
    let file = File::create_new(&path).unwrap();
    file.set_len(1 << 43).unwrap();
    let end = (1u64 << 31) - 1;
    for page in [0, 1 << 20, end] {
        file.write_all_at(&[1; 4096], page * 4096).unwrap();
    }
    let expected = [(0, 1), (1 << 20, 1), (end, 1)];
    let held = crate::common::hold(&File::open(&path).unwrap(), &expected);
    file.sync_all().unwrap();
    drop(file);
    let (saved, _) = save(&[&path]);
    assert_eq!(resident(&path), expected);
    drop(held);
    let comes_back = comes_about(|| {
        evict(&path);
        add(&saved).is_close() && resident(&path) == expected
    });
    assert!(comes_back, "{:?}", resident(&path));
}

/// Changes bytes of a saved state and puts its checksum right.
fn forged(saved: &SavedPageCache, at: usize, value: u64) -> Vec<u8> {
    let mut bytes = saved.to_bytes().unwrap();
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
    let checksum = crc32fast::hash(&bytes[16..]);
    bytes[12..16].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

#[test]
fn more_than_memory_is_refused_before_anything_is_read() {
    let directory = scratch();
    let path = directory.path().join("sparse");
    let file = File::create_new(&path).unwrap();
    file.set_len(1 << 43).unwrap();
    file.write_all_at(&[1; 4096], 0).unwrap();
    let (saved, _) = save(&[&path]);
    // The number of pages of the only range: the table of ranges follows header, and one entry for each file and name.
    let names = 1 + saved.directories().len() + saved.devices().len() + saved.links().len();
    let bytes = forged(&saved, 128 + 48 * names + 8, 1 << 31);
    let forged = SavedPageCache::from_bytes(&bytes).unwrap();
    assert_eq!(forged.files()[0].pages(), 1 << 31);
    let refused = restore(&forged, &RestoreOptions { drop: false, threads: 1 });
    assert!(matches!(refused, Err(SavedError::MoreThanMemory { .. })), "{refused:?}");
    assert_eq!(resident(&path), [(0, 1)]);
}

#[test]
fn damaged_cut_and_foreign_files_are_refused() {
    let directory = scratch();
    let path = directory.path().join("state");
    let _held = file_with(&directory.path().join("file"), 4, &[(0, 4)]);
    let bytes = save(&[directory.path()]).0.to_bytes().unwrap();
    let read = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        match SavedPageCache::read(&path) {
            Ok(_) => None,
            Err(SavedError::Format { source, .. }) => Some(source),
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(read(&bytes), None);
    assert_eq!(read(b""), Some(SavedFormatError::NotSaved));
    assert_eq!(read(b"\x7fELF"), Some(SavedFormatError::NotSaved));
    assert!(matches!(read(&bytes[..60]), Some(SavedFormatError::WrongLength { .. })));
    assert!(matches!(read(&bytes[..bytes.len() - 1]), Some(SavedFormatError::WrongLength { .. })));
    let mut damaged = bytes.clone();
    *damaged.last_mut().unwrap() ^= 1;
    assert!(matches!(read(&damaged), Some(SavedFormatError::WrongChecksum { .. })));
    let mut newer = bytes;
    newer[8] = 2;
    assert_eq!(read(&newer), Some(SavedFormatError::NewerVersion { found: 2 }));
    assert!(matches!(SavedPageCache::read(&directory.path().join("none")), Err(SavedError::Read { .. })));
}

#[test]
fn a_walk_can_be_stopped_and_a_missing_path_is_named() {
    let directory = scratch();
    let options = SaveOptions { paths: vec![directory.path().to_owned()], ..SaveOptions::default() };
    let stopped = SavedPageCache::save(&options, &|_| ControlFlow::Break(()));
    assert!(matches!(stopped, Err(SavedError::Stopped)));
    let options = SaveOptions { paths: vec![directory.path().join("none")], ..SaveOptions::default() };
    let missing = SavedPageCache::save(&options, &|_| ControlFlow::Continue(()));
    assert!(matches!(missing, Err(SavedError::Named { .. })));
}

#[test]
fn what_lives_in_memory_is_not_saved() {
    let Ok(directory) = tempfile::TempDir::new_in("/dev/shm") else { return crate::common::skip("no /dev/shm") };
    std::fs::write(directory.path().join("file"), "x").unwrap();
    let (saved, notes) = save(&[directory.path(), Path::new(coldstart_host::process::SELF)]);
    assert_eq!((saved.files().len(), notes.in_memory), (0, 2));
    assert!(add(&saved).is_close(), "nothing was asked for");
}

#[test]
fn mounts_below_a_tree_come_along_unless_they_are_left_out_and_bind_mounts_add_nothing() {
    if !rustix::process::geteuid().is_root() {
        return crate::common::skip("only root may mount");
    }
    let directory = scratch();
    let real = directory.path().canonicalize().unwrap();
    let (image, place) = (real.join("image"), real.join("tree/mount"));
    File::create(&image).unwrap().set_len(8 << 20).unwrap();
    std::fs::create_dir(real.join("tree")).unwrap();
    let made = crate::common::run("mkfs.ext4", &["-q", "-O", "^has_journal", image.to_str().unwrap()]);
    let mounted = made.and_then(|_| crate::common::Mount::new(&place, &["-o", "loop", image.to_str().unwrap()]));
    let _mounted = match mounted {
        Ok(mounted) => mounted,
        Err(reason) => return crate::common::skip(&reason),
    };
    let outside = file_with(&real.join("tree/outside"), 4, &[(1, 1)]);
    let inside = file_with(&place.join("inside"), 4, &[(2, 2)]);
    let again = crate::common::Mount::new(&real.join("tree/again"), &["--bind", place.to_str().unwrap()]).unwrap();
    let (saved, notes) = save(&[&real.join("tree")]);
    assert_eq!(saved_names(&saved), ["inside", "outside"]);
    // The pages of the file system's device were asked for first, where the device may be opened.
    let number = std::fs::metadata(place.join("inside")).unwrap().dev();
    match saved.devices().iter().find(|device| device.device == number) {
        Some(device) => assert!(device.pages() > 0),
        None => assert!(!notes.unseen_devices.is_empty(), "{notes:?}"),
    }
    drop(inside);
    let comes_back = comes_about(|| {
        evict(&place.join("inside"));
        add(&saved).is_close()
    });
    assert!(comes_back);

    let options = SaveOptions { paths: vec![real.join("tree")], one_file_system: true, ..SaveOptions::default() };
    let (saved, _) = SavedPageCache::save(&options, &|_| ControlFlow::Continue(())).unwrap();
    assert_eq!(saved_names(&saved), ["outside"]);
    drop((outside, again));
}
