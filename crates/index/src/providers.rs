//! Which entries of a search path have a file of a given name: what an index knows in languages that search for relative names, such as
//! `Foo/Bar.pm`, in every entry.
//!
//! A *section* is a directory of that name in every entry that has it (`Foo`); the section of the entries themselves has an empty name. An
//! entry has no `Foo/Bar.pm` as long as its directories in the sections `` and `Foo` are unchanged.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::directories::{Directories, Known};
use crate::guard::Guard;
use crate::listing::Times;
use crate::log::escaped;

/// An entry's number, and a guard's.
type Guarded = (usize, usize);

/// Which entries have which names.
#[derive(Debug, Default)]
pub struct Providers {
    entries: Vec<Vec<u8>>,
    guards: Vec<Guard>,
    sections: BTreeMap<Vec<u8>, Vec<Guarded>>,
    names: BTreeMap<Vec<u8>, Vec<usize>>,
    /// Files that a start opens or looks for.
    pub files: Vec<PathBuf>,
    /// Entries that are left to the interpreter, with the reasons.
    pub unknown: Vec<(PathBuf, String)>,
}

/// A directory of an entry.
fn below(entry: &[u8], section: &[u8]) -> PathBuf {
    let mut path = PathBuf::from(OsStr::from_bytes(entry));
    if !section.is_empty() {
        path.push(OsStr::from_bytes(section));
    }
    path
}

/// The directory part of a relative name, and the rest.
fn split(name: &[u8]) -> (&[u8], &[u8]) {
    match name.iter().rposition(|&byte| byte == b'/') {
        Some(slash) => (name.get(..slash).unwrap_or_default(), name.get(slash + 1..).unwrap_or_default()),
        None => (&[], name),
    }
}

impl Providers {
    /// Finds who has what. `variants` tells the names of files by which a name may be found;
    /// `times`, how exactly the hook will compare times.
    ///
    /// Entries that are not absolute are left out. Waits for directories that have just changed.
    pub fn new(
        entries: &[Vec<u8>],
        names: &BTreeSet<Vec<u8>>,
        variants: &dyn Fn(&[u8]) -> Vec<Vec<u8>>,
        times: Times,
    ) -> Self {
        let mut providers = Self::default();
        let absolute = |entry: &&Vec<u8>| entry.starts_with(b"/") && entry.len() > 1;
        let candidates: Vec<Vec<u8>> = entries.iter().filter(absolute).cloned().collect();
        let is_plain = |name: &&Vec<u8>| {
            !name.is_empty() && name.split(|&byte| byte == b'/').all(|part| !matches!(part, b"" | b"." | b".."))
        };
        let names: BTreeSet<&Vec<u8>> = names.iter().filter(is_plain).collect();
        let mut wanted: BTreeSet<Vec<u8>> = BTreeSet::new();
        for name in &names {
            for variant in variants(name) {
                let mut section = split(&variant).0;
                while !section.is_empty() {
                    wanted.insert(section.to_vec());
                    section = split(section).0;
                }
            }
        }
        let tops = Directories::list(candidates.iter().map(|entry| Path::new(OsStr::from_bytes(entry))), times);
        let mut known: BTreeMap<PathBuf, Known> = BTreeMap::new();
        providers.take(tops, &mut known);
        for entry in candidates {
            match known.get(&below(&entry, b"")) {
                Some(Known::Listed(..) | Known::Absent(_)) => providers.entries.push(entry),
                Some(Known::Unknown(reason)) => providers.unknown.push((below(&entry, b""), reason.clone())),
                None => {}
            }
        }
        // By depth: what is above decides whether there is anything to list.
        let mut by_depth: BTreeMap<usize, Vec<&Vec<u8>>> = BTreeMap::new();
        for section in &wanted {
            let depth = section.iter().filter(|&&byte| byte == b'/').count();
            by_depth.entry(depth).or_default().push(section);
        }
        for sections in by_depth.into_values() {
            let mut to_list = Vec::new();
            for section in sections {
                let (above, own) = split(section);
                for entry in &providers.entries {
                    if let Some(Known::Listed(listing, _)) = known.get(&below(entry, above))
                        && listing.kind(own).is_some()
                    {
                        to_list.push(below(entry, section));
                    }
                }
            }
            let found = Directories::list(to_list.iter().map(PathBuf::as_path), times);
            providers.take(found, &mut known);
        }
        let mut all: Vec<&[u8]> = vec![b""];
        all.extend(wanted.iter().map(Vec::as_slice));
        // What cannot be listed below an entry makes the whole entry unknown.
        let is_known = |entry: &Vec<u8>| {
            all.iter().all(|section| !matches!(known.get(&below(entry, section)), Some(Known::Unknown(_))))
        };
        let (kept, left): (Vec<_>, Vec<_>) = std::mem::take(&mut providers.entries).into_iter().partition(is_known);
        let reason = "a directory in it cannot be listed".to_owned();
        providers.unknown.extend(left.iter().map(|entry| (below(entry, b""), reason.clone())));
        providers.entries = kept;
        for section in all {
            let guarded = providers.entries.iter().enumerate().filter_map(|(number, entry)| {
                match known.get(&below(entry, section))? {
                    Known::Listed(_, guard) | Known::Absent(guard) => Some((number, *guard)),
                    Known::Unknown(_) => None,
                }
            });
            providers.sections.insert(section.to_vec(), guarded.collect());
        }
        for name in names {
            let variants = variants(name);
            let has = |entry: &Vec<u8>| {
                variants.iter().any(|variant| {
                    let (section, own) = split(variant);
                    matches!(known.get(&below(entry, section)), Some(Known::Listed(listing, _)) if listing.kind(own).is_some())
                })
            };
            let having: Vec<usize> = providers
                .entries
                .iter()
                .enumerate()
                .filter(|(_, entry)| has(entry))
                .map(|(number, _)| number)
                .collect();
            // Of two kinds of files, sources and compiled ones, each may be in an entry of its own.
            for entry in having.iter().take(2).filter_map(|&number| providers.entries.get(number)) {
                providers.files.extend(variants.iter().map(|variant| below(entry, variant)));
            }
            if !having.is_empty() {
                providers.names.insert(name.clone(), having);
            }
        }
        providers
    }

    /// Takes over what was listed, with its guards under new numbers.
    fn take(&mut self, directories: Directories, known: &mut BTreeMap<PathBuf, Known>) {
        let first = self.guards.len();
        let (found, guards) = directories.into_parts();
        self.guards.extend(guards);
        for (path, what) in found {
            let what = match what {
                // The language's search finds what the file system finds, which is more than the names that are listed.
                Known::Listed(listing, _) if listing.folds_case() => {
                    Known::Unknown("its file system does not tell capitals from small letters".to_owned())
                }
                Known::Listed(listing, guard) => Known::Listed(listing, guard + first),
                Known::Absent(guard) => Known::Absent(guard + first),
                unknown => unknown,
            };
            known.insert(path, what);
        }
    }

    /// All guards, by number.
    pub fn guards(&self) -> &[Guard] {
        &self.guards
    }

    /// Entries with their directories listed, by number.
    pub(crate) fn entries(&self) -> &[Vec<u8>] {
        &self.entries
    }

    /// For each section, the numbers of entries and guards.
    pub(crate) fn sections(&self) -> impl Iterator<Item = (&[u8], &[Guarded])> {
        self.sections.iter().map(|(section, guarded)| (section.as_slice(), guarded.as_slice()))
    }

    /// Names, and the numbers of the entries that have them.
    pub(crate) fn names(&self) -> impl Iterator<Item = (&[u8], &[usize])> {
        self.names.iter().map(|(name, having)| (name.as_slice(), having.as_slice()))
    }

    /// Number of names with a known place.
    pub fn name_count(&self) -> usize {
        self.names.len()
    }

    /// As lines for a hook, fields separated by tabs and escaped as in a log. The first line is `tag`, the last `end`.
    ///
    /// `E` entry, in the order of the path as it was recorded; `G` guard: path, device (-1: not compared), inode (-1: nothing is
    /// there), times divided by `unit` nanoseconds; `D` section, then `entry:guard` for each that has it; `N` name, then the
    /// numbers of the entries that have it.
    pub fn encode(&self, tag: &[u8], unit: i64) -> Vec<u8> {
        let mut out = escaped(tag);
        out.push(b'\n');
        let mut line = |kind: &[u8], name: &[u8], rest: &mut dyn Iterator<Item = String>| {
            out.extend(kind);
            out.push(b'\t');
            out.extend(escaped(name));
            for field in rest {
                out.push(b'\t');
                out.extend(field.as_bytes());
            }
            out.push(b'\n');
        };
        for entry in &self.entries {
            line(b"E", entry, &mut std::iter::empty());
        }
        for guard in &self.guards {
            let fields = match guard.identity {
                None => ["-1".to_owned(), "-1".to_owned(), "0".to_owned(), "0".to_owned()],
                Some(identity) => [
                    identity.device.map_or("-1".to_owned(), |device| device.to_string()),
                    identity.inode.to_string(),
                    identity.modified.div_euclid(unit).to_string(),
                    identity.changed.div_euclid(unit).to_string(),
                ],
            };
            line(b"G", guard.path.as_os_str().as_bytes(), &mut fields.into_iter());
        }
        for (section, guarded) in &self.sections {
            line(b"D", section, &mut guarded.iter().map(|(entry, guard)| format!("{entry}:{guard}")));
        }
        for (name, having) in &self.names {
            line(b"N", name, &mut having.iter().map(usize::to_string));
        }
        out.extend(b"end\n");
        out
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn names_are_found_in_every_entry_that_has_them_with_all_that_guards_them() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        for directory in ["a/Foo", "b/Foo", "c/Foo/Bar"] {
            fs::create_dir_all(at(directory)).unwrap();
        }
        for file in ["a/x.pm", "b/Foo/Own.pm", "c/Foo/Own.pmc", "c/Foo/Bar/Leaf.pm", "archive"] {
            fs::write(at(file), "").unwrap();
        }
        symlink("nowhere", at("b/Foo/Bar")).unwrap();
        let bytes = |name: &str| at(name).into_os_string().into_encoded_bytes();
        let entries = [bytes("a"), b"relative".to_vec(), bytes("b"), bytes("c"), bytes("absent"), bytes("archive")];
        let names =
            ["x.pm", "Foo/Own.pm", "Foo/Bar/Leaf.pm", "none.pm", "../x.pm"].map(|name| name.as_bytes().to_vec());
        let variants = |name: &[u8]| vec![name.to_vec(), [name, b"c"].concat()];
        let providers = Providers::new(&entries, &names.into(), &variants, Times::Nanoseconds);
        assert_eq!(providers.entries, [bytes("a"), bytes("b"), bytes("c"), bytes("absent")]);
        assert_eq!(providers.unknown.len(), 1);
        let having = |name: &str| providers.names.get(name.as_bytes()).cloned().unwrap_or_default();
        assert_eq!((having("x.pm"), having("Foo/Own.pm")), (vec![0], vec![1, 2]));
        assert_eq!((having("Foo/Bar/Leaf.pm"), having("none.pm")), (vec![2], vec![]));
        let guarded = |section: &str| {
            let of = providers.sections.get(section.as_bytes()).unwrap();
            of.iter().map(|(entry, guard)| (*entry, providers.guards[*guard].identity.is_some())).collect::<Vec<_>>()
        };
        assert_eq!(guarded(""), [(0, true), (1, true), (2, true), (3, false)]);
        assert_eq!(guarded("Foo"), [(0, true), (1, true), (2, true)]);
        // The link may lead somewhere later.
        assert_eq!(guarded("Foo/Bar"), [(1, false), (2, true)]);
        let text = String::from_utf8(providers.encode(b"t\tag", 1_000_000_000)).unwrap();
        assert!(text.starts_with("t\\tag\nE\t") && text.ends_with("N\tx.pm\t0\nend\n"), "{text}");
    }
}
