//! `coldstart prefetch record --exact` with programs whose pages are known: what is planned is what they used, and what a
//! replay brings in is what they then find in memory.
//!
//! Needs `cc`. What comes into the cache is seen as root only; without root these tests are skipped.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use coldstart_testing::skip;
use serde_json::Value;

use crate::cold::make_cold;
use crate::text;

/// Maps the file and touches every STEPth page of it; says how many major faults that took.
const TOUCH: &str = include_str!("prefetch_exact/touch.c");

/// Reads every STEPth page of the file.
const READ: &str = r#"
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
int main(int count, char **words) {
    int file = open(words[1], O_RDONLY);
    char page[4096];
    if (file < 0) return 2;
    for (long at = 0; pread(file, page, 4096, at * 4096) > 0; at += atol(words[2])) {}
    return 0;
}
"#;

/// 64 MiB.
const PAGES: u64 = 16_384;
const STEP: u64 = 50;

fn coldstart() -> Command {
    Command::new(env!("CARGO_BIN_EXE_coldstart"))
}

/// A program and a large file on a real disk: tmpfs has no page cache of its own to be cold.
struct Scratch {
    folder: tempfile::TempDir,
    data: PathBuf,
    program: PathBuf,
}

impl Scratch {
    /// `None` where this test cannot be.
    fn new(source: &str) -> Option<Self> {
        if !rustix::process::geteuid().is_root() || !cfg!(target_arch = "x86_64") {
            skip("what a start brings into the cache is seen as root only, and traced on x86-64");
            return None;
        }
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let (program, data) = (folder.path().join("program"), folder.path().join("data"));
        let code = folder.path().join("program.c");
        fs::write(&code, source).unwrap();
        assert!(Command::new("cc").args(["-O1", "-o"]).arg(&program).arg(&code).status().unwrap().success());
        fs::write(&data, vec![1u8; usize::try_from(PAGES).unwrap() * 4096]).unwrap();
        let scratch = Self { folder, data, program };
        make_cold(&scratch.data);
        if resident(&scratch.data) > 0 {
            skip("this file system keeps the file in memory");
            return None;
        }
        Some(scratch)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn words(&self) -> [String; 3] {
        [self.program.to_str().unwrap().into(), self.data.to_str().unwrap().into(), STEP.to_string()]
    }

    /// A plan of a start with the data evicted, and what is said of it.
    fn record(&self, plan: &str, options: &[&str]) -> (PathBuf, Value) {
        make_cold(&self.data);
        let path = self.path(plan);
        let mut command = coldstart();
        command.args(["prefetch", "record", "--as-is", "--json"]).args(options).arg("-o").arg(&path);
        let said = json(&command.arg("--").args(self.words()).output().unwrap());
        (path, said)
    }
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Whether `trace` sees each page that is touched; otherwise up to 16 are seen as one.
fn each_page_is_seen() -> bool {
    let told = json(&coldstart().args(["doctor", "--json"]).output().unwrap());
    let checks = told["checks"].as_array().unwrap();
    checks.iter().find(|check| check["name"] == "userfaultfd").unwrap()["status"] == "yes"
}

fn resident(path: &Path) -> u64 {
    let output = coldstart().args(["pagecache", "show", "--json"]).arg(path).output().unwrap();
    json(&output)["files"][0]["resident_pages"].as_u64().unwrap()
}

/// The pages of a file that a plan reads.
fn planned(plan: &Path, file: &Path) -> BTreeSet<u64> {
    let output = coldstart().args(["prefetch", "show", "--steps"]).arg(plan).output().unwrap();
    let end = file.file_name().unwrap().to_str().unwrap();
    let mut pages = BTreeSet::new();
    for line in text(&output.stdout).lines().filter(|line| line.trim_end().ends_with(&format!("/{end}"))) {
        let cells: Vec<&str> = line.split_whitespace().collect();
        // window, first use, "ms", page, pages, disk offset, path
        if let (Ok(first), Ok(count)) = (cells[3].parse::<u64>(), cells[4].parse::<u64>()) {
            pages.extend(first..first + count);
        }
    }
    pages
}

fn wanted() -> BTreeSet<u64> {
    (0..PAGES).step_by(usize::try_from(STEP).unwrap()).collect()
}

/// Both plans were weighed, the used pages hold at least what the program used, and the one taken is the one written.
fn assert_weighed(said: &Value) {
    let choice = &said["choice"];
    let (exact, cached) = (&choice["exact"], &choice["cached"]);
    let used = exact["used_bytes"].as_u64().unwrap();
    assert!(used >= wanted().len() as u64 * 4096, "{choice}");
    let read_around = cached["used_bytes"].as_u64().unwrap();
    if each_page_is_seen() {
        assert!(used * 3 < read_around, "the kernel read around each page: {choice}");
    } else {
        // Seen with up to 15 others, of the cached ones.
        assert!(used <= read_around, "{choice}");
    }
    assert!(exact["predicted_seconds"].as_f64().unwrap() > 0.0, "{choice}");
    let taken = if choice["taken"] == "exact" { exact } else { cached };
    assert_eq!(taken["bytes"], said["bytes"], "{choice}");
}

#[test]
fn touched_pages_are_planned_and_found_in_memory() {
    let Some(scratch) = Scratch::new(TOUCH) else { return };
    let (plan, said) = scratch.record("exact.prefetch", &["--exact"]);
    assert_weighed(&said);
    let pages = planned(&plan, &scratch.data);
    assert!(pages.is_superset(&wanted()), "{} pages are planned", pages.len());

    let (cached, _) = scratch.record("cached.prefetch", &[]);
    let all = planned(&cached, &scratch.data);
    assert!(all.len() as u64 > PAGES / 2, "the kernel reads around: {} pages", all.len());
    if said["choice"]["taken"] == "exact" && said["choice"]["exact"]["bytes"].as_u64() < Some(16 << 20) {
        assert_eq!(pages, wanted(), "where no gap is worth reading, nothing else is planned");
    }

    // Some kernels reclaim pages that nobody has used yet within a second (DAMON), which is not so each time.
    let mut seen = Vec::new();
    let found_there = (0..5).any(|_| {
        make_cold(&scratch.data);
        assert_eq!(resident(&scratch.data), 0);
        assert!(coldstart().args(["prefetch", "run"]).arg(&plan).status().unwrap().success());
        let there = resident(&scratch.data);
        assert!(there <= pages.len() as u64, "{there} pages are resident, {} were planned", pages.len());
        let told = Command::new(&scratch.program).args(&scratch.words()[1..]).output().unwrap().stdout;
        let faults: u64 = text(&told).trim().parse().unwrap();
        seen.push((there, faults));
        there * 5 >= pages.len() as u64 * 4 && faults * 5 <= wanted().len() as u64
    });
    let (planned, touched) = (pages.len(), wanted().len());
    assert!(found_there, "resident of {planned} pages, and which of {touched} touches waited for the disk: {seen:?}");
}

#[test]
fn pages_that_were_read_count_as_used() {
    let Some(scratch) = Scratch::new(READ) else { return };
    let (plan, said) = scratch.record("exact.prefetch", &["--exact"]);
    let pages = planned(&plan, &scratch.data);
    assert!(pages.is_superset(&wanted()), "{} pages are planned", pages.len());
    let choice = &said["choice"];
    let used = |plan: &str| choice[plan]["used_bytes"].as_u64().unwrap();
    assert!(used("exact") >= wanted().len() as u64 * 4096, "{choice}");
    assert!(used("exact") <= used("cached"), "{choice}");
}

#[test]
fn a_kept_trace_is_planned_without_starting_the_program() {
    let Some(scratch) = Scratch::new(TOUCH) else { return };
    make_cold(&scratch.data);
    let trace = scratch.path("start.coldtrace");
    let mut record = coldstart();
    record.args(["trace", "--layers", "pages,files", "-o"]).arg(&trace).arg("--").args(scratch.words());
    let output = record.output().unwrap();
    assert!(trace.exists(), "{}", text(&output.stderr));

    // Were it started, there would be no program to start.
    fs::remove_file(&scratch.program).unwrap();
    let plan = scratch.path("kept.prefetch");
    let from = |plan: &Path| {
        let mut command = coldstart();
        command.args(["prefetch", "record", "--exact", "--json", "--from"]).arg(&trace).arg("-o").arg(plan);
        command.output().unwrap()
    };
    let said = json(&from(&plan));
    assert_weighed(&said);
    assert!(planned(&plan, &scratch.data).is_superset(&wanted()));
    assert_eq!(said["hot_start_seconds"], 0.0);

    // What is another file now is left out, and said to be.
    fs::write(&scratch.data, vec![2u8; 40 * 4096]).unwrap();
    let said = json(&from(&plan));
    let notes = said["notes"].as_array().unwrap();
    assert!(
        notes.iter().any(|note| note.as_str().unwrap().contains("1 file is left out because of changes since")),
        "{said}"
    );
    assert!(planned(&plan, &scratch.data).is_empty());
}

#[test]
fn a_trace_is_asked_for_where_there_is_none_to_use() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let plan = folder.path().join("a.prefetch");
    let run = |words: &[&str]| {
        let mut command = coldstart();
        command.current_dir(folder.path()).args(["prefetch", "record", "-o"]).arg(&plan).args(words);
        command.output().unwrap()
    };
    fs::write(folder.path().join("no-trace"), "hello").unwrap();
    for words in [
        &["--exact", "--from", "missing"][..],
        &["--exact", "--from", "no-trace"],
        &["--from", "no-trace"],
        &["--exact"],
        &["--exact", "--from", "no-trace", "--", "true"],
    ] {
        let output = run(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", text(&output.stderr));
        assert!(!plan.exists(), "{words:?} left a plan");
    }
}
