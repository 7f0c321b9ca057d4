//! Cache entries for the libraries of directories.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use coldstart_loader::LoaderBuild;
use coldstart_loader::cache::{
    DirectorySource, FAMILIES, Family, Listed, RequestedDirectory, Scan, ScanRules, is_library_name, scan,
};

use super::conf::{self, RelativeLine};
use super::{CacheSourceError, as_path, inside};
use crate::{Root, loaders_of_family};

/// The default release if there is no loader: the newest one known.
pub const NEWEST_RELEASE: u32 = 42;
/// Maximum number of directories below a given one.
const MOST_DIRECTORIES: usize = 100_000;

/// Size limit of a loader's file in bytes; real ones are below 2 MiB.
const MOST_LOADER: u64 = 64 << 20;

/// The input for a cache of directories.
#[derive(Clone, Copy, Debug)]
pub struct DirectoryOptions<'a> {
    /// Where the directories are.
    pub root: &'a Root,
    /// Directories, as seen from inside; by default those of the configuration.
    pub directories: &'a [PathBuf],
    /// Whether their subdirectories are included.
    pub recursive: bool,
    /// A configuration file, as seen from inside, with further directories.
    pub configuration: Option<&'a Path>,
    /// The architecture by name; by default one found in the directories, preferably this machine's.
    pub arch: Option<&'a str>,
    /// glibc's minor version; by default that of the root's loader.
    pub release: Option<u32>,
    /// Processor levels to enter; `None` for all.
    pub levels: Option<&'a BTreeSet<Vec<u8>>>,
}

/// The libraries of directories.
#[derive(Debug)]
pub struct FromDirectories {
    /// The libraries.
    pub scan: Scan,
    /// The rules by which they were found.
    pub rules: ScanRules,
    /// Skipped lines of the configuration.
    pub relative: Vec<RelativeLine>,
}

/// Scans the given directories and those of the configuration.
///
/// # Errors
/// If a given directory cannot be used, the configuration cannot be read, or the architecture is ambiguous.
pub fn gather(from: DirectoryOptions<'_>) -> Result<FromDirectories, CacheSourceError> {
    let root = from.root;
    let mut asked = Vec::new();
    for directory in from.directories {
        let name = inside(root, directory)?;
        let unusable = |source| CacheSourceError::Unusable { path: as_path(&name).to_owned(), source };
        root.check_directory(as_path(&name)).map_err(unusable)?;
        asked.extend(if from.recursive { below(root, &name) } else { vec![directory_asked(&name)] });
    }
    let usual = from.directories.is_empty().then_some(Path::new("/etc/ld.so.conf"));
    let configuration = from.configuration.or(usual).map(|file| inside(root, file)).transpose()?;
    let mut relative = Vec::new();
    if let Some(file) = &configuration {
        if from.configuration.is_some() && root.identity(as_path(file)).is_err() {
            return Err(CacheSourceError::NoConfiguration { path: as_path(file).to_owned() });
        }
        let named = conf::directories(root, file)?;
        asked.extend(named.directories);
        relative = named.relative;
    }
    let family = family(root, from.arch, &asked, configuration.is_some())?;
    let loader = family_loader(root, family);
    if configuration.is_some() {
        asked.extend(default_directories(family, loader.as_ref()));
    }
    let release = from.release.or(loader.and_then(|loader| loader.release)).unwrap_or(NEWEST_RELEASE);
    let rules = ScanRules { family, release, levels: from.levels.cloned() };
    Ok(FromDirectories { scan: scan(&asked, root, &rules), rules, relative })
}

/// The architecture family with a name.
///
/// # Errors
/// If the name is unknown.
pub fn named_family(name: &str) -> Result<&'static Family, CacheSourceError> {
    Family::named(name).ok_or_else(|| CacheSourceError::UnknownFamily { name: name.to_owned() })
}

/// The build parameters of a family's loader in a root.
pub fn family_loader(root: &Root, family: &Family) -> Option<LoaderBuild> {
    let read = |path: &Path| {
        let library = root.library(path.as_os_str().as_bytes()).ok()?;
        family.holds(&library.facts).then(|| root.read(path, MOST_LOADER).ok())?
    };
    loaders_of_family(family).into_iter().find_map(read).map(|bytes| LoaderBuild::read(&bytes))
}

/// A directory by its name; unlike in a configuration file, `=` and spaces belong to it.
fn directory_asked(name: &[u8]) -> RequestedDirectory {
    let mut path = name;
    while let Some((b'/', rest)) = path.split_last() {
        path = rest;
    }
    RequestedDirectory { path: path.to_vec(), kind: None }
}

/// A directory and all its subdirectories, without following links. Level directories belong to their parent and are omitted.
fn below(root: &Root, name: &[u8]) -> Vec<RequestedDirectory> {
    let (mut found, mut open) = (Vec::new(), vec![directory_asked(name)]);
    while let Some(directory) = open.pop() {
        if found.len() == MOST_DIRECTORIES {
            break;
        }
        let mut names: Vec<Vec<u8>> = root
            .list(&directory.path)
            .unwrap_or_default()
            .into_iter()
            .filter(|(name, listed)| *listed == Listed::Directory && name != b"glibc-hwcaps")
            .map(|(name, _)| name)
            .collect();
        // The list is used as a stack.
        names.sort_unstable_by(|left, right| right.cmp(left));
        open.extend(names.iter().map(|name| directory_asked(&[directory.path.as_slice(), b"/", name].concat())));
        found.push(directory);
    }
    found
}

/// The architecture to enter: as requested, this machine's, or the only one present.
fn family(
    root: &Root,
    arch: Option<&str>,
    asked: &[RequestedDirectory],
    with_defaults: bool,
) -> Result<&'static Family, CacheSourceError> {
    if let Some(name) = arch {
        return named_family(name);
    }
    if with_defaults && let Some(family) = Family::here().filter(|family| family_loader(root, family).is_some()) {
        return Ok(family);
    }
    if with_defaults {
        let mut found = FAMILIES.iter().filter(|family| family_loader(root, family).is_some());
        if let (Some(family), None) = (found.next(), found.next()) {
            return Ok(family);
        }
    }
    let found = families(root, asked);
    match (found.as_slice(), Family::here()) {
        ([family], _) => Ok(family),
        (_, Some(here)) if found.is_empty() || (root.sysroot().is_none() && found.contains(&here)) => Ok(here),
        _ => Err(CacheSourceError::SeveralFamilies { families: found.iter().map(|family| family.name).collect() }),
    }
}

/// The architecture families of the libraries in directories.
fn families(root: &Root, asked: &[RequestedDirectory]) -> Vec<&'static Family> {
    let mut found: Vec<&'static Family> = Vec::new();
    for directory in asked {
        for (name, listed) in root.list(&directory.path).unwrap_or_default() {
            if !matches!(listed, Listed::File | Listed::Link) || !is_library_name(&name) {
                continue;
            }
            let library = root.library(&[directory.path.as_slice(), b"/", &name].concat());
            let family = library.ok().and_then(|library| Family::of(&library.facts));
            found.extend(family.filter(|family| !found.contains(family)));
        }
    }
    found.sort_unstable_by_key(|family| family.name);
    found
}

/// The default directories of a loader, as its own `ldconfig` enters them.
fn default_directories(family: &Family, loader: Option<&LoaderBuild>) -> Vec<RequestedDirectory> {
    let known = loader.and_then(|loader| loader.system_directories.clone());
    let directories = known.unwrap_or_else(|| vec![b"/lib".to_vec(), b"/usr/lib".to_vec()]);
    let directories: Vec<Vec<u8>> = directories.iter().map(|name| directory_asked(name).path).collect();
    // Debian's ldconfig uses the loader's directories as they are; upstream's adds related ones.
    let is_multiarch = |directory: &Vec<u8>| directory.windows(10).any(|part| part == b"-linux-gnu");
    let directories: Vec<Vec<u8>> = if directories.iter().any(is_multiarch) {
        directories
    } else {
        directories.iter().flat_map(|directory| family.expanded(directory)).collect()
    };
    directories.iter().map(|directory| directory_asked(directory)).collect()
}

/// The parent directory of a path.
pub fn parent(name: &[u8]) -> &[u8] {
    let slash = name.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
    name.get(..slash).unwrap_or_default()
}

/// The last part of a path.
pub fn file_name(name: &[u8]) -> &[u8] {
    as_path(name).file_name().map(OsStrExt::as_bytes).unwrap_or_default()
}
