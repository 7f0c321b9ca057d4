//! Our numbers against those of `fincore` (util-linux), which knows only `mincore`.

use std::fs::File;
use std::path::{Path, PathBuf};

use coldstart_pagecache::{Detail, FoundFile, Method, Walk, WalkOptions, pages, residency, residency_of};

use crate::common::{comes_about, file_with, fincore, hold, read_pages, scratch, skip};

fn ours(path: &Path) -> u64 {
    residency(path, Detail::Counts).unwrap().resident_pages().unwrap()
}

fn our_ranges(path: &Path) -> Vec<(u64, u64)> {
    let ranges = pages(File::open(path).unwrap()).unwrap();
    ranges.iter().map(|range| (range.start.0, range.count)).collect()
}

fn sum(ranges: &[(u64, u64)]) -> u64 {
    ranges.iter().map(|range| range.1).sum()
}

/// Files that others use change while we look: one look in ten has to agree, in counts and in ranges.
fn agrees(path: &Path) -> Result<(), String> {
    let mut last = String::new();
    for _ in 0..10 {
        let (before, theirs, ranges, after) = (ours(path), fincore(&[path])?[0], sum(&our_ranges(path)), ours(path));
        if before == theirs && theirs == ranges && ranges == after {
            return Ok(());
        }
        last = format!("{}: counted {before}, fincore {theirs}, ranges {ranges}, counted {after}", path.display());
    }
    Err(last)
}

#[test]
fn agrees_on_the_libraries_of_this_system() {
    if let Err(reason) = fincore(&[Path::new("/etc/passwd")]) {
        return skip(&reason);
    }
    let files: Vec<PathBuf> = Walk::new(["/usr/lib".into()], WalkOptions::default())
        .filter_map(Result::ok)
        .map(|FoundFile { path, .. }| path)
        .filter(|path| path.to_str().is_some() && residency(path, Detail::Counts).is_ok_and(|found| found.size > 0))
        .step_by(7)
        .take(1500)
        .collect();
    assert!(files.len() > 100, "too few files under /usr/lib: {}", files.len());
    // Some pages of some files, so that not all are in memory wholly or not at all.
    for path in files.iter().step_by(3) {
        let file = File::open(path).unwrap();
        let middle = file.metadata().unwrap().len() / 4096 / 2;
        read_pages(&file, &[(middle, 1)]);
    }
    let mut disagreements = Vec::new();
    let mut partial = 0;
    for chunk in files.chunks(100) {
        let chunk: Vec<&Path> = chunk.iter().map(PathBuf::as_path).collect();
        let theirs = fincore(&chunk).unwrap();
        assert_eq!(theirs.len(), chunk.len());
        for (path, theirs) in chunk.iter().zip(theirs) {
            let file_pages = residency(path, Detail::Counts).unwrap().file_pages;
            partial += usize::from(theirs > 0 && theirs < file_pages);
            if ours(path) != theirs || sum(&our_ranges(path)) != theirs {
                disagreements.extend(agrees(path).err());
            }
        }
    }
    eprintln!("compared {} files, {partial} of them partly resident", files.len());
    assert!(partial > 10, "too few files to tell anything: {partial} of {}", files.len());
    assert_eq!(disagreements, Vec::<String>::new());
}

#[test]
fn agrees_on_partial_residency_and_finds_the_very_pages() {
    let directory = scratch();
    let path = directory.path().join("partial");
    let resident = [(0, 1), (2, 3), (100, 50), (1023, 1), (4000, 96)];
    let exactly = comes_about(|| {
        let _file = file_with(&path, 4096, &resident);
        let theirs = fincore(&[&path]);
        if let Err(reason) = &theirs {
            skip(reason); // Ours are compared with what was read all the same.
        }
        our_ranges(&path) == resident
            && ours(&path) == sum(&resident)
            && theirs.map_or(true, |theirs| theirs == [sum(&resident)])
    });
    assert!(exactly, "each time other pages were found than had been read: {:?}", our_ranges(&path));
}

#[test]
fn agrees_on_empty_small_and_sparse_files() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    File::create(path("empty")).unwrap();
    std::fs::write(path("one byte"), "x").unwrap();
    std::fs::write(path("page and a byte"), vec![1; 4097]).unwrap();
    let sparse = File::options().create_new(true).read(true).write(true).open(path("sparse")).unwrap();
    sparse.set_len((5 << 30) + 1).unwrap();
    // Holes become resident pages of zeros when read; the last page is behind 4 GiB.
    let holes = [(7, 2), (1 << 20, 1), ((5 << 30) / 4096, 1)];
    read_pages(&sparse, &holes);
    let _held = hold(&sparse, &holes);

    assert_eq!(our_ranges(&path("empty")), []);
    assert_eq!(our_ranges(&path("one byte")), [(0, 1)]);
    assert_eq!(our_ranges(&path("page and a byte")), [(0, 2)]);
    assert_eq!(our_ranges(&path("sparse")), holes);
    assert_eq!(residency(&path("empty"), Detail::Ranges).unwrap().known().unwrap().method, Method::Empty);
    for (name, wanted) in [("one byte", 1), ("page and a byte", 2), ("sparse", 4)] {
        assert_eq!(ours(&path(name)), wanted, "{name}");
        match fincore(&[&path(name)]) {
            Ok(theirs) => assert_eq!(theirs, [wanted], "{name}"),
            Err(reason) => skip(&reason),
        }
    }
}

#[test]
fn asking_brings_nothing_in_and_leaves_the_position() {
    use std::io::{Seek, SeekFrom};
    let directory = scratch();
    let mut file = file_with(&directory.path().join("cold"), 300, &[]);
    file.seek(SeekFrom::Start(777)).unwrap();
    for detail in [Detail::Counts, Detail::Ranges, Detail::Counts] {
        assert_eq!(residency_of(&file, detail).unwrap().resident_pages(), Some(0));
    }
    assert_eq!(file.stream_position().unwrap(), 777);
}

#[test]
fn what_has_no_pages_is_refused_unopened() {
    use coldstart_pagecache::Error;
    let directory = scratch();
    let pipe = directory.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
    for (path, kind) in
        [(pipe.as_path(), "a FIFO"), (directory.path(), "a directory"), (Path::new("/dev/null"), "a character device")]
    {
        match residency(path, Detail::Counts) {
            Err(Error::NotAFile { kind: found, .. }) => assert_eq!(found.to_string(), kind),
            other => panic!("{}: {other:?}", path.display()),
        }
    }
    let gone = residency(&directory.path().join("nope"), Detail::Counts).unwrap_err();
    assert!(gone.is_gone());
}
