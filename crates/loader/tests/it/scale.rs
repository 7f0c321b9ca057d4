//! Closures far larger than any real one: what grows must grow with the loader's own work, and hostile names are names.
//!
//! Files exist in memory only. Counts are asserted; that the test comes to its end at all shows that nothing is searched
//! over and over.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Instant;

use coldstart_loader::{
    Call, Environment, FileSystem, FoundBy, Hwcaps, Identity, Known, ObjectFacts, Probe, calls, resolve, shadowed,
};

/// Files by their path; the directories are those they stand in.
#[derive(Default)]
struct Memory {
    files: HashMap<PathBuf, (u64, ObjectFacts)>,
    directories: HashMap<PathBuf, ()>,
}

impl Memory {
    fn add(&mut self, path: impl Into<PathBuf>, facts: ObjectFacts) {
        let path = path.into();
        self.directories.extend(path.ancestors().skip(1).map(|directory| (directory.to_owned(), ())));
        let inode = self.files.len() as u64;
        self.files.insert(path, (inode, facts));
    }
}

impl FileSystem for Memory {
    fn object(&self, path: &Path) -> Probe {
        match self.files.get(path) {
            Some((inode, facts)) => {
                Probe::Object { identity: Identity { device: 1, inode: *inode }, facts: facts.clone() }
            }
            None => Probe::Absent(ErrorKind::NotFound),
        }
    }

    fn is_directory(&self, path: &Path) -> bool {
        self.directories.contains_key(path)
    }

    fn canonical(&self, path: &Path) -> Option<PathBuf> {
        Some(path.to_owned())
    }
}

fn object(needed: Vec<Vec<u8>>) -> ObjectFacts {
    ObjectFacts { little_endian: true, machine: 62, needed, ..ObjectFacts::default() }
}

fn name(number: usize) -> Vec<u8> {
    format!("lib{number}.so").into_bytes()
}

fn list(directories: impl Iterator<Item = String>) -> Option<Vec<u8>> {
    Some(directories.collect::<Vec<_>>().join(":").into_bytes())
}

/// Environment with three levels, as most machines have.
fn environment() -> Environment {
    let levels = ["x86-64-v4", "x86-64-v3", "x86-64-v2"].map(|level| level.as_bytes().to_vec()).to_vec();
    Environment { hwcaps: Hwcaps { levels, combined: None }, ..Environment::default() }
}

fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    eprintln!("{what}: {:.2} s", start.elapsed().as_secs_f64());
    result
}

#[test]
fn ten_thousand_names_in_one_object() {
    let mut memory = Memory::default();
    memory.add("/app", ObjectFacts { runpath: Some(b"/here".to_vec()), ..object((0..10_000).map(name).collect()) });
    (0..10_000).for_each(|number| memory.add(format!("/here/lib{number}.so"), object(Vec::new())));
    let closure = timed("10,000 names", || resolve(Path::new("/app"), &memory, &environment()).unwrap());
    assert_eq!(closure.objects.len(), 10_001);
    // Three levels that are not there, once.
    assert_eq!((closure.failed_probes.len(), closure.directory_probes.len()), (3, 3));
    assert_eq!(calls(&closure).len(), 10_006);
}

#[test]
fn five_thousand_objects_in_a_chain_with_cycles() {
    let mut memory = Memory::default();
    memory.add("/app", object(vec![name(0)]));
    for number in 0..5_000 {
        // On to the next one, back to the first, to the one before, and to itself.
        let needed = vec![name((number + 1) % 5_000), name(0), name(number.saturating_sub(1)), name(number)];
        memory.add(format!("/lib/lib{number}.so"), ObjectFacts { soname: Some(name(number)), ..object(needed) });
    }
    let closure = timed("5,000 objects", || resolve(Path::new("/app"), &memory, &environment()).unwrap());
    assert_eq!((closure.objects.len(), closure.requests.len()), (5_001, 20_001));
    let known = closure.requests.iter().filter(|request| request.found_by == Some(FoundBy::AlreadyLoaded(Known::Name)));
    assert_eq!(known.count(), 15_001);
    let others = timed("what they would have found", || shadowed(&closure, &memory, &environment()));
    assert_eq!(others, []);
}

#[test]
fn every_object_of_a_chain_hands_its_rpath_on() {
    let mut memory = Memory::default();
    memory.add("/app", ObjectFacts { rpath: Some(b"/d0".to_vec()), ..object(vec![name(0)]) });
    for number in 0..1_000 {
        let rpath = Some(format!("/d{}", number + 1).into_bytes());
        memory.add(format!("/d{number}/lib{number}.so"), ObjectFacts { rpath, ..object(vec![name(number + 1)]) });
    }
    let plain = Environment::default();
    let closure = timed("1,000 lists, inherited", || resolve(Path::new("/app"), &memory, &plain).unwrap());
    assert_eq!((closure.objects.len(), closure.missing.len()), (1_001, 1));
    // The last name is looked for in everybody's directory, of which the last is not there, and in the default ones.
    assert_eq!(closure.failed_probes.len(), 1_001 + 4);
}

#[test]
fn a_search_path_of_ten_thousand_directories() {
    let mut memory = Memory::default();
    let runpath = list((0..10_000).map(|number| format!("/gone/{number}")).chain(["/here".to_owned()]));
    memory.add("/app", ObjectFacts { runpath, ..object((0..1_000).map(name).collect()) });
    (0..1_000).for_each(|number| memory.add(format!("/here/lib{number}.so"), object(Vec::new())));
    let closure = timed("10,000 directories", || resolve(Path::new("/app"), &memory, &environment()).unwrap());
    assert_eq!(closure.objects.len(), 1_001);
    // Each directory and each level of it is asked about once.
    assert_eq!(closure.failed_probes.len(), 10_000 * 4 + 3);
    assert_eq!(closure.directory_probes.len(), closure.failed_probes.len());
    let opens = calls(&closure).into_iter().filter(|call| matches!(call, Call::Open { .. })).count();
    assert_eq!(opens, 10_000 * 4 + 3 + 1_000);
}

#[test]
fn names_are_bytes() {
    let mut memory = Memory::default();
    let odd = b"lib\xff\xfe\n.so".to_vec();
    memory.add(
        "/app",
        object(vec![odd.clone(), b"$ORIGIN\xff/x".to_vec(), b"$".to_vec(), vec![b'a'; 100_000], Vec::new()]),
    );
    memory.add(
        PathBuf::from(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"/lib/lib\xff\xfe\n.so")),
        object(Vec::new()),
    );
    let closure = resolve(Path::new("/app"), &memory, &environment()).unwrap();
    assert_eq!((closure.objects.len(), closure.missing.len()), (2, 3));
    assert_eq!(closure.missing[0].name_asked, b"/\xff/x");
    // The program answers to the empty name.
    assert_eq!(closure.requests[4].object, Some(0));
}

#[test]
fn who_asks_first_decides_for_all() {
    let mut memory = Memory::default();
    let soname = Some(b"libz.so.1".to_vec());
    let package = |name: &str, needed: &[&str]| ObjectFacts {
        runpath: Some(format!("/{name}/lib").into_bytes()),
        ..object(needed.iter().map(|name| name.as_bytes().to_vec()).collect())
    };
    memory.add(
        "/app",
        ObjectFacts {
            runpath: Some(b"/a/lib:/b/lib".to_vec()),
            ..object(vec![b"liba.so".to_vec(), b"libb.so".to_vec()])
        },
    );
    memory.add("/a/lib/liba.so", package("a", &["libz.so.1"]));
    memory.add("/b/lib/libb.so", package("b", &["libz.so.1", "/c/lib/libz.so.1", "liba.so"]));
    for place in ["a", "b", "c"] {
        memory.add(format!("/{place}/lib/libz.so.1"), ObjectFacts { soname: soname.clone(), ..object(Vec::new()) });
    }
    let closure = resolve(Path::new("/app"), &memory, &environment()).unwrap();
    let others = shadowed(&closure, &memory, &environment());
    assert_eq!(others.len(), 1);
    assert_eq!((others[0].requester, others[0].object), (2, 3));
    assert_eq!((others[0].other.to_str(), others[0].found_by), (Some("/b/lib/libz.so.1"), FoundBy::Runpath { of: 2 }));
    assert_eq!(closure.same_sonames(), [[3, 4]]);
}
