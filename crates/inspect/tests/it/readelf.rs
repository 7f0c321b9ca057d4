//! Every ELF file of the machine that a start can load, held against `readelf` (package `binutils`): headers, dynamic
//! table, each relocation, each dynamic symbol with its version, build id, arrays of initialisers, and the sums.
//!
//! Libraries for other machines (packages `libc6-arm64-cross`, `libc6-i386-cross`, `libc6-mips-cross`,
//! `libc6-s390x-cross`), Java and Rust are compared where they are installed. What is compared depends on the machine,
//! so that floors on the number of files keep the test from comparing nothing.

use std::collections::{BTreeMap, HashSet};
use std::fs::Metadata;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use coldstart_elf::ElfFile;
use coldstart_inspect::{Object, Refusal};

/// Folders, and how many files at least are compared in those that exist.
///
/// Left out: 64-bit MIPS, whose three types in one relocation `readelf` prints in a form of its own, and SPARC, whose
/// register symbols it prints so.
const FOLDERS: &[(&str, usize)] = &[
    ("/usr/lib", 200),
    ("/usr/bin", 100),
    ("/usr/sbin", 10),
    ("/usr/libexec", 0),
    ("/usr/aarch64-linux-gnu/lib", 5),
    ("/usr/i686-linux-gnu/lib", 5),
    ("/usr/mips-linux-gnu/lib", 5),
    ("/usr/s390x-linux-gnu/lib", 5),
    ("/usr/arm-linux-gnueabi/lib", 5),
    ("/usr/arm-linux-gnueabihf/lib", 5),
    ("/usr/hppa-linux-gnu/lib", 5),
    ("/usr/m68k-linux-gnu/lib", 5),
    ("/usr/powerpc-linux-gnu/lib", 5),
    ("/usr/powerpc64-linux-gnu/lib", 5),
    ("/usr/powerpc64le-linux-gnu/lib", 5),
    ("/usr/riscv64-linux-gnu/lib", 5),
    ("~/.rustup/toolchains", 0),
];

/// How much one worker reads at a time.
const BATCH_FILES: usize = 24;
const BATCH_BYTES: u64 = 64 << 20;
const WORKERS: usize = 2;

/// A file to compare.
#[derive(Debug)]
struct Candidate {
    path: PathBuf,
    bytes: u64,
    /// Which of the folders it is in.
    folder: usize,
    /// Whether the loader's own tables can be asked: it has a dynamic table.
    is_dynamic: bool,
}

#[derive(Default)]
struct Results {
    compared: BTreeMap<usize, usize>,
    debug_only: usize,
    differences: Vec<String>,
}

#[test]
fn every_file_is_read_as_readelf_reads_it() {
    let parts = coldstart_testing::divided_by(4);
    let mut candidates: Vec<Candidate> = candidates().into_iter().step_by(parts).collect();
    // The largest come first, so that no worker is left with one at the end.
    candidates.sort_by_key(|candidate| (candidate.is_dynamic, candidate.bytes));
    let work = Mutex::new(candidates);
    let results = Mutex::new(Results::default());
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                loop {
                    let batch = next_batch(&mut work.lock().unwrap());
                    if batch.is_empty() {
                        break;
                    }
                    compare_batch(&batch, &results);
                }
            });
        }
    });
    let results = results.into_inner().unwrap();
    for (index, (folder, floor)) in FOLDERS.iter().enumerate() {
        let compared = results.compared.get(&index).copied().unwrap_or(0);
        println!("{folder}: {compared} files compared");
        assert!(!expand(folder).exists() || compared >= *floor / parts, "only {compared} files compared in {folder}");
    }
    println!("{} files hold debug information only", results.debug_only);
    let first = results.differences.iter().take(100).map(String::as_str).collect::<Vec<_>>().join("\n");
    assert!(results.differences.is_empty(), "{} differences, of which the first:\n{first}", results.differences.len());
}

/// Files from the end of the list that are looked at in the same way.
fn next_batch(work: &mut Vec<Candidate>) -> Vec<Candidate> {
    let (mut batch, mut bytes): (Vec<Candidate>, u64) = (Vec::new(), 0);
    while let Some(next) = work.last() {
        let is_same = batch.first().is_none_or(|first| first.is_dynamic == next.is_dynamic);
        if !is_same || batch.len() == BATCH_FILES || (bytes > 0 && bytes + next.bytes > BATCH_BYTES) {
            break;
        }
        bytes += next.bytes;
        batch.extend(work.pop());
    }
    batch
}

fn compare_batch(batch: &[Candidate], results: &Mutex<Results>) {
    let paths: Vec<PathBuf> = batch.iter().map(|candidate| candidate.path.clone()).collect();
    let mut batch = batch.iter();
    crate::printed::readelf(&paths, batch.as_slice()[0].is_dynamic, |path, mut printed| {
        printed.drop_overlap();
        let folder = batch.next().unwrap().folder;
        let mut bytes = std::fs::read(path).unwrap();
        let read = ElfFile::parse(&bytes).map_err(Refusal::from).and_then(|file| Object::read(file, None));
        let mut differences = Vec::new();
        let mut is_debug_only = false;
        match read {
            Ok(object) => {
                differences = crate::compared::compare(&object, &printed);
                let with_sections = crate::compared::tables(object.file).unwrap();
                crate::compared::remove_sections(&mut bytes);
                let without = ElfFile::parse(&bytes).and_then(crate::compared::tables);
                // Static programs name their relocations in sections alone.
                if printed.dynamic.is_some() && without.as_ref() != Ok(&with_sections) {
                    differences.push(format!("{with_sections:?}, but without sections {without:?}"));
                }
            }
            Err(Refusal::DebugOnly) => is_debug_only = true,
            Err(refusal) => differences.push(format!("refused: {refusal}")),
        }
        let mut results = results.lock().unwrap();
        results.debug_only += usize::from(is_debug_only);
        *results.compared.entry(folder).or_default() += usize::from(!is_debug_only);
        results
            .differences
            .extend(differences.into_iter().map(|difference| format!("{}: {difference}", path.display())));
    });
}

fn candidates() -> Vec<Candidate> {
    let (mut found, mut seen) = (Vec::new(), HashSet::new());
    for (folder, (path, _)) in FOLDERS.iter().enumerate() {
        walk(&expand(path), &mut |path, metadata| {
            // A file with several names is one file.
            if seen.insert((metadata.dev(), metadata.ino()))
                && let Some(is_dynamic) = is_loadable(path)
            {
                found.push(Candidate { path: path.to_owned(), bytes: metadata.len(), folder, is_dynamic });
            }
        });
    }
    found
}

fn expand(folder: &str) -> PathBuf {
    match (folder.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(folder),
    }
}

/// Calls `visit` with every regular file below `folder`; links are not followed.
fn walk(folder: &Path, visit: &mut impl FnMut(&Path, &Metadata)) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut entries: Vec<_> = entries.flatten().collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let Ok(metadata) = entry.metadata() else { continue };
        match metadata {
            metadata if metadata.is_dir() => walk(&entry.path(), visit),
            metadata if metadata.is_file() => visit(&entry.path(), &metadata),
            _ => {}
        }
    }
}

/// Whether the file is a program or library with segments, and has a dynamic table. Told without the reader under test.
fn is_loadable(path: &Path) -> Option<bool> {
    // Program headers stand right behind the ELF header in all but odd files.
    let mut start = Vec::new();
    std::fs::File::open(path).ok()?.take(1 << 16).read_to_end(&mut start).ok()?;
    let is_64 = match start.get(..5)? {
        b"\x7fELF\x01" => false,
        b"\x7fELF\x02" => true,
        _ => return None,
    };
    let is_little = start.get(5) == Some(&1);
    let number = |at: usize, size: usize| {
        let bytes = start.get(at..at + size)?;
        let add = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        Some(if is_little { bytes.iter().rev().fold(0, add) } else { bytes.iter().fold(0, add) })
    };
    // Compiled modules of Guile are of no architecture.
    let is_program_or_library = matches!(number(16, 2)?, 2 | 3) && number(18, 2)? != 0;
    let (table, size, count) = if is_64 {
        (number(32, 8)?, number(54, 2)?, number(56, 2)?)
    } else {
        (number(28, 4)?, number(42, 2)?, number(44, 2)?)
    };
    if !is_program_or_library || count == 0 {
        return None;
    }
    let mut kinds = (0..count).map(|index| number(usize::try_from(table + index * size).unwrap(), 4));
    Some(kinds.any(|kind| kind == Some(2)))
}
