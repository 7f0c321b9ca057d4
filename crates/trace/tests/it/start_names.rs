//! Names that a start asks for, against strace: the same, in the same order, with the same answers.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use coldstart_profile::trace::{EventKind, Layer, LookupKind, Trace};
use coldstart_testing::skip;

use crate::start_support::{file_named, lacks_reads, trace};

const PYTHON: &str = "/usr/bin/python3";

/// A path, and whether there was nothing.
type Asked = (PathBuf, bool);

/// The paths in the order in which they were asked for first, and the folders that were listed.
fn by_strace(log: &str) -> (Vec<Asked>, BTreeSet<PathBuf>) {
    let (mut asked, mut seen, mut listed) = (Vec::new(), HashSet::new(), BTreeSet::new());
    for line in log.lines() {
        let Some((call, rest)) = line.split_once('(') else { continue };
        let call = call.rsplit(' ').next().unwrap();
        let Some((arguments, result)) = rest.rsplit_once(" = ") else { continue };
        if call == "getdents64" {
            let folder = arguments.split_once('<').and_then(|(_, behind)| behind.split_once('>'));
            listed.extend(folder.map(|(folder, _)| PathBuf::from(folder)));
            continue;
        }
        // The first string is the name; what stands before it may be a folder that it begins at.
        let Some((before, name)) = arguments.split_once('"') else { continue };
        let Some(name) = name.split('"').next().filter(|name| !name.is_empty()) else { continue };
        let base = before.split_once('<').and_then(|(_, behind)| behind.split_once('>')).map(|(base, _)| base);
        let base = base.map_or_else(|| std::env::current_dir().unwrap(), PathBuf::from);
        let path: PathBuf = base.join(name).components().collect();
        let failed = ["ENOENT", "ENOTDIR", "ELOOP"].iter().any(|error| result.contains(error));
        if seen.insert(path.clone()) {
            asked.push((path, failed));
        }
    }
    (asked, listed)
}

fn by_trace(trace: &Trace) -> Vec<Asked> {
    let mut seen = HashSet::new();
    let first = trace.lookups.iter().filter(|lookup| seen.insert(lookup.path.clone()));
    first.map(|lookup| (lookup.path.components().collect(), lookup.failed)).collect()
}

#[test]
fn names_of_a_python_start_are_those_of_strace() {
    if !Path::new(PYTHON).exists() || Command::new("strace").arg("-V").stdout(Stdio::null()).status().is_err() {
        return skip("python3 or strace is not installed");
    }
    let arguments = ["-I", "-B", "-c", "import json, os; os.listdir('/usr/share')"];
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("strace");
    // Whatever the first start leaves in caches, the second ones find.
    assert!(Command::new(PYTHON).args(arguments).status().unwrap().success());
    let mut strace = Command::new("strace");
    strace.args(["-f", "-y", "-s", "4096", "-e", "trace=file,getdents64", "-o"]).arg(&log).arg(PYTHON).args(arguments);
    assert!(strace.status().unwrap().success());
    let (expected, listed) = by_strace(&fs::read_to_string(&log).unwrap());
    let trace = trace(Path::new(PYTHON), &arguments, &[Layer::Files]);
    let found = by_trace(&trace);
    assert!(expected.len() > 30 && expected.iter().any(|(_, failed)| *failed), "{expected:?}");
    assert_eq!(found, expected);
    let lists = trace.lookups.iter().filter(|lookup| lookup.kind == LookupKind::List && !lookup.failed);
    assert_eq!(lists.map(|lookup| lookup.path.clone()).collect::<BTreeSet<_>>(), listed);
}

#[test]
fn reads_end_where_files_do() {
    if !Path::new(PYTHON).exists() {
        return skip("python3 is not installed");
    }
    let folder = tempfile::tempdir().unwrap();
    let sizes = [1_u64, 100, 4096, 4097, 20_000];
    for size in sizes {
        fs::write(folder.path().join(format!("{size}.bin")), vec![7_u8; usize::try_from(size).unwrap()]).unwrap();
    }
    let code = format!(
        "import os\nfor size in {sizes:?}:\n file = os.open(f'{}/{{size}}.bin', os.O_RDONLY)\n while os.read(file, 65536): pass",
        folder.path().display()
    );
    let trace = trace(Path::new(PYTHON), &["-I", "-B", "-c", &code], &[Layer::Files]);
    if lacks_reads(&trace.run.notes) {
        return;
    }
    for size in sizes {
        let file = file_named(&trace, &format!("{size}.bin"));
        let reads = trace.events.iter().filter(|event| event.file == Some(file) && event.kind == EventKind::Read);
        let pages: BTreeSet<u64> =
            reads.flat_map(|event| event.page..event.page.saturating_add(event.pages.into())).collect();
        assert_eq!(pages, (0..size.div_ceil(4096)).collect(), "{size} bytes");
    }
}
