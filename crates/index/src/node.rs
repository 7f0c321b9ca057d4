//! The index for Node: what the directories have in which it searches for packages.
//!
//! Not obvious: a directory may have a module if any of its names is the first part of the module's name, or begins with it and a dot:
//! programs add extensions, and `foo.bar.js` may be found as `foo`. Directories of scopes (`@scope/name`) are listed, too. What is below
//! a package is left to Node, which reads `exports` there. So is a `node_modules` that is absent, where there is no long path: programs ask for
//! one beside each of their files, and Node's own question costs a tenth of ours.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::directories::{Directories, Known};
use crate::guard::Guard;
use crate::listing::{Listing, Times};
use crate::log::Event;
use crate::searches::Searches;

/// Runs in every start.
pub const HOOK: &str = include_str!("../shims/node/hook.js");
/// The variable that names the log of a recorded start.
pub const LOG_VARIABLE: &str = "COLDSTART_INDEX_LOG_NODE";
/// Version of the data.
const VERSION: u32 = 1;
/// A directory with more names is left to Node: all of them are read at each start.
const MOST_NAMES: usize = 4096;

/// As many directories in `NODE_PATH` make a search long.
const LONG_PATH: usize = 16;

/// Names of the files in the index's directory for Node.
pub mod files {
    /// [`super::HOOK`].
    pub const HOOK: &str = "node/hook.js";
    /// What [`super::NodeIndex::data`] gives, as JSON.
    pub const INDEX: &str = "node/index.json";
}

/// The index for one Node.
#[derive(Debug)]
pub struct NodeIndex {
    /// The interpreter.
    pub executable: PathBuf,
    /// Its version.
    pub version: String,
    /// Number of packages and modules that were found by name.
    pub found: u64,
    /// Number of names that nothing had.
    pub missing: u64,
    /// All guards, by number.
    pub guards: Vec<Guard>,
    /// Directories that are left to Node, with the reasons.
    pub unknown: Vec<(PathBuf, String)>,
    /// Files that a start opens or looks for.
    pub files: BTreeSet<PathBuf>,
    tag: String,
    directories: BTreeMap<String, Names>,
}

/// The number of a directory's guard; the beginnings of its names, each between two line feeds; the directories of scopes in it.
type Names = (usize, String, BTreeMap<String, (usize, String)>);

impl NodeIndex {
    /// From the log of a recorded start; waits for directories that have just changed. `None` if no Node wrote into it.
    pub fn new(events: &[Event]) -> Option<Self> {
        let searches = Searches::of(events)?;
        let version = events.iter().find(|event| event.kind == b'P').map(|event| event.field(2)).unwrap_or_default();
        let is_name = |name: &&Vec<u8>| !name.starts_with(b".") && !name.starts_with(b"/");
        let mut index = Self {
            version: String::from_utf8_lossy(version).trim_start_matches('v').to_owned(),
            tag: String::from_utf8_lossy(&searches.tag).into_owned(),
            found: searches.found.iter().filter(is_name).count() as u64,
            missing: searches.missing.iter().filter(is_name).count() as u64,
            guards: Vec::new(),
            unknown: Vec::new(),
            files: files_of(events),
            directories: BTreeMap::new(),
            executable: searches.executable,
        };
        let entries: Vec<&str> = searches.entries.iter().filter_map(|entry| plain_entry(entry)).collect();
        let names = searches.found.iter().chain(&searches.missing);
        let scopes: BTreeSet<&str> = names.filter_map(|name| scope_of(name)).collect();
        index.list(&entries, &scopes);
        Some(index)
    }

    /// Lists entries, and the scopes in them.
    fn list(&mut self, entries: &[&str], scopes: &BTreeSet<&str>) {
        let tops = Directories::list(entries.iter().map(Path::new), Times::Nanoseconds);
        let scoped = |entry: &str| {
            let listing = tops.listing(Path::new(entry)).map(|(listing, _)| listing);
            let of_entry =
                scopes.iter().filter(move |scope| listing.is_some_and(|it| it.kind(scope.as_bytes()).is_some()));
            of_entry.map(|scope| (*scope, Path::new(entry).join(scope))).collect::<Vec<_>>()
        };
        let scoped: BTreeMap<&str, Vec<(&str, PathBuf)>> =
            entries.iter().map(|&entry| (entry, scoped(entry))).collect();
        let of_scopes = scoped.values().flatten().map(|(_, path)| path.as_path());
        let below = Directories::list(of_scopes, Times::Nanoseconds);
        let first_below = tops.guards().len();
        self.guards = [tops.guards(), below.guards()].concat();
        self.unknown =
            tops.unknown().chain(below.unknown()).map(|(path, why)| (path.to_owned(), why.to_owned())).collect();
        let has_long_path = entries.iter().filter(|entry| !is_beside(entry)).count() >= LONG_PATH;
        for &entry in entries {
            let known = tops.get(Path::new(entry)).filter(|known| has_long_path || !is_absent_beside(entry, known));
            let Some((guard, names)) = known.and_then(known_names) else { continue };
            let of_scope = |(scope, path): &(&str, PathBuf)| {
                let (guard, names) = below.get(path).and_then(known_names)?;
                Some(((*scope).to_owned(), (guard + first_below, names)))
            };
            let scopes = scoped.get(entry).into_iter().flatten().filter_map(of_scope).collect();
            self.directories.insert(entry.to_owned(), (guard, names, scopes));
        }
    }

    /// The data for the hook, which reads them as JSON.
    pub fn data(&self) -> impl Serialize + '_ {
        let used: BTreeSet<usize> = {
            let of_scopes =
                self.directories.values().flat_map(|(_, _, scopes)| scopes.values().map(|(guard, _)| *guard));
            self.directories.values().map(|(guard, ..)| *guard).chain(of_scopes).collect()
        };
        let guards = self.guards.iter().enumerate().map(|(number, guard)| {
            if !used.contains(&number) {
                return Default::default();
            }
            let path = String::from_utf8_lossy(guard.path.as_os_str().as_bytes());
            match guard.identity {
                None => (path, String::new(), String::new()),
                Some(identity) => {
                    let rest = format!("{} {} {}", identity.inode, identity.modified, identity.changed);
                    (path, identity.device.map(|device| device.to_string()).unwrap_or_default(), rest)
                }
            }
        });
        let guards = guards.collect();
        Data { version: VERSION, tag: &self.tag, guards, directories: &self.directories }
    }
}

/// What the hook reads. Guards: path (empty: the hook has no use for it), device (empty: not compared), and inode and times (empty: nothing
/// is there).
#[derive(Serialize)]
struct Data<'a> {
    version: u32,
    tag: &'a str,
    guards: Vec<(std::borrow::Cow<'a, str>, String, String)>,
    directories: &'a BTreeMap<String, Names>,
}

/// An entry that means the same to the kernel and to Node, which resolves `..` in it without regard to links.
fn plain_entry(entry: &[u8]) -> Option<&str> {
    let parts = entry.strip_prefix(b"/")?;
    let parts = parts.strip_suffix(b"/").unwrap_or(parts);
    let is_plain = parts.split(|&byte| byte == b'/').all(|part| !matches!(part, b"" | b"." | b".."));
    std::str::from_utf8(entry).ok().filter(|_| is_plain)
}

/// `@scope` of `@scope/name`.
fn scope_of(name: &[u8]) -> Option<&str> {
    let (scope, rest) = std::str::from_utf8(name).ok()?.split_once('/')?;
    (scope.starts_with('@') && !rest.is_empty()).then_some(scope)
}

/// Whether an entry is searched for the files beside it, and is not of a path.
fn is_beside(entry: &str) -> bool {
    Path::new(entry).file_name() == Some(OsStr::new("node_modules"))
}

/// Whether it is one that does not exist.
fn is_absent_beside(entry: &str, known: &Known) -> bool {
    matches!(known, Known::Absent(_)) && is_beside(entry)
}

/// A directory's guard and the beginnings of its names. `None` if it is left to Node.
fn known_names(known: &Known) -> Option<(usize, String)> {
    match known {
        Known::Listed(listing, guard) => Some((*guard, beginnings(listing)?)),
        Known::Absent(guard) => Some((*guard, "\n".to_owned())),
        Known::Unknown(_) => None,
    }
}

/// All names, and what is in them before each dot, in small letters, each between two line feeds.
fn beginnings(listing: &Listing) -> Option<String> {
    let mut found = BTreeSet::new();
    for (name, _) in listing.names() {
        let name = String::from_utf8_lossy(name).to_lowercase();
        let before = name.match_indices('.').filter_map(|(dot, _)| name.get(..dot)).filter(|part| !part.is_empty());
        found.extend(before.map(str::to_owned));
        found.insert(name);
    }
    (found.len() <= MOST_NAMES).then(|| found.iter().fold("\n".to_owned(), |text, name| text + name + "\n"))
}

/// Files that were found, what Node asks for before it finds them, and descriptions of packages on the way.
fn files_of(events: &[Event]) -> BTreeSet<PathBuf> {
    let mut files = BTreeSet::new();
    for event in events.iter().filter(|event| event.kind == b'F') {
        let [name, directory, found] = [0, 1, 2].map(|number| Path::new(OsStr::from_bytes(event.field(number))));
        if !found.is_absolute() {
            continue;
        }
        files.insert(found.to_owned());
        if directory.is_absolute() && name.starts_with(".") {
            let asked = directory.join(name);
            // Node resolves `..` itself.
            let plain = asked.components().fold(PathBuf::new(), |mut path, part| {
                match part {
                    std::path::Component::ParentDir => drop(path.pop()),
                    part => path.push(part),
                }
                path
            });
            files.insert(plain);
        }
        let is_package = |above: &&Path| above.file_name().is_some_and(|name| name != "node_modules");
        files.extend(found.ancestors().skip(1).take_while(is_package).take(4).map(|above| above.join("package.json")));
    }
    files
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_directory_tells_all_beginnings_of_names_and_the_packages_of_scopes() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name).into_os_string().into_string().unwrap();
        for directory in ["a/@team/One", "b/Package"] {
            fs::create_dir_all(at(directory)).unwrap();
        }
        fs::write(at("b/part.min.js"), "").unwrap();
        fs::write(at("b/.hidden"), "").unwrap();
        let (a, b, none, up) = (at("a"), at("b"), at("none"), at("a/../b"));
        let log = format!(
            "P|1|/usr/bin/node|tag|v20.1.2\nS|1|{a}|{b}|{none}|relative|{up}|{b}/node_modules\nF|1|@team/one|{a}|{a}/@team/One/index.js\n\
             M|1|@none/x\nM|1|./relative\n"
        );
        let index = NodeIndex::new(&crate::log::parse(log.replace('|', "\t").as_bytes())).unwrap();
        assert_eq!((index.version.as_str(), index.found, index.missing), ("20.1.2", 1, 1));
        assert_eq!(index.directories.keys().collect::<Vec<_>>(), [&a, &b, &none]);
        let (_, names, scopes) = &index.directories[&b];
        assert_eq!((names.as_str(), scopes.len()), ("\n.hidden\npackage\npart\npart.min\npart.min.js\n", 0));
        let (guard, names) = &index.directories[&a].2["@team"];
        assert_eq!((names.as_str(), index.guards[*guard].path.clone()), ("\none\n", PathBuf::from(at("a/@team"))));
        assert_eq!(index.guards[index.directories[&none].0].identity, None);
        assert!(index.files.contains(Path::new(&at("a/@team/One/package.json"))), "{:?}", index.files);
        let text = serde_json::to_string(&index.data()).unwrap();
        assert!(text.starts_with(r#"{"version":1,"tag":"tag","guards":[[""#), "{text}");
        assert!(
            !text.contains("node_modules") && index.guards.iter().any(|guard| guard.path.ends_with("node_modules"))
        );
    }

    #[test]
    fn a_directory_of_very_many_names_is_left_to_node() {
        let directory = tempfile::tempdir().unwrap();
        for number in 0..=MOST_NAMES {
            fs::write(directory.path().join(number.to_string()), "").unwrap();
        }
        assert_eq!(beginnings(&Listing::of(directory.path()).unwrap().unwrap()), None);
    }
}
