//! The table of an auditing library: what each object of a program would find, and what those would find that are opened
//! later.
//!
//! A start shows who asks; what is opened later (`dlopen`) is not known. But whoever opens it searches its own directories, and
//! all that lies in them may be opened, and search in turn. So the table follows the search paths until nothing new is found.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use coldstart_loader::{Environment, Machine, ObjectFacts, Probe};

use crate::audit::{self, Found, Listing, Names, Place, Search, Table};
use crate::origin::{bytes, path};
use crate::requesters::{Tokens, opened_later};
use crate::{Binding, Files, Requester};

/// Directories below a searched one that the loader looks into first: by processor level, and up to glibc 2.36 by other
/// features (elf/dl-hwcaps.c).
const SUBDIRECTORIES: [&str; 9] =
    ["glibc-hwcaps", "tls", "haswell", "xeon_phi", "avx512_1", "x86_64", "i386", "i686", "sse2"];
/// Subdirectories that are searched have at most this many parts (`tls/haswell/avx512_1/x86_64`).
const DEPTH: u32 = 4;
/// All levels that a cache may have entries for (`sysdeps/*/dl-hwcaps-subdirs.c`).
const LEVELS: [&str; 9] = ["x86-64-v4", "x86-64-v3", "x86-64-v2", "power10", "power9", "z16", "z15", "z14", "z13"];
/// More libraries than this are not followed.
const MOST: usize = 100_000;

/// What is found in directories, each looked at once.
struct Directories<'a, F> {
    files: &'a F,
    program: &'a ObjectFacts,
    seen: HashMap<Vec<u8>, Rc<Listing>>,
    /// The loader's own directories, without links.
    own: Vec<PathBuf>,
}

impl<F: Files> Directories<'_, F> {
    /// Whether a directory is one of the loader's own.
    fn is_own(&self, directory: &[u8]) -> bool {
        self.files.canonical(path(directory)).is_some_and(|real| self.own.contains(&real))
    }

    fn listing(&mut self, directory: &[u8]) -> Rc<Listing> {
        if let Some(seen) = self.seen.get(directory) {
            return Rc::clone(seen);
        }
        let here = path(directory);
        let mut listing = Listing::default();
        for name in self.files.names_in(here) {
            if is_library_name(name.as_bytes()) && self.fits(&here.join(&name)).is_some() {
                listing.files.insert(name.as_bytes().to_vec());
            }
        }
        for subdirectory in SUBDIRECTORIES {
            self.names_below(&here.join(subdirectory), DEPTH, &mut listing.variants);
        }
        let listing = Rc::new(listing);
        self.seen.insert(directory.to_vec(), Rc::clone(&listing));
        listing
    }

    /// What entries may be made of. Of the thousands of libraries in the loader's own directories, only those that are
    /// wanted; the others are left to the loader, like those with variants.
    fn answering(&mut self, directory: &[u8], wanted: &BTreeSet<Vec<u8>>) -> Listing {
        let mut listing = Listing::clone(&self.listing(directory));
        if self.is_own(directory) {
            let (files, others) = listing.files.into_iter().partition(|name| wanted.contains(name));
            listing.files = files;
            listing.variants.extend::<BTreeSet<Vec<u8>>>(others);
        }
        listing
    }

    fn names_below(&self, directory: &Path, depth: u32, names: &mut BTreeSet<Vec<u8>>) {
        for name in self.files.names_in(directory) {
            names.insert(name.as_bytes().to_vec());
            let below = directory.join(&name);
            if depth > 1 && self.files.is_directory(&below) {
                self.names_below(&below, depth.saturating_sub(1), names);
            }
        }
    }

    /// What a file says of itself, if the program's loader would take it.
    fn fits(&self, file: &Path) -> Option<ObjectFacts> {
        let Probe::Object { facts, .. } = self.files.object(file) else { return None };
        let same = facts.class == self.program.class
            && facts.little_endian == self.program.little_endian
            && facts.machine == self.program.machine;
        (same && facts.fault.is_none()).then_some(facts)
    }
}

fn is_library_name(name: &[u8]) -> bool {
    name.windows(3).any(|part| part == b".so")
}

/// The table for a program's objects, as far as it can be told before it runs.
pub(crate) fn table(
    requesters: &[Requester],
    program: &ObjectFacts,
    binding: &Binding,
    files: &impl Files,
    environment: &Environment,
) -> Table {
    let own = environment.system_directories.clone();
    let own = own.or_else(|| Some(Machine::of(program)?.multiarch_directories())).unwrap_or_default();
    let own = own.iter().filter_map(|directory| files.canonical(path(directory))).collect();
    let mut directories = Directories { files, program, seen: HashMap::new(), own };
    let tokens = Tokens::of(Some(program), environment);
    let mut known: HashSet<PathBuf> = requesters.iter().map(|requester| PathBuf::from(&requester.path)).collect();
    let mut queue: VecDeque<Requester> = requesters.iter().cloned().collect();
    // By the directory itself, however it is called: where libraries search by `$ORIGIN/../a` and `$ORIGIN/../b`, each directory
    // has ever longer names (`a/../b/../a`), without an end.
    let mut followed: HashSet<PathBuf> = HashSet::new();
    let mut searches: Vec<Search> = Vec::new();
    let mut ends_at_cache: BTreeSet<audit::Requester> = BTreeSet::new();
    let mut wanted: BTreeSet<Vec<u8>> = BTreeSet::new();
    wanted.extend(binding.libraries.iter().map(|library| library.name.clone().into_bytes()));
    while let Some(requester) = queue.pop_front() {
        let search = requester.search();
        for directory in search.before_library_path.iter().chain(&search.after_library_path) {
            // What lies in the loader's own directories has no search path worth a table, and is too much.
            let real = files.canonical(path(directory)).unwrap_or_else(|| path(directory).to_owned());
            if !followed.insert(real) || directories.is_own(directory) {
                continue;
            }
            for name in &directories.listing(directory).files {
                let found = path(directory).join(path(name));
                if known.len() >= MOST || !known.insert(found.clone()) {
                    continue;
                }
                if let Some(facts) = directories.fits(&found) {
                    wanted.extend(facts.needed.iter().cloned());
                    queue.push_back(opened_later(&found, &facts, &tokens));
                }
            }
        }
        if requester.ends_at_cache() {
            ends_at_cache.insert(search.requester.clone());
        }
        if !(search.before_library_path.is_empty() && search.after_library_path.is_empty()) {
            searches.push(search);
        }
    }
    let mut table = Table::of_search(&searches, |directory| directories.answering(directory, &wanted), Names::All);
    from_cache(&mut table, &searches, &ends_at_cache, &wanted, &mut directories, environment);
    table
}

/// Adds what a start needs and only the loader's cache, or its own directories, have. They come last, so it counts for
/// requesters none of whose directories has the name.
fn from_cache<F: Files>(
    table: &mut Table,
    searches: &[Search],
    ends_at_cache: &BTreeSet<audit::Requester>,
    wanted: &BTreeSet<Vec<u8>>,
    directories: &mut Directories<'_, F>,
    environment: &Environment,
) {
    let mut places: BTreeMap<&[u8], Vec<u8>> = BTreeMap::new();
    for name in wanted.iter().filter(|name| !name.contains(&b'/')) {
        if let Some(place) = cached(name, directories, environment) {
            places.insert(name, place);
        }
    }
    let by_requester: BTreeMap<&audit::Requester, &Search> =
        searches.iter().map(|search| (&search.requester, search)).collect();
    for group in table.groups.iter_mut().filter(|group| group.requesters.is_subset(ends_at_cache)) {
        // All of a group search the same directories.
        let Some(search) = group.requesters.first().and_then(|first| by_requester.get(first)) else { continue };
        let mut left: BTreeSet<Vec<u8>> = BTreeSet::new();
        for directory in search.before_library_path.iter().chain(&search.after_library_path) {
            left.extend(directories.answering(directory, wanted).variants);
        }
        for (name, place) in places.iter().filter(|(name, _)| !left.contains(**name)) {
            let found = Found { place: Place::Absolute(place.clone()), before_library_path: false };
            group.entries.entry(name.to_vec()).or_insert(found);
        }
    }
}

/// Where the cache or the loader's own directories have a name, if every processor finds the same there.
fn cached<F: Files>(name: &[u8], directories: &mut Directories<'_, F>, environment: &Environment) -> Option<Vec<u8>> {
    let machine = Machine::of(directories.program)?;
    if let Some(cache) = &environment.cache {
        let all: Vec<Vec<u8>> = LEVELS.iter().map(|level| level.as_bytes().to_vec()).collect();
        let plain = cache.lookup(name, machine.cache_flags, &[]);
        let best = cache.lookup(name, machine.cache_flags, &all);
        match (plain, best) {
            (Some(plain), Some(best)) if plain.path == best.path => {
                let place = path(plain.path);
                return directories.fits(place).map(|_| bytes(place).to_vec());
            }
            (None, None) => {}
            _ => return None,
        }
    }
    let defaults = environment.system_directories.clone().unwrap_or_else(|| machine.multiarch_directories());
    for directory in defaults {
        let listing = directories.listing(&directory);
        if listing.variants.contains(name) {
            return None;
        }
        if listing.files.contains(name) {
            let place = path(&directory).join(path(name));
            return (!bytes(&place).contains(&b'$')).then(|| bytes(&place).to_vec());
        }
    }
    None
}
