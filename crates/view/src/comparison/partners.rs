//! Matches the files of two traces.
//!
//! Equal paths are partners. Of the rest, a copy in another directory or in another version's directory of a store is
//! one, as far as only one file on each side can be meant: two that are wrongly held to be one would be worse than
//! two that stand alone.

use std::collections::HashMap;
use std::hash::Hash;
use std::path::{Component, Path, PathBuf};

use coldstart_profile::trace::{FileCategory, FileId, Trace, TracedFile, TracedObject};

/// Characters of a hash in the names of stores: 32 of Nix and Guix, and of Spack behind name and version.
const STORE_HASH: usize = 32;

/// Of each file of the first trace: its partner in the second.
pub(super) fn partners(first: &Trace, second: &Trace) -> Vec<Option<FileId>> {
    let mut pairing = Pairing {
        first: Side::of(first),
        second: Side::of(second),
        partners: vec![None; first.files.len()],
        is_taken: vec![false; second.files.len()],
    };
    pairing.pair(|side| Some(side.file.path.as_path()));
    // Blocks of a file system and what is in memory only have no copies elsewhere.
    pairing.pair(|side| side.object?.build_id.as_deref().filter(|id| !id.is_empty()));
    pairing.pair(|side| without_hash(&side.elsewhere()?.path));
    pairing.pair(|side| side.object?.soname.as_deref().filter(|soname| !soname.is_empty()));
    for names in [4, 3, 2, 1] {
        pairing.pair(|side| Some((side.object.is_some(), last_names(&side.elsewhere()?.path, names)?)));
    }
    // Two versions of a program may have names of their own.
    pairing.pair(|side| side.is_program.then_some(()));
    pairing.partners
}

/// A file of a trace, with what tells which it is.
#[derive(Clone, Copy)]
struct Candidate<'a> {
    file: &'a TracedFile,
    object: Option<&'a TracedObject>,
    /// Whether it is what the first process began with.
    is_program: bool,
}

impl<'a> Candidate<'a> {
    fn elsewhere(self) -> Option<&'a TracedFile> {
        (!matches!(self.file.category, FileCategory::Metadata | FileCategory::Memory)).then_some(self.file)
    }
}

struct Side<'a> {
    files: Vec<Candidate<'a>>,
}

impl<'a> Side<'a> {
    fn of(trace: &'a Trace) -> Self {
        let objects: HashMap<FileId, &TracedObject> =
            trace.objects.iter().rev().map(|object| (object.file, object)).collect();
        let program = trace.processes.first().map(|process| process.program.as_path());
        let files = (0u32..).zip(&trace.files).map(|(place, file)| Candidate {
            file,
            object: objects.get(&FileId(place)).copied(),
            is_program: program == Some(file.path.as_path()),
        });
        Self { files: files.collect() }
    }

    /// The places of files that have no partner yet, by what tells which they are; `None` where there are several.
    fn by_key<K: Eq + Hash>(
        &self,
        is_free: impl Fn(usize) -> bool,
        key: impl Fn(Candidate<'a>) -> Option<K>,
    ) -> HashMap<K, Option<usize>> {
        let mut places = HashMap::new();
        for (place, file) in self.files.iter().enumerate().filter(|(place, _)| is_free(*place)) {
            if let Some(key) = key(*file) {
                places.entry(key).and_modify(|only| *only = None).or_insert(Some(place));
            }
        }
        places
    }
}

struct Pairing<'a> {
    first: Side<'a>,
    second: Side<'a>,
    partners: Vec<Option<FileId>>,
    is_taken: Vec<bool>,
}

impl<'a> Pairing<'a> {
    /// Makes partners of files without one for which the key is the same and no third file's.
    fn pair<K: Eq + Hash>(&mut self, key: impl Fn(Candidate<'a>) -> Option<K>) {
        let of_first = self.first.by_key(|place| self.partners.get(place) == Some(&None), &key);
        let of_second = self.second.by_key(|place| self.is_taken.get(place) == Some(&false), &key);
        for (key, place) in of_first {
            let (Some(first), Some(Some(second))) = (place, of_second.get(&key)) else { continue };
            let (Some(partner), Some(is_taken)) = (self.partners.get_mut(first), self.is_taken.get_mut(*second)) else {
                continue;
            };
            *partner = u32::try_from(*second).ok().map(FileId);
            *is_taken = true;
        }
    }
}

/// A path in a store without the hashes in its names, which change with each build; `None` for a path without any.
fn without_hash(path: &Path) -> Option<PathBuf> {
    let mut has_hash = false;
    let names = path.components().map(|name| {
        let Some(text) = name.as_os_str().to_str() else { return name.as_os_str().to_owned() };
        let parts: Vec<&str> = text.split('-').collect();
        let kept: Vec<&str> = parts.iter().copied().filter(|part| !is_hash(part)).collect();
        has_hash |= kept.len() < parts.len();
        kept.join("-").into()
    });
    let path: PathBuf = names.collect();
    has_hash.then_some(path)
}

fn is_hash(part: &str) -> bool {
    part.len() == STORE_HASH && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

/// The last names of a path; `None` if it has fewer.
fn last_names(path: &Path, count: usize) -> Option<PathBuf> {
    let names: Vec<Component<'_>> = path.components().filter(|name| matches!(name, Component::Normal(_))).collect();
    let first = names.len().checked_sub(count)?;
    Some(names.get(first..)?.iter().collect())
}

#[cfg(test)]
mod tests {
    use coldstart_profile::trace::TracedProcess;

    use super::*;

    /// A trace of files; those with a soname or a build id are objects.
    fn trace(files: &[(&str, Option<&str>, Option<&str>)]) -> Trace {
        let mut trace = Trace::default();
        for (place, (path, soname, build_id)) in (0u32..).zip(files) {
            trace.files.push(TracedFile {
                path: path.into(),
                device: 1,
                inode: 1,
                identity: None,
                category: FileCategory::Program,
            });
            if soname.is_some() || build_id.is_some() {
                trace.objects.push(TracedObject {
                    file: FileId(place),
                    soname: soname.map(str::to_owned),
                    build_id: build_id.map(str::to_owned),
                    machine: 62,
                    is_64_bit: true,
                    entry: 0,
                    segments: Vec::new(),
                    sections: Vec::new(),
                    symbols: Vec::new(),
                    relocations: Vec::new(),
                });
            }
        }
        let program = files.first().map_or("", |(path, ..)| path);
        trace.processes = vec![TracedProcess { program: program.into(), ..TracedProcess::default() }];
        trace
    }

    fn places(first: &Trace, second: &Trace) -> Vec<Option<u32>> {
        partners(first, second).into_iter().map(|partner| partner.map(|file| file.0)).collect()
    }

    #[test]
    fn equal_paths_come_first() {
        let first = trace(&[("/p", None, None), ("/a/x", None, Some("1")), ("/b/x", None, Some("2"))]);
        let second = trace(&[("/p", None, None), ("/b/x", None, Some("1")), ("/a/x", None, Some("2"))]);
        assert_eq!(places(&first, &second), [Some(0), Some(2), Some(1)]);
    }

    #[test]
    fn copies_elsewhere_are_found() {
        let hash = |letter: &str| letter.repeat(STORE_HASH);
        let of = |letter: &str, directory: &str, program: &str| {
            let store = format!("/nix/store/{}-gtk-3/lib/libgtk.so", hash(letter));
            let data = format!("/nix/store/{}-gtk-3/share/x", hash(letter));
            let copies = ["/usr/lib/libq.so", "/usr/share/p/one/icon", "/usr/share/p/two/icon"];
            let copies = copies.map(|path| format!("{directory}{path}"));
            let all = [program.to_owned(), store, data].into_iter().chain(copies).collect::<Vec<_>>();
            let sonames = [None, Some("libgtk.so"), None, Some("libq.so"), None, None];
            let rows: Vec<_> = all.iter().zip(sonames).map(|(path, soname)| (path.as_str(), soname, None)).collect();
            trace(&rows)
        };
        let found = places(&of("a", "", "/usr/bin/clang-14"), &of("b", "/tmp/copy", "/opt/clang-19"));
        assert_eq!(found, (0..6).map(Some).collect::<Vec<_>>());
    }

    #[test]
    fn what_could_be_two_has_no_partner() {
        let first = trace(&[("/p", None, None), ("/a/cache", None, None)]);
        let second = trace(&[("/p", None, None), ("/b/cache", None, None), ("/c/cache", None, None)]);
        assert_eq!(places(&first, &second), [Some(0), None]);
    }
}
