//! The table of an auditing library: what each object of a program would find, and what those would find that are opened
//! later.
//!
//! A start shows who asks; what is opened later (`dlopen`) is not known. But whoever opens it searches its own directories, and
//! all that lies in them may be opened, and search in turn. So the table follows the search paths until nothing new is found.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use coldstart_loader::{Environment, Machine, ObjectFacts, Probe};

use crate::audit::{Found, Listing, Names, Place, Search, Table};
use crate::origin::{bytes, path};
use crate::requesters::{Tokens, opened_later};
use crate::{Binding, Files, Requester};

/// Folders below a searched one that the loader looks into first: by processor level, and up to glibc 2.36 by other
/// features (elf/dl-hwcaps.c).
const SUBFOLDERS: [&str; 9] =
    ["glibc-hwcaps", "tls", "haswell", "xeon_phi", "avx512_1", "x86_64", "i386", "i686", "sse2"];
/// Subfolders that are searched have at most this many parts (`tls/haswell/avx512_1/x86_64`).
const DEPTH: u32 = 4;
/// All levels that a cache may have entries for (`sysdeps/*/dl-hwcaps-subdirs.c`).
const LEVELS: [&str; 9] = ["x86-64-v4", "x86-64-v3", "x86-64-v2", "power10", "power9", "z16", "z15", "z14", "z13"];
/// More libraries than this are not followed.
const MOST: usize = 100_000;

/// What is found in directories, each looked at once.
struct Folders<'a, F> {
    files: &'a F,
    program: &'a ObjectFacts,
    seen: HashMap<Vec<u8>, Listing>,
}

impl<F: Files> Folders<'_, F> {
    fn listing(&mut self, directory: &[u8]) -> Listing {
        if let Some(seen) = self.seen.get(directory) {
            return seen.clone();
        }
        let folder = path(directory);
        let mut listing = Listing::default();
        for name in self.files.names_in(folder) {
            if is_library_name(name.as_bytes()) && self.fits(&folder.join(&name)).is_some() {
                listing.files.insert(name.as_bytes().to_vec());
            }
        }
        for subfolder in SUBFOLDERS {
            self.names_below(&folder.join(subfolder), DEPTH, &mut listing.variants);
        }
        self.seen.insert(directory.to_vec(), listing.clone());
        listing
    }

    fn names_below(&self, folder: &Path, depth: u32, names: &mut BTreeSet<Vec<u8>>) {
        for name in self.files.names_in(folder) {
            names.insert(name.as_bytes().to_vec());
            let below = folder.join(&name);
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
    let mut folders = Folders { files, program, seen: HashMap::new() };
    let tokens = Tokens::of(Some(program), environment);
    let mut known: HashSet<PathBuf> = requesters.iter().map(|requester| PathBuf::from(&requester.path)).collect();
    let mut queue: VecDeque<Requester> = requesters.iter().cloned().collect();
    let (mut searches, mut undecided, mut wanted): (Vec<Search>, Vec<Search>, BTreeSet<Vec<u8>>) = Default::default();
    wanted.extend(binding.libraries.iter().map(|library| library.name.clone().into_bytes()));
    while let Some(requester) = queue.pop_front() {
        let search = requester.search();
        let mut answered: HashSet<Vec<u8>> = HashSet::new();
        for directory in search.before_library_path.iter().chain(&search.after_library_path) {
            for name in folders.listing(directory).files {
                let found = path(directory).join(path(&name));
                if !answered.insert(name) || known.len() >= MOST || !known.insert(found.clone()) {
                    continue;
                }
                if let Some(facts) = folders.fits(&found) {
                    wanted.extend(facts.needed.iter().cloned());
                    queue.push_back(opened_later(&found, &facts, &tokens));
                }
            }
        }
        if !requester.ends_at_cache() {
            undecided.push(search.clone());
        }
        searches.push(search);
    }
    searches.retain(|search| !(search.before_library_path.is_empty() && search.after_library_path.is_empty()));
    let mut table = Table::of_search(&searches, |directory| folders.listing(directory), Names::All);
    from_cache(&mut table, &searches, &undecided, &wanted, &mut folders, environment);
    table
}

/// Adds what a start needs and only the loader's cache, or its own directories, have. They come last, so it counts for
/// requesters none of whose directories has the name.
fn from_cache<F: Files>(
    table: &mut Table,
    searches: &[Search],
    undecided: &[Search],
    wanted: &BTreeSet<Vec<u8>>,
    folders: &mut Folders<'_, F>,
    environment: &Environment,
) {
    let mut places: BTreeMap<&[u8], Vec<u8>> = BTreeMap::new();
    for name in wanted.iter().filter(|name| !name.contains(&b'/')) {
        if let Some(place) = cached(name, folders, environment) {
            places.insert(name, place);
        }
    }
    for group in &mut table.groups {
        let of_group = |search: &&Search| group.requesters.contains(&search.requester);
        if undecided.iter().any(|search| of_group(&search)) {
            continue;
        }
        let Some(search) = searches.iter().find(of_group) else { continue };
        let mut variants: BTreeSet<Vec<u8>> = BTreeSet::new();
        for directory in search.before_library_path.iter().chain(&search.after_library_path) {
            variants.extend(folders.listing(directory).variants);
        }
        for (name, place) in places.iter().filter(|(name, _)| !variants.contains(**name)) {
            let found = Found { place: Place::Absolute(place.clone()), before_library_path: false };
            group.entries.entry(name.to_vec()).or_insert(found);
        }
    }
}

/// Where the cache or the loader's own directories have a name, if every processor finds the same there.
fn cached<F: Files>(name: &[u8], folders: &mut Folders<'_, F>, environment: &Environment) -> Option<Vec<u8>> {
    let machine = Machine::of(folders.program)?;
    if let Some(cache) = &environment.cache {
        let all: Vec<Vec<u8>> = LEVELS.iter().map(|level| level.as_bytes().to_vec()).collect();
        let plain = cache.lookup(name, machine.cache_flags, &[]);
        let best = cache.lookup(name, machine.cache_flags, &all);
        match (plain, best) {
            (Some(plain), Some(best)) if plain.path == best.path => {
                let place = path(plain.path);
                return folders.fits(place).map(|_| bytes(place).to_vec());
            }
            (None, None) => {}
            _ => return None,
        }
    }
    let defaults = environment.system_directories.clone().unwrap_or_else(|| machine.multiarch_directories());
    for directory in defaults {
        let listing = folders.listing(&directory);
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
