//! Which libraries in directories enter a cache, and under which names (`search_dir` in elf/ldconfig.c of glibc).
//!
//! The path of an entry is not the file that was read, but the directory and the *soname*: `ldconfig` relies on the
//! symbolic link that it creates itself. Only below `glibc-hwcaps` the file's own name is entered. The linker's
//! `libfoo.so` is entered under its own name if it refers to the library it is named after.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;

use super::{
    CacheBuilder, CacheError, Characters, Family, LdSoCache, Library, NewEntry, NewHwcap, NoLibrary,
    RequestedDirectory, compare_names,
};
use crate::Identity;

/// The parent of the directories for processor levels.
const LEVELS: &[u8] = b"glibc-hwcaps";

/// The type of a directory entry; links are not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    /// A regular file.
    File,
    /// A symbolic link.
    Link,
    /// A directory.
    Directory,
    /// A device, a pipe, a socket.
    Other,
}

/// File access for a scan. Paths are as seen from inside a sysroot.
pub trait DirectorySource {
    /// The identity of the directory at a path; none if there is no directory.
    fn directory_identity(&self, path: &[u8]) -> Option<Identity>;

    /// The names in a directory.
    ///
    /// # Errors
    /// Why it cannot be listed.
    fn list(&self, path: &[u8]) -> io::Result<Vec<(Vec<u8>, Listed)>>;

    /// The library at a path.
    ///
    /// # Errors
    /// Why it is not a library.
    fn library(&self, path: &[u8]) -> Result<Library, NoLibrary>;
}

/// The options of a scan.
#[derive(Clone, Debug)]
pub struct ScanRules {
    /// The architectures to enter.
    pub family: &'static Family,
    /// glibc's minor version: up to 36, directories such as `tls` and `haswell` count; from 39 on, package managers'
    /// temporary files do not.
    pub release: u32,
    /// Levels to enter; none for all.
    pub levels: Option<BTreeSet<Vec<u8>>>,
}

/// A library for the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScannedLibrary {
    /// Its directory.
    pub directory: Vec<u8>,
    /// The file chosen among those with its soname.
    pub file: Vec<u8>,
    /// Its entry.
    pub entry: NewEntry,
}

/// The result of a scan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// The libraries, in the order of entry.
    pub libraries: Vec<ScannedLibrary>,
    /// Scanned directories, without those of levels.
    pub directories: Vec<Vec<u8>>,
    /// Requested directories that do not exist.
    pub absent: Vec<Vec<u8>>,
    /// Directories that cannot be listed, and why.
    pub unreadable: Vec<(Vec<u8>, String)>,
    /// Files with library names that do not belong in this cache, and why.
    pub passed_over: Vec<(Vec<u8>, NoLibrary)>,
    /// Libraries in one directory with the same soname for different architectures: only one of them is entered.
    pub mixed: Vec<Vec<u8>>,
    /// Names of levels with a directory.
    pub levels: BTreeSet<Vec<u8>>,
}

/// Scans directories and the level directories below them, each directory once, whatever its name.
///
/// Names are processed in byte order. `ldconfig` processes them in the order on disk, which matters only where two
/// files in a directory compare equal: `liba01.so` and `liba1.so`, and one soname for two architectures.
pub fn scan(asked: &[RequestedDirectory], system: &impl DirectorySource, rules: &ScanRules) -> Scan {
    let mut work = Work { system, rules, result: Scan::default(), seen: BTreeSet::new(), queue: VecDeque::new() };
    for directory in asked {
        work.ask(directory);
    }
    while let Some(directory) = work.queue.pop_front() {
        work.search(&directory);
    }
    work.result
}

impl Scan {
    /// Adds the entries to a cache.
    pub fn enter(&self, builder: &mut CacheBuilder) {
        self.levels.iter().for_each(|level| builder.mention(level));
        self.libraries.iter().for_each(|library| builder.add(library.entry.clone()));
    }
}

/// A directory to be scanned.
struct Directory {
    path: Vec<u8>,
    identity: Identity,
    kind: Option<u32>,
    level: Option<Vec<u8>>,
}

/// The best library so far with its soname in a directory.
struct Candidate {
    file: Vec<u8>,
    flags: u32,
    is_link: bool,
    isa_level: u32,
}

struct Work<'a, System> {
    system: &'a System,
    rules: &'a ScanRules,
    result: Scan,
    seen: BTreeSet<(u64, u64)>,
    queue: VecDeque<Directory>,
}

impl<System: DirectorySource> Work<'_, System> {
    fn ask(&mut self, asked: &RequestedDirectory) {
        let Some(identity) = self.system.directory_identity(&asked.path) else {
            self.result.absent.push(asked.path.clone());
            return;
        };
        if !self.is_new(identity) {
            // The last line for a directory determines its kind.
            let known = self.queue.iter_mut().find(|directory| directory.identity == identity);
            known.into_iter().for_each(|directory| directory.kind = asked.kind);
            return;
        }
        self.queue.push_back(Directory { path: asked.path.clone(), identity, kind: asked.kind, level: None });
        let parent = join(&asked.path, LEVELS);
        let Ok(mut names) = self.system.list(&parent) else { return };
        names.sort_unstable_by(|left, right| left.0.cmp(&right.0));
        for (name, listed) in names {
            // A loader cannot look up a colon.
            if name.starts_with(b".") || listed == Listed::File || name.contains(&b':') {
                continue;
            }
            let path = join(&parent, &name);
            let Some(identity) = self.system.directory_identity(&path) else { continue };
            if self.rules.levels.as_ref().is_some_and(|levels| !levels.contains(&name)) {
                continue;
            }
            self.result.levels.insert(name.clone());
            if self.is_new(identity) {
                self.queue.push_back(Directory { path, identity, kind: asked.kind, level: Some(name) });
            }
        }
    }

    fn is_new(&mut self, identity: Identity) -> bool {
        self.seen.insert((identity.device, identity.inode))
    }

    fn search(&mut self, directory: &Directory) {
        if directory.level.is_none() {
            self.result.directories.push(directory.path.clone());
        }
        let mut names = match self.system.list(&directory.path) {
            Ok(names) => names,
            Err(error) => {
                self.result.unreadable.push((directory.path.clone(), error.to_string()));
                return;
            }
        };
        names.sort_unstable_by(|left, right| left.0.cmp(&right.0));
        let mut found: BTreeMap<Vec<u8>, Candidate> = BTreeMap::new();
        for (name, listed) in names {
            let older =
                directory.level.is_none() && self.rules.release <= 36 && self.rules.family.takes_subdirectory(&name);
            if older && listed != Listed::File && self.queue_subdirectory(directory, &name) {
                continue;
            }
            if matches!(listed, Listed::File | Listed::Link) && is_library_name(&name) && !self.is_temporary(&name) {
                self.consider(directory, name, listed == Listed::Link, &mut found);
            }
        }
        let bits = if self.rules.release <= 36 { self.rules.family.bits_of(&directory.path) } else { 0 };
        for (soname, candidate) in found {
            let (file, hwcap) = match &directory.level {
                None if bits == 0 => (&soname, NewHwcap::Any),
                None => (&soname, NewHwcap::Bits(bits)),
                Some(level) => {
                    (&candidate.file, NewHwcap::Level { name: level.clone(), isa_level: candidate.isa_level })
                }
            };
            let path = join(&directory.path, file);
            let entry = NewEntry { flags: candidate.flags, name: soname, path, hwcap };
            self.result.libraries.push(ScannedLibrary {
                directory: directory.path.clone(),
                file: candidate.file,
                entry,
            });
        }
    }

    /// Queues a subdirectory of the older kind; it belongs to its parent.
    fn queue_subdirectory(&mut self, directory: &Directory, name: &[u8]) -> bool {
        let path = join(&directory.path, name);
        let Some(identity) = self.system.directory_identity(&path) else { return false };
        if self.is_new(identity) {
            self.queue.push_back(Directory { path, identity, kind: directory.kind, level: None });
        }
        true
    }

    /// Temporary files of prelink, and from 2.39 on of dpkg and rpm.
    fn is_temporary(&self, name: &[u8]) -> bool {
        let prelink: &[u8] = b".#prelink#";
        let before_random = name.len().checked_sub(6).and_then(|end| name.get(..end)).unwrap_or_default();
        if name.ends_with(prelink) || before_random.ends_with(b".#prelink#.") {
            return true;
        }
        let random = name.iter().rposition(|&byte| byte == b';').and_then(|place| name.get(place + 1..));
        let by_rpm = random.is_some_and(|random| random.len() == 8 && random.iter().all(u8::is_ascii_hexdigit));
        self.rules.release >= 39 && (by_rpm || name.ends_with(b".dpkg-new") || name.ends_with(b".dpkg-tmp"))
    }

    fn consider(
        &mut self,
        directory: &Directory,
        name: Vec<u8>,
        is_link: bool,
        found: &mut BTreeMap<Vec<u8>, Candidate>,
    ) {
        let path = join(&directory.path, &name);
        let library = self.system.library(&path).and_then(|library| {
            let fits = self.rules.family.holds(&library.facts);
            let flags = if fits { library.cache_flags(self.rules.release) } else { None };
            flags.map(|flags| (library, flags)).ok_or(NoLibrary::OtherMachine)
        });
        let (library, mut flags) = match library {
            Ok(found) => found,
            Err(reason) => {
                self.result.passed_over.push((path, reason));
                return;
            }
        };
        let soname = library.facts.soname.clone().unwrap_or_else(|| name.clone());
        // A link has its target's name, or is the linker's: libfoo.so for libfoo.so.1.
        let for_linkers = name.ends_with(b".so") && soname.starts_with(&name);
        let is_link = is_link && (name == soname || for_linkers);
        let soname = if is_link { name.clone() } else { soname };
        if let (1, Some(kind)) = (flags, directory.kind) {
            flags = kind;
        }
        let candidate = Candidate { file: name, flags, is_link, isa_level: library.isa_level };
        let Some(other) = found.get_mut(&soname) else {
            found.insert(soname, candidate);
            return;
        };
        if other.flags != candidate.flags && other.flags != 1 && candidate.flags != 1 {
            self.result.mixed.push(path);
        }
        // A file is preferred over a link; of two, the newer one.
        let characters = Characters::of_flags([other.flags, candidate.flags]);
        let rises = compare_names(&other.file, &candidate.file, characters).is_lt();
        let newer = other.is_link == candidate.is_link && rises;
        if (!candidate.is_link && other.is_link) || newer {
            // The type stays that of the first file, unless it was ambiguous.
            let flags = if other.flags == 1 { candidate.flags } else { other.flags };
            *other = Candidate { flags, ..candidate };
        }
    }
}

/// Whether a file name is that of a library or a loader (`_dl_is_dso` in elf/dl-is_dso.h).
pub fn is_library_name(name: &[u8]) -> bool {
    let has_so = name.windows(3).any(|part| part == b".so");
    ((name.starts_with(b"lib") || name.starts_with(b"ld-")) && has_so)
        || name.starts_with(b"ld.so.")
        || name.starts_with(b"ld64.so.")
}

fn join(directory: &[u8], name: &[u8]) -> Vec<u8> {
    [directory, b"/", name].concat()
}

/// Reads a new cache back and looks up each of its names, as the loader would.
///
/// # Errors
/// What is wrong with it; that would be a bug of ours.
pub fn read_back(bytes: &[u8]) -> Result<LdSoCache, CacheError> {
    let cache = LdSoCache::parse(bytes)?;
    let missed = cache.order_faults().next().map(|entry| entry.name.to_vec());
    missed.map_or(Ok(cache), |name| Err(CacheError::Order { name }))
}
