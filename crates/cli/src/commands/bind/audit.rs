//! The library that answers the loader, for mode `audit`: made from where each object searches, put in place.

use std::collections::BTreeSet;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use coldstart_bind::audit::{Architecture, Found, Listing, Names, Place, Requester, Search, Table, build};
use coldstart_bind::{BindPlan, SearchedDirectory};
use coldstart_elf::ElfFile;

use crate::commands::reading::open_regular;
use crate::error::{CliError, HintExt};
use crate::output::file::write_beside;
use crate::output::path::printable;

/// Folders below a searched one that the loader looks into first: by processor level, and up to glibc 2.36 by other
/// features (elf/dl-hwcaps.c).
const SUBFOLDERS: [&str; 8] = ["glibc-hwcaps", "tls", "haswell", "avx512_1", "x86_64", "i386", "i686", "sse2"];

/// Subfolders that are searched have at most this many parts (`tls/haswell/avx512_1/x86_64`).
const SUBFOLDER_DEPTH: u32 = 4;

/// Makes the library for a plan and puts it in place.
pub(super) fn write_library(plan: &BindPlan, program: &[u8]) -> Result<PathBuf, CliError> {
    let path = plan.edit.audit.as_deref().unwrap_or_default();
    let path = Path::new(std::ffi::OsStr::from_bytes(path)).to_owned();
    let encoding = ElfFile::parse(program)?.encoding();
    let architecture = Architecture::of(encoding)
        .ok_or_else(|| anyhow::anyhow!("there is no auditing library for the machine {}", encoding.machine))
        .hint(|| "`--mode soname` needs none")?;
    let bytes = build(architecture, &table(plan, program))?;
    if path.symlink_metadata().is_ok() && !is_ours(&path) {
        return Err(anyhow::anyhow!("`{}` is there already, and is no library that coldstart made", printable(&path)))
            .hint(|| "give another place with `--audit-library`");
    }
    write_beside(&path, &bytes).with_context(|| format!("cannot write `{}`", printable(&path)))?;
    Ok(path)
}

/// Whether a file was made by us.
fn is_ours(path: &Path) -> bool {
    let read = || {
        let mut bytes = Vec::new();
        open_regular(path).ok()?.read_to_end(&mut bytes).ok()?;
        coldstart_bind::audit::read(&bytes).ok()
    };
    read().is_some()
}

/// What each object of the plan would find.
fn table(plan: &BindPlan, program: &[u8]) -> Table {
    let mut searches = Vec::new();
    for (number, requester) in plan.requesters.iter().enumerate() {
        let directories = |wanted: fn(&SearchedDirectory) -> Option<&String>| -> Vec<Vec<u8>> {
            let found = requester.directories.iter().filter_map(wanted);
            found.map(|directory| directory.clone().into_bytes()).collect()
        };
        let who = match number {
            0 => Requester::Program,
            _ => Requester::Library(Place::Absolute(requester.path.clone().into_bytes())),
        };
        searches.push(Search {
            requester: who,
            before_library_path: directories(|directory| match directory {
                SearchedDirectory::Rpath(directory) => Some(directory),
                _ => None,
            }),
            after_library_path: directories(|directory| match directory {
                SearchedDirectory::Runpath(directory) => Some(directory),
                _ => None,
            }),
        });
    }
    let mut variants: BTreeSet<Vec<u8>> = BTreeSet::new();
    let listing = |directory: &[u8]| {
        let listing = list(Path::new(std::ffi::OsStr::from_bytes(directory)), program);
        variants.extend(listing.variants.iter().cloned());
        listing
    };
    let mut table = Table::of_search(&searches, listing, Names::All);
    // What only the cache or the loader's own directories have comes behind all that; a name that a start does not ask
    // for may be found elsewhere by the time somebody does.
    for library in &plan.binding.libraries {
        let name = library.name.clone().into_bytes();
        if library.level.is_some() || variants.contains(&name) || !library.path.starts_with('/') {
            continue;
        }
        let has_levels = plan.binding.libraries.iter().any(|other| other.name == library.name && other.level.is_some());
        if has_levels || name.contains(&b'/') {
            continue;
        }
        let found = Found { place: Place::Absolute(library.path.clone().into_bytes()), before_library_path: false };
        for group in &mut table.groups {
            group.entries.entry(name.clone()).or_insert_with(|| found.clone());
        }
    }
    table
}

/// The libraries in a directory that this program's loader would take, and the names that have variants.
fn list(directory: &Path, program: &[u8]) -> Listing {
    let mut listing = Listing::default();
    let Ok(entries) = std::fs::read_dir(directory) else { return listing };
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name();
        if is_library_name(name.as_bytes()) && fits(&entry.path(), program) {
            listing.files.insert(name.as_bytes().to_vec());
        }
    }
    for subfolder in SUBFOLDERS {
        names_below(&directory.join(subfolder), SUBFOLDER_DEPTH, &mut listing.variants);
    }
    listing
}

/// All names below a directory, down to a depth.
fn names_below(directory: &Path, depth: u32, names: &mut BTreeSet<Vec<u8>>) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.filter_map(Result::ok) {
        names.insert(entry.file_name().as_bytes().to_vec());
        if depth > 1 && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            names_below(&entry.path(), depth - 1, names);
        }
    }
}

fn is_library_name(name: &[u8]) -> bool {
    name.windows(3).any(|part| part == b".so")
}

/// Whether a file is for the program's machine: class, byte order and machine in the ELF header (gABI, figure 4-3).
fn fits(path: &Path, program: &[u8]) -> bool {
    let mut start = [0_u8; 64];
    if open_regular(path).and_then(|mut file| file.read_exact(&mut start)).is_err() {
        return false;
    }
    let same = |range: std::ops::Range<usize>| start.get(range.clone()) == program.get(range);
    same(0..6) && same(18..20)
}
