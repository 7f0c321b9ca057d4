//! The table of an auditing library: the result of every search that the program's objects, and libraries opened
//! later, could make.
//!
//! A simulated start shows the requesters at start-up; later `dlopen` calls are unknown. But their requesters search
//! their own directories, and any library in these may be opened and search in turn. So the table follows the search
//! paths until nothing new is found.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use coldstart_loader::{Environment, Machine, ObjectFacts, Probe};

use crate::audit::{self, Found, Listing, Names, Place, Search, Table};
use crate::origin::{bytes, path};
use crate::requesters::{Tokens, opened_later};
use crate::{Binding, Files, Requester};

/// Subdirectories that the loader searches first: by processor level, and up to glibc 2.36 by other features
/// (elf/dl-hwcaps.c).
const SUBDIRECTORIES: [&str; 9] =
    ["glibc-hwcaps", "tls", "haswell", "xeon_phi", "avx512_1", "x86_64", "i386", "i686", "sse2"];
/// Maximal depth of searched subdirectories (`tls/haswell/avx512_1/x86_64`).
const DEPTH: u32 = 4;
/// All levels with possible cache entries (`sysdeps/*/dl-hwcaps-subdirs.c`).
const LEVELS: [&str; 9] = ["x86-64-v4", "x86-64-v3", "x86-64-v2", "power10", "power9", "z16", "z15", "z14", "z13"];
/// Limit on the number of libraries to follow.
const MOST: usize = 100_000;

/// The contents of directories, each read once.
struct Directories<'a, F> {
    files: &'a F,
    program: &'a ObjectFacts,
    seen: HashMap<Vec<u8>, Rc<Listing>>,
    /// The loader's default directories, with links resolved.
    own: Vec<PathBuf>,
}

impl<F: Files> Directories<'_, F> {
    /// Whether a directory is one of the loader's default directories.
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

    /// A directory's entries for the table. Of the thousands of libraries in the default directories, only the wanted
    /// ones; the loader searches the others itself, as it does those with variants.
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

    /// The properties of a file, if the program's loader would accept it.
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

/// The table for a program's objects, as far as it is known before the program runs.
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
    // By the directory's identity, whatever its name: where libraries search by `$ORIGIN/../a` and `$ORIGIN/../b`,
    // names keep growing (`a/../b/../a`).
    let mut followed: HashSet<PathBuf> = HashSet::new();
    let mut searches: Vec<Search> = Vec::new();
    let mut ends_at_cache: BTreeSet<audit::Requester> = BTreeSet::new();
    let mut wanted: BTreeSet<Vec<u8>> = BTreeSet::new();
    wanted.extend(binding.libraries.iter().map(|library| library.name.clone().into_bytes()));
    while let Some(requester) = queue.pop_front() {
        let search = requester.search();
        for directory in search.before_library_path.iter().chain(&search.after_library_path) {
            // Libraries in the default directories have no useful search path, and there are too many of them.
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

/// Adds libraries that a start finds only in the loader's cache or default directories. They come last, for
/// requesters without the name in any of their directories.
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
        // All requesters of a group search the same directories.
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

/// The path of a name in the cache or the default directories, if it is the same for every processor.
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
