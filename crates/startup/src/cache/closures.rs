//! Cache entries for the libraries of programs: every requested name with the file found for it.
//!
//! Not obvious: with different run paths, two libraries can find different files for the same name; a cache has only one. The
//! first one is entered and the others are reported.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use coldstart_loader::cache::{DirectorySource, Family, Library, Listed, NewEntry, NewHwcap};
use coldstart_loader::{Closure, Environment, Rules, Start, resolve};

use super::{CacheSourceError, NEWEST_RELEASE, as_path, family_loader, file_name, inside, named_family, parent};
use crate::{Conditions, Files, Inherit, Levels, ObjectFile, ProgramKind, Root, Surroundings};

/// Maximum number of files below a store item.
const MOST_FILES: usize = 1_000_000;

/// How to follow programs.
#[derive(Debug)]
pub struct ClosureOptions<'a> {
    /// Where the programs and their libraries are.
    pub files: &'a Files,
    /// The architecture of the cache; by default that of the first program.
    pub arch: Option<&'a str>,
    /// glibc's minor version; by default that of the first program's loader.
    pub release: Option<u32>,
    /// Processor levels to enter; `None` for all.
    pub levels: Option<BTreeSet<Vec<u8>>>,
    /// Whether the root's own cache is used in searches.
    pub with_cache: bool,
}

/// The libraries of programs.
#[derive(Debug)]
pub struct FromClosures {
    /// Their architecture.
    pub family: &'static Family,
    /// glibc's minor version for the rules.
    pub release: u32,
    /// One for each name and processor level, in request order.
    pub entries: Vec<NewEntry>,
    /// Number of objects.
    pub programs: usize,
    /// Names that were not found.
    pub missing: Vec<Missing>,
    /// Names with more than one file.
    pub conflicts: Vec<Conflict>,
}

/// A name that was not found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The requested name.
    pub name: Vec<u8>,
    /// The path of the requesting object.
    pub needed_by: Vec<u8>,
}

/// A name with more than one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The requested name.
    pub name: Vec<u8>,
    /// The entered path.
    pub taken: Vec<u8>,
    /// The path that another object finds by this name.
    pub other: Vec<u8>,
}

/// Follows programs and libraries. With `is_named` each must be one; otherwise other files are skipped.
///
/// # Errors
/// If a given program cannot be followed, has another architecture than the others, or uses musl's loader.
pub fn follow(
    asked: &ClosureOptions<'_>,
    programs: &[PathBuf],
    is_named: bool,
) -> Result<FromClosures, CacheSourceError> {
    let mut family = asked.arch.map(named_family).transpose()?;
    let mut names =
        Names { asked, release: asked.release, found: BTreeMap::new(), order: Vec::new(), conflicts: Vec::new() };
    let (mut missing, mut count): (Vec<Missing>, usize) = (Vec::new(), 0);
    let mut seen = BTreeSet::new();
    for program in programs {
        let path = inside(asked.files.root(), program)?;
        let here = || as_path(&path).to_owned();
        let object = match asked.files.object_file(as_path(&path)) {
            // In a store, many names refer to the same program.
            Ok(object) if !seen.insert((object.identity.device, object.identity.inode)) => continue,
            Ok(object) => object,
            Err(_) if !is_named => continue,
            Err(error) => return Err(CacheSourceError::NotAnObject { path: here(), reason: reason(&error) }),
        };
        let own = Family::of(&object.facts);
        match (own, family) {
            (Some(own), None) => family = Some(own),
            (Some(own), Some(family)) if own == family => {}
            _ if !is_named => continue,
            _ => {
                let wanted = family.map_or("glibc", |family| family.name);
                return Err(CacheSourceError::OtherFamily { path: here(), wanted });
            }
        }
        let Some(family) = family else { continue };
        let environment = environment(asked, family, &object, &mut names.release);
        if environment.rules == Rules::Musl {
            return Err(CacheSourceError::Musl { path: here() });
        }
        let closure = match resolve(as_path(&path), asked.files, &environment) {
            Ok(closure) => closure,
            Err(_) if !is_named => continue,
            Err(error) => return Err(error.into()),
        };
        count += 1;
        names.enter(&closure)?;
        missing.extend(closure.missing.iter().filter(|missing| !missing.preload).map(|missing| {
            Missing {
                name: missing.needed.clone(),
                needed_by: closure
                    .objects
                    .get(missing.requester)
                    .map(|object| object.path.as_os_str().as_bytes().to_vec())
                    .unwrap_or_default(),
            }
        }));
        if let Some(stopped) = closure.stopped {
            return Err(CacheSourceError::Stopped { path: here(), file: stopped.path, reason: stopped.reason });
        }
    }
    let family = family.or_else(Family::here).ok_or(CacheSourceError::Nothing)?;
    missing.dedup_by(|left, right| left.name == right.name && left.needed_by == right.needed_by);
    let release = names.release.unwrap_or(NEWEST_RELEASE);
    Ok(FromClosures {
        family,
        release,
        programs: count,
        missing,
        conflicts: std::mem::take(&mut names.conflicts),
        entries: names.entries(family, release),
    })
}

/// All files below a store item that could be programs or libraries.
///
/// # Errors
/// If it is not a directory, cannot be listed, or contains too many files.
pub fn files_below(root: &Root, prefix: &Path) -> Result<Vec<PathBuf>, CacheSourceError> {
    let start = inside(root, prefix)?;
    if !root.is_directory(as_path(&start)) {
        return Err(CacheSourceError::NotADirectory { path: as_path(&start).to_owned() });
    }
    let (mut files, mut open) = (Vec::new(), vec![start]);
    while let Some(directory) = open.pop() {
        let failed = |source| CacheSourceError::List { path: as_path(&directory).to_owned(), source };
        let listed = root.list(&directory).map_err(failed)?;
        let mut listed: Vec<_> =
            listed.into_iter().map(|(name, kind)| ([directory.as_slice(), b"/", &name].concat(), kind)).collect();
        listed.sort_unstable_by(|left, right| left.0.cmp(&right.0));
        for (name, kind) in listed {
            match kind {
                Listed::Directory => open.push(name),
                Listed::File => files.push(as_path(&name).to_owned()),
                Listed::Link | Listed::Other => {}
            }
            if files.len() > MOST_FILES {
                return Err(CacheSourceError::TooMany { path: prefix.to_owned() });
            }
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// Names and their files, in request order.
struct Names<'a> {
    asked: &'a ClosureOptions<'a>,
    release: Option<u32>,
    found: BTreeMap<Vec<u8>, Vec<u8>>,
    order: Vec<Vec<u8>>,
    conflicts: Vec<Conflict>,
}

impl Names<'_> {
    fn enter(&mut self, closure: &Closure) -> Result<(), CacheSourceError> {
        for request in closure.requests.iter().filter(|request| !request.preload) {
            let name = &request.needed;
            // Names with a slash are opened as they are; tokens are not looked up.
            if name.is_empty() || name.contains(&b'/') {
                continue;
            }
            let Some(object) = request.object.and_then(|object| closure.objects.get(object)) else { continue };
            let path = inside(self.asked.files.root(), &object.path)?;
            match self.found.get(name) {
                None => {
                    self.found.insert(name.clone(), path);
                    self.order.push(name.clone());
                }
                Some(taken) if *taken == path => {}
                Some(taken) => {
                    let same = self.asked.files.identity(as_path(taken)).zip(self.asked.files.identity(as_path(&path)));
                    if same.is_none_or(|(left, right)| left != right)
                        && !self.conflicts.iter().any(|conflict| conflict.name == *name && conflict.other == path)
                    {
                        self.conflicts.push(Conflict { name: name.clone(), taken: taken.clone(), other: path });
                    }
                }
            }
        }
        Ok(())
    }

    /// The entries of all names, each with its variants for processor levels.
    fn entries(&self, family: &Family, release: u32) -> Vec<NewEntry> {
        let mut entries = Vec::new();
        let read = |path: &[u8]| -> Option<(Library, u32)> {
            let library = self.asked.files.root().library(path).ok().filter(|library| family.holds(&library.facts))?;
            let flags = library.cache_flags(release)?;
            Some((library, flags))
        };
        for name in &self.order {
            let Some(path) = self.found.get(name) else { continue };
            let Some((_, flags)) = read(path) else { continue };
            entries.push(NewEntry { flags, name: name.clone(), path: path.clone(), hwcap: NewHwcap::Any });
            let levels_directory = [parent(path), b"/glibc-hwcaps"].concat();
            for (level, listed) in self.asked.files.root().list(&levels_directory).unwrap_or_default() {
                let wanted = self.asked.levels.as_ref().is_none_or(|levels| levels.contains(&level));
                if !wanted || listed == Listed::File || level.starts_with(b".") || level.contains(&b':') {
                    continue;
                }
                let files = [name.as_slice(), file_name(path)];
                let variants =
                    files.iter().map(|file| [levels_directory.as_slice(), b"/", &level, b"/", file].concat());
                let Some((variant, (library, flags))) =
                    variants.filter_map(|path| read(&path).map(|found| (path, found))).next()
                else {
                    continue;
                };
                let hwcap = NewHwcap::Level { name: level, isa_level: library.isa_level };
                entries.push(NewEntry { flags, name: name.clone(), path: variant, hwcap });
            }
        }
        entries
    }
}

/// The conditions of a start: the loader's own directories and its cache, but not this process's environment and processor.
fn environment(
    asked: &ClosureOptions<'_>,
    family: &Family,
    object: &ObjectFile,
    release: &mut Option<u32>,
) -> Environment {
    let conditions = Conditions {
        inherit: Inherit::Nothing,
        levels: Levels::Every,
        inhibit_cache: !asked.with_cache,
        ..Conditions::default()
    };
    let surroundings = Surroundings::of(object, asked.files, &conditions);
    let own = surroundings.build.release;
    *release = release.or(own).or_else(|| family_loader(asked.files.root(), family)?.release);
    let mut environment = surroundings.environment;
    if object.kind == ProgramKind::Library {
        // A library may be loaded by any process, with its loader already mapped by any path; a cache contains what a search finds.
        (environment.interpreter, environment.start) = (None, Start::Kernel);
    }
    environment
}

/// Why a file is not an object: the error in its content, or the kind of I/O error.
fn reason(error: &io::Error) -> String {
    use io::ErrorKind::{InvalidData, InvalidInput, IsADirectory, UnexpectedEof};
    match error.kind() {
        IsADirectory | InvalidInput | InvalidData | UnexpectedEof => error.to_string(),
        kind => kind.to_string(),
    }
}
