//! What a start asked of files, against programs that say what they do, and against `fincore`.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use coldstart_analyse::Places;
use coldstart_host::process::{SELF, own};
use coldstart_pagecache::{EvictOptions, evict};
use coldstart_profile::trace::figures::{Figures, PageCounts};
use coldstart_profile::trace::{EventKind, FileCategory, FillCause, LookupKind, Moment, ProcessId, ThreadId, Trace};
use coldstart_trace::NameLog;
use coldstart_trace::start::{DiskLog, DiskPieces, DiskRecorder, KnownFiles, Setting, disk_pieces};
use tempfile::TempDir;

/// On a disk, because files in memory are never filled.
fn folder() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn compile(folder: &TempDir, source: &str) -> PathBuf {
    let (code, program) = (folder.path().join("program.c"), folder.path().join("program"));
    fs::write(&code, format!("#define _GNU_SOURCE\n{INCLUDES}\n{source}")).unwrap();
    assert!(Command::new("gcc").args(["-O1", "-w", "-o"]).arg(&program).arg(&code).status().unwrap().success());
    program
}

const INCLUDES: &str = "#include <dirent.h>\n#include <fcntl.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <sys/mman.h>\n\
    #include <sys/stat.h>\n#include <sys/wait.h>\n#include <unistd.h>";

/// A file of so many pages, on the disk and not in the page cache.
fn cold_file(folder: &TempDir, name: &str, pages: usize) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, vec![7; pages * 4096]).unwrap();
    fs::File::open(&path).unwrap().sync_all().unwrap();
    for _ in 0..100 {
        evict(&path, EvictOptions::default()).unwrap();
        if fincore(&path) == 0 {
            return path;
        }
        // Pages that somebody else holds at that moment stay.
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{} is not cold", path.display());
}

/// Pages in the page cache, as util-linux tells.
fn fincore(path: &Path) -> u64 {
    let output =
        Command::new("fincore").args(["--raw", "--noheadings", "--output", "PAGES"]).arg(path).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
}

/// Whether so many pages are cached. None can have come; some may be gone, where somebody reclaims memory.
fn agrees_with_fincore(path: &Path, pages: u64) -> bool {
    let cached = fincore(path);
    assert!(cached <= pages, "{cached} pages of {} are cached, and {pages} are known", path.display());
    cached + pages / 4 >= pages
}

/// Kernels that take back unused pages at once (DAMON) may be faster than `fincore`: then all is done once more.
fn agrees_in_the_end(start: impl Fn() -> bool) {
    assert!((0..10).any(|_| start()), "pages that came in are not cached");
}

struct Seen {
    log: DiskLog,
    names: NameLog,
    launched_at: Duration,
    first: u32,
    program: PathBuf,
}

fn now() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Runs a program to its end and records it.
fn record(program: &Path, arguments: &[&OsStr]) -> Seen {
    let mut recorder = DiskRecorder::start();
    if !recorder.is_recording() {
        coldstart_testing::skip(&recorder.notes().join(" "));
    }
    let mut command = Command::new(program);
    command.args(arguments);
    let pending = coldstart_sys::syscall_observer::observe(&mut command).unwrap();
    let (send, receive) = mpsc::channel();
    let follower = std::thread::spawn(move || {
        send.send(()).unwrap();
        NameLog::follow_all(&pending.accept().unwrap()).unwrap()
    });
    receive.recv().unwrap();
    recorder.follow(rustix::thread::gettid().as_raw_nonzero().get() as u32);
    let launched_at = now();
    let mut child = command.spawn().unwrap();
    let first = child.id();
    assert!(child.wait().unwrap().success());
    drop(command);
    let names = follower.join().unwrap();
    Seen { log: recorder.finish(), names, launched_at, first, program: program.to_path_buf() }
}

/// Whether there is something to check: reads and fills, and causes of fills, for which kernels before the `readahead` tracepoints
/// have none (6.12).
fn is_recorded(seen: &Seen) -> bool {
    let has_causes = !seen.log.notes.iter().any(|note| note.contains("Why pages came from the disk is not recorded"));
    let recorded = has_causes && (!seen.log.fills.is_empty() || !seen.log.reads.is_empty());
    if !recorded {
        coldstart_testing::skip(&seen.log.notes.join(" "));
    }
    recorded
}

impl Seen {
    fn pieces(&self) -> DiskPieces {
        let mut known = KnownFiles::new();
        known.add_names(&self.names);
        let places = Places::here(&self.program);
        let setting = Setting {
            launched_at: self.launched_at,
            places: &places,
            known: &known,
            thread: &|number, _: Moment| (number == self.first).then_some(ThreadId(0)),
            process: &|number, _: Moment| Some(ProcessId(u32::from(number != self.first))),
        };
        disk_pieces(&self.log, &self.names, &setting, Vec::new())
    }

    fn trace(&self) -> Trace {
        let pieces = self.pieces();
        Trace { files: pieces.files, events: pieces.events, lookups: pieces.lookups, ..Trace::default() }
    }
}

/// Page ranges of a file's events of one kind, in order.
fn ranges(trace: &Trace, path: &Path, wanted: impl Fn(EventKind) -> bool) -> Vec<(u64, u32)> {
    let path = path.canonicalize().unwrap();
    let of_file = |event: &&coldstart_profile::trace::Event| {
        wanted(event.kind) && event.file.and_then(|file| trace.file(file)).is_some_and(|file| file.path == path)
    };
    trace.events.iter().filter(of_file).map(|event| (event.page, event.pages)).collect()
}

/// What the trace's figures say of a file.
fn counts(trace: &Trace, path: &Path) -> PageCounts {
    let path = path.canonicalize().unwrap();
    let figures = Figures::of(trace);
    figures.files.iter().find(|figures| trace.file(figures.file).unwrap().path == path).unwrap().pages
}

fn is_fill(kind: EventKind) -> bool {
    matches!(kind, EventKind::Fill(_))
}

#[test]
fn reads_are_told_with_their_ranges_and_fills_agree_with_fincore() {
    let folder = folder();
    let program = compile(
        &folder,
        "char b[1 << 20]; int main(int c, char **v) { int f = open(v[1], O_RDONLY);
         posix_fadvise(f, 0, 0, POSIX_FADV_RANDOM);
         pread(f, b, 100, 0); pread(f, b, 3 * 4096, 100 * 4096); pread(f, b, 200, 4090); pread(f, b, 40 * 4096, 400 * 4096);
         for (int i = 0; i < 64; i++) pread(f, b, 64, 300 * 4096 + i * 64); return 0; }",
    );
    agrees_in_the_end(|| {
        let file = cold_file(&folder, "data", 500);
        let seen = record(&program, &[file.as_os_str()]);
        if !is_recorded(&seen) {
            return true;
        }
        assert_eq!(seen.log.lost, 0);
        let trace = seen.trace();
        let reads = ranges(&trace, &file, |kind| kind == EventKind::Read);
        assert_eq!(reads, [(0, 1), (100, 3), (0, 2), (400, 40), (300, 1)]);
        let demanded = ranges(&trace, &file, |kind| kind == EventKind::Fill(FillCause::Demand));
        assert_eq!(demanded, ranges(&trace, &file, is_fill), "all were waited for");
        let filled: BTreeSet<u64> = demanded.iter().flat_map(|(page, pages)| *page..page + u64::from(*pages)).collect();
        let asked: BTreeSet<u64> = (0..2).chain(100..103).chain(300..301).chain(400..440).collect();
        assert_eq!(filled, asked);
        let counts = counts(&trace, &file);
        assert_eq!((counts.fills.demand, counts.filled, counts.read, counts.wasted), (46, 46, 46, 0));
        agrees_with_fincore(&file, filled.len() as u64)
    });
}

#[test]
fn sequential_reading_is_read_ahead_of() {
    let folder = folder();
    let program = compile(
        &folder,
        "char b[4096]; int main(int c, char **v) { int f = open(v[1], O_RDONLY);
         for (int i = 0; i < 64; i++) { read(f, b, 4096); usleep(200); } return 0; }",
    );
    agrees_in_the_end(|| {
        let file = cold_file(&folder, "data", 4096);
        let seen = record(&program, &[file.as_os_str()]);
        if !is_recorded(&seen) {
            return true;
        }
        let trace = seen.trace();
        let fills = ranges(&trace, &file, is_fill);
        let ahead = ranges(&trace, &file, |kind| kind == EventKind::Fill(FillCause::Readahead));
        assert_eq!(fills.first().map(|(page, _)| *page), Some(0));
        assert!(
            !ahead.is_empty() && ahead.len() < fills.len(),
            "the first is demanded, later ones are not: {fills:?} {ahead:?}"
        );
        let pages: u64 = fills.iter().map(|(_, pages)| u64::from(*pages)).sum();
        let counts = counts(&trace, &file);
        assert_eq!((counts.read, counts.filled, counts.fills.total()), (64, pages, pages));
        assert_eq!(counts.wasted, pages - 64);
        agrees_with_fincore(&file, pages)
    });
}

#[test]
fn mapped_files_are_filled_on_demand() {
    let folder = folder();
    let program = compile(
        &folder,
        "int main(int c, char **v) { int f = open(v[1], O_RDONLY);
         volatile char *p = mmap(0, 1000 * 4096, PROT_READ, MAP_PRIVATE, f, 0); madvise((void *)p, 1000 * 4096, MADV_RANDOM);
         p[50 * 4096]; p[700 * 4096]; posix_fadvise(f, 900 * 4096, 16 * 4096, POSIX_FADV_WILLNEED); return 0; }",
    );
    agrees_in_the_end(|| {
        let file = cold_file(&folder, "data", 1000);
        let seen = record(&program, &[file.as_os_str()]);
        if !is_recorded(&seen) {
            return true;
        }
        let trace = seen.trace();
        assert_eq!(ranges(&trace, &file, |kind| kind == EventKind::Fill(FillCause::Demand)), [(50, 1), (700, 1)]);
        assert_eq!(ranges(&trace, &file, |kind| kind == EventKind::Fill(FillCause::Readahead)), [(900, 16)]);
        assert_eq!(ranges(&trace, &file, |kind| kind == EventKind::Read), []);
        agrees_with_fincore(&file, 18)
    });
}

#[test]
fn children_are_the_program_and_strangers_are_not() {
    let folder = folder();
    let program = compile(
        &folder,
        "char b[4096]; int main(int c, char **v) { char w[300];
         if (fork() == 0) { int f = open(v[1], O_RDONLY); pread(f, b, 4096, 0); return 0; } wait(0);
         int f = open(v[2], O_RDONLY); snprintf(w, 300, \"%s.go\", v[2]); close(open(w, O_CREAT | O_WRONLY, 0600));
         snprintf(w, 300, \"%s.done\", v[2]); while (access(w, F_OK)) usleep(1000); return 0; }",
    );
    let (own, other) = (cold_file(&folder, "own", 1), cold_file(&folder, "other", 1));
    let stranger = {
        let other = other.clone();
        std::thread::spawn(move || {
            let with = |suffix: &str| PathBuf::from(format!("{}{suffix}", other.display()));
            for _ in 0..60_000 {
                if with(".go").exists() {
                    fs::read(&other).unwrap();
                    break;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            fs::write(with(".done"), "").unwrap();
        })
    };
    let seen = record(&program, &[own.as_os_str(), other.as_os_str()]);
    stranger.join().unwrap();
    if !is_recorded(&seen) {
        return;
    }
    let trace = seen.trace();
    assert_eq!(ranges(&trace, &own, |kind| kind == EventKind::Fill(FillCause::Demand)), [(0, 1)]);
    assert_eq!(ranges(&trace, &own, |kind| kind == EventKind::Read), [(0, 1)]);
    assert_eq!(
        ranges(&trace, &other, is_fill),
        ranges(&trace, &other, |kind| kind == EventKind::Fill(FillCause::Other))
    );
    assert_eq!(ranges(&trace, &other, is_fill), [(0, 1)]);
    let own = own.canonicalize().unwrap();
    let lookup = trace.lookups.iter().find(|lookup| lookup.path == own).unwrap();
    assert_eq!(lookup.process, Some(ProcessId(1)), "the child asked for it");
}

#[test]
fn names_are_told_with_what_became_of_them() {
    let folder = folder();
    let program = compile(
        &folder,
        "int main(int c, char **v) { char w[300]; struct stat s; chdir(v[1]);
         for (int i = 0; i < 5; i++) stat(\"missing\", &s);
         DIR *d = opendir(\".\"); while (readdir(d)); closedir(d);
         int f = open(\"made\", O_CREAT | O_RDWR, 0600); write(f, w, 300); pread(f, w, 100, 0);
         f = open(\"gone\", O_RDONLY); unlink(\"gone\"); pread(f, w, 100, 0);
         f = open(\"temporary\", O_CREAT | O_RDWR, 0600); unlink(\"temporary\"); write(f, w, 300); pread(f, w, 100, 0);
         open(v[2], O_RDONLY); open(v[3], O_RDONLY); return 0; }",
    );
    let gone = cold_file(&folder, "gone", 1).canonicalize().unwrap();
    let (maps, nothing) = (Path::new(own::MAPS), Path::new(SELF).join("nothing"));
    let seen = record(&program, &[folder.path().as_os_str(), maps.as_os_str(), nothing.as_os_str()]);
    let trace = seen.trace();
    let lookup = |name: &Path| {
        let mut found = trace.lookups.iter().filter(|lookup| lookup.path == name);
        let lookup = found.next().unwrap_or_else(|| panic!("{} was asked for: {:?}", name.display(), trace.lookups));
        assert!(found.next().is_none(), "{} is told once", name.display());
        let path = lookup.file.and_then(|file| trace.file(file)).map(|file| file.path.clone());
        (lookup.kind, lookup.failed, path)
    };
    let here = folder.path().canonicalize().unwrap();
    assert_eq!(lookup(&here.join("missing")), (LookupKind::Ask, true, None));
    assert!(seen.names.repeats >= 4, "asked five times: {}", seen.names.repeats);
    assert_eq!(lookup(&here.join("made")), (LookupKind::Open, false, None));
    assert_eq!(lookup(&gone), (LookupKind::Open, false, Some(gone.clone())));
    assert_eq!(lookup(maps), (LookupKind::Open, false, None));
    assert_eq!(lookup(&nothing), (LookupKind::Open, true, None));
    let listed =
        trace.lookups.iter().find(|lookup| lookup.kind == LookupKind::List && lookup.path.starts_with(&here)).unwrap();
    assert_eq!(listed.file.and_then(|file| trace.file(file)).map(|file| file.path.as_path()), Some(here.as_path()));
    if !is_recorded(&seen) {
        return;
    }
    assert_eq!(ranges_of_name(&trace, &gone.display().to_string()), [("fill", 0, 1), ("read", 0, 1)]);
    assert_eq!(
        ranges_of_name(&trace, &here.join("made").display().to_string()),
        [("read", 0, 1)],
        "it was written, not filled"
    );
    assert!(seen.log.written_pages >= 2, "{}", seen.log.written_pages);
    let device = coldstart_device(fs::metadata(&here).unwrap().dev());
    let unnamed: Vec<_> =
        trace.files.iter().filter(|file| file.path.to_string_lossy().starts_with("(unnamed inode ")).collect();
    assert!(unnamed.iter().any(|file| file.device == device), "what has no name any more: {unnamed:?}");
}

fn coldstart_device(number: u64) -> u64 {
    u64::from(rustix::fs::major(number)) << 20 | u64::from(rustix::fs::minor(number))
}

/// What the program did in a file. What others filled is left out: a file that was made has the number of one that is gone,
/// whose pages another program may have read a moment before.
fn ranges_of_name(trace: &Trace, path: &str) -> Vec<(&'static str, u64, u32)> {
    let of_file = |event: &&coldstart_profile::trace::Event| {
        event.file.and_then(|file| trace.file(file)).is_some_and(|file| file.path == Path::new(path))
    };
    let own = trace.events.iter().filter(of_file).filter(|event| event.kind != EventKind::Fill(FillCause::Other));
    let name = |kind| if is_fill(kind) { "fill" } else { "read" };
    own.map(|event| (name(event.kind), event.page, event.pages)).collect()
}

#[test]
fn metadata_of_the_file_system_is_the_block_device_s() {
    let folder = folder();
    let program = compile(&folder, "int main() { return 0; }");
    let seen = record(&program, &[]);
    let trace = seen.trace();
    // Whether any metadata has to be read depends on the machine's cache; what is read must be named well.
    for file in &trace.files {
        assert_eq!(file.category == FileCategory::Metadata, file.path.starts_with("/dev/"), "{file:?}");
    }
    let own = trace.files.iter().find(|file| file.path == program.canonicalize().unwrap()).unwrap();
    assert_eq!(own.category, FileCategory::Program);
}
