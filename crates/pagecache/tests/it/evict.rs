//! Eviction: what goes, what stays, and whether the reason given is the true one.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use coldstart_pagecache::{Backing, EvictOptions, Evicted, FileKey, Holder, Stayed, evict, find_holders};
use coldstart_sys::cachestat;

use crate::common::{file_with, fincore, nearly_all, run, scratch, skip};

const PLAIN: EvictOptions = EvictOptions { write_first: false };
const WRITE_FIRST: EvictOptions = EvictOptions { write_first: true };

/// Maps the file argv[1], touches its first argv[2] bytes, locks them if argv[3] is "lock", says so, waits for the end of
/// stdin.
const HOLDER: &str = include_str!("evict/holder.c");

/// A process that holds pages of a file; ends with the test.
struct HolderProcess(Child);

impl HolderProcess {
    /// `None`, with the reason told, where there is no C compiler.
    fn start(directory: &Path, file: &Path, touched: usize, lock: bool) -> Option<Self> {
        let (source, program) = (directory.join("holder.c"), directory.join("page-holder"));
        std::fs::write(&source, HOLDER).unwrap();
        if let Err(reason) = run("cc", &["-o", program.to_str().unwrap(), source.to_str().unwrap()]) {
            skip(&reason);
            return None;
        }
        let mut command = Command::new(&program);
        command.arg(file).arg(touched.to_string()).arg(if lock { "lock" } else { "map" });
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let process = Self(child);
        assert_eq!(line, "ready\n");
        Some(process)
    }
}

impl Drop for HolderProcess {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

fn holders(path: &Path) -> Vec<Holder> {
    let key = FileKey::of(path).unwrap();
    find_holders(std::slice::from_ref(&key)).of(&key).to_vec()
}

fn after(evicted: &Evicted) -> u64 {
    evicted.after.resident_pages().unwrap()
}

#[test]
fn a_clean_file_goes_completely() {
    let directory = scratch();
    let path = directory.path().join("clean");
    let _file = file_with(&path, 1000, &[(0, 1000)]);
    let evicted = evict(&path, PLAIN).unwrap();
    assert!(evicted.before.resident_pages().is_some_and(|pages| nearly_all(pages, 1000)), "{evicted:?}");
    assert_eq!(after(&evicted), 0);
    assert!(evicted.is_gone());
    assert_eq!(evicted.reasons(&[], 0), []);
    match fincore(&[&path]) {
        Ok(theirs) => assert_eq!(theirs, [0]),
        Err(reason) => skip(&reason),
    }
    // Once more, there is nothing left to do.
    assert!(evict(&path, PLAIN).unwrap().is_gone());
}

#[test]
fn a_partial_last_page_goes_too() {
    let directory = scratch();
    let path = directory.path().join("odd");
    std::fs::write(&path, vec![1; 3 * 4096 + 5]).unwrap();
    let evicted = evict(&path, WRITE_FIRST).unwrap();
    assert_eq!((evicted.before.resident_pages(), evicted.after.resident_pages()), (Some(4), Some(0)));
}

#[test]
fn unwritten_pages_stay_until_written() {
    let directory = scratch();
    let path = directory.path().join("dirty");
    let file = std::fs::File::create(&path).unwrap();
    let contents = vec![7; 50 * 4096];
    file.write_all_at(&contents, 0).unwrap();
    // The kernel may write pages at any time, and then they are evicted: somebody keeps writing.
    let is_over = AtomicBool::new(false);
    let evicted = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                file.write_all_at(&contents, 0).unwrap();
            }
        });
        let evicted = (0..20).map(|_| evict(&path, PLAIN).unwrap()).find(|evicted| after(evicted) > 0);
        is_over.store(true, Ordering::Relaxed);
        writer.join().unwrap();
        evicted.expect("dirty pages never stayed")
    });
    match evicted.reasons(&[], 0)[0] {
        Stayed::Unwritten(1..) => assert!(cachestat::is_there()),
        Stayed::UnwrittenOrInUse => assert!(!cachestat::is_there(), "{evicted:?}"),
        _ => panic!("{evicted:?}"),
    }
    let evicted = evict(&path, WRITE_FIRST).unwrap();
    assert_eq!(after(&evicted), 0, "{evicted:?}");
}

#[test]
fn pages_in_a_page_table_stay_and_the_process_is_named() {
    for (lock, held_pages) in [(false, 10), (true, 25)] {
        let directory = scratch();
        let path = directory.path().join("held\nby one");
        let _file = file_with(&path, 2000, &[]);
        let Some(process) = HolderProcess::start(directory.path(), &path, held_pages * 4096, lock) else { return };
        let file = std::fs::File::open(&path).unwrap();
        crate::common::read_pages(&file, &[(1000, 500)]);

        let evicted = evict(&path, PLAIN).unwrap();
        let held = holders(&path);
        assert_eq!(held.len(), 1, "{held:?}");
        assert_eq!((held[0].pid, held[0].name.as_str(), held[0].locked), (process.0.id(), "page-holder", lock));
        assert_eq!(held[0].bytes, held_pages as u64 * 4096);
        // A large folio stays whole when one of its pages is in a page table; the 500 pages read apart from it go.
        let stayed = after(&evicted);
        assert!(stayed >= held_pages as u64 && stayed < 1000, "{stayed} pages stayed");
        assert_eq!(evicted.reasons(&held, 0), [Stayed::Held(held)]);

        drop(process);
        assert!(evict(&path, PLAIN).unwrap().is_gone(), "nobody holds it any more");
        assert_eq!(holders(&path), []);
    }
}

#[test]
fn a_mapping_that_was_never_touched_holds_nothing() {
    let directory = scratch();
    let path = directory.path().join("mapped");
    let _file = file_with(&path, 100, &[(0, 100)]);
    let Some(_process) = HolderProcess::start(directory.path(), &path, 0, false) else { return };
    assert!(evict(&path, PLAIN).unwrap().is_gone());
    assert_eq!(holders(&path), []);
}

#[test]
fn what_lives_in_memory_stays() {
    let Ok(directory) = tempfile::TempDir::new_in("/dev/shm") else { return skip("no /dev/shm") };
    let path: PathBuf = directory.path().join("in memory");
    std::fs::write(&path, vec![1; 10 * 4096]).unwrap();
    let evicted = evict(&path, WRITE_FIRST).unwrap();
    if evicted.after.backing != Backing::Memory {
        return skip("/dev/shm is no tmpfs");
    }
    assert_eq!(after(&evicted), 10);
    assert_eq!(evicted.reasons(&[], 0), [Stayed::InMemory]);
}
