//! The entries that programs need: every name they ask for, and the file that answers.
//!
//! A program's search may give one name two meanings, by the run paths of two of its libraries; a cache cannot. The first one
//! stands, and the others are told.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use coldstart_loader::cache::{Family, Folders, LdSoCache, Library, Listed, NewEntry, NewHwcap};
use coldstart_loader::{Closure, Environment, LoaderBuild, Rules, resolve};

use super::folders::{NEWEST_RELEASE, file_name, loader, named_family, parent};
use super::root::Root;
use super::shown;
use crate::error::{CliError, HintExt};
use crate::output::path::printable;

/// Files below a store item that are looked at.
const MOST_FILES: usize = 1_000_000;

/// How to follow programs.
pub(super) struct Following<'a> {
    pub(super) root: &'a Root,
    /// Whose cache it is to be; that of the first program when it was not said.
    pub(super) arch: Option<&'a str>,
    pub(super) release: Option<u32>,
    pub(super) levels: Option<BTreeSet<Vec<u8>>>,
    /// Whether names may be found by the cache that is in the root.
    pub(super) with_cache: bool,
}

/// What programs need.
pub(super) struct FromClosures {
    pub(super) family: &'static Family,
    pub(super) release: u32,
    pub(super) entries: Vec<NewEntry>,
    /// Names of levels that entries have.
    pub(super) programs: usize,
    pub(super) missing: Vec<Missing>,
    pub(super) conflicts: Vec<Conflict>,
}

/// A name that nothing answers to.
pub(super) struct Missing {
    pub(super) name: Vec<u8>,
    pub(super) needed_by: Vec<u8>,
}

/// A name with two meanings.
pub(super) struct Conflict {
    pub(super) name: Vec<u8>,
    pub(super) taken: Vec<u8>,
    pub(super) other: Vec<u8>,
}

/// Follows programs and libraries. `is_named` says that each has to be one; otherwise what is no object is passed over.
pub(super) fn follow(asked: &Following<'_>, programs: &[PathBuf], is_named: bool) -> Result<FromClosures, CliError> {
    let mut family = asked.arch.map(named_family).transpose()?;
    let mut names =
        Names { asked, release: asked.release, found: BTreeMap::new(), order: Vec::new(), conflicts: Vec::new() };
    let (mut missing, mut count): (Vec<Missing>, usize) = (Vec::new(), 0);
    let mut seen = BTreeSet::new();
    for program in programs {
        let path = inside(asked.root, program)?;
        let object = match coldstart_loader::FileSystem::object(asked.root, &asked.root.outside(&path)) {
            coldstart_loader::Probe::Object { identity, facts } => {
                // Many names lead to one program in a store.
                if !seen.insert((identity.device, identity.inode)) {
                    continue;
                }
                Ok(facts)
            }
            coldstart_loader::Probe::NotAnObject(reason) => Err(reason),
            coldstart_loader::Probe::Absent(kind) => Err(kind.to_string()),
        };
        let facts = match object {
            Ok(facts) => facts,
            Err(_) if !is_named => continue,
            Err(reason) => {
                return Err(anyhow::anyhow!("cannot tell what `{}` loads: {reason}", shown(&path)))
                    .hint(|| "name a program or library; of a script, name the interpreter in its first line");
            }
        };
        let own = Family::of(&facts);
        match (own, family) {
            (Some(own), None) => family = Some(own),
            (Some(own), Some(family)) if own == family => {}
            _ if !is_named => continue,
            _ => {
                let (name, wanted) = (shown(&path), family.map_or("glibc", |family| family.name));
                return Err(anyhow::anyhow!("`{name}` is for another machine than {wanted}, and a cache is for one"))
                    .hint(|| "write a cache for each machine");
            }
        }
        let Some(family) = family else { continue };
        let environment = environment(asked, family, &facts, &mut names.release)?;
        if environment.rules == Rules::Musl {
            return Err(anyhow::anyhow!("`{}` is started by musl's loader, which reads no cache", shown(&path)).into());
        }
        let closure = match resolve(super::path(&path), asked.root, &environment) {
            Ok(closure) => closure,
            Err(_) if !is_named => continue,
            Err(error) => return Err(error).hint(|| "its loader has to be there, inside the sysroot if one is given"),
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
        if let Some(stopped) = &closure.stopped {
            return Err(anyhow::anyhow!(
                "`{}` cannot start: `{}`: {}",
                shown(&path),
                printable(&stopped.path),
                stopped.reason
            )
            .into());
        }
    }
    let family = family.or_else(Family::here).context("nothing that is named is a program or library")?;
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
pub(super) fn files_below(root: &Root, prefix: &Path) -> Result<Vec<PathBuf>, CliError> {
    let start = inside(root, prefix)?;
    if !root.is_folder(&start) {
        return Err(anyhow::anyhow!("`{}` is no folder", shown(&start)).into());
    }
    let (mut files, mut open) = (Vec::new(), vec![start]);
    while let Some(folder) = open.pop() {
        let listed = root.list(&folder).with_context(|| format!("cannot list `{}`", shown(&folder)))?;
        let mut listed: Vec<_> =
            listed.into_iter().map(|(name, kind)| ([folder.as_slice(), b"/", &name].concat(), kind)).collect();
        listed.sort_unstable_by(|left, right| left.0.cmp(&right.0));
        for (name, kind) in listed {
            match kind {
                Listed::Folder => open.push(name),
                Listed::File => files.push(super::path(&name).to_owned()),
                Listed::Link | Listed::Other => {}
            }
            if files.len() > MOST_FILES {
                return Err(anyhow::anyhow!("`{}` holds more than a million files", printable(prefix)).into());
            }
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// Names and what they mean, in the order in which they were asked for.
struct Names<'a> {
    asked: &'a Following<'a>,
    release: Option<u32>,
    found: BTreeMap<Vec<u8>, Vec<u8>>,
    order: Vec<Vec<u8>>,
    conflicts: Vec<Conflict>,
}

impl Names<'_> {
    fn enter(&mut self, closure: &Closure) -> Result<(), CliError> {
        for request in closure.requests.iter().filter(|request| !request.preload) {
            let name = &request.needed;
            // Names with a slash are opened as they are; tokens are not looked up.
            if name.is_empty() || name.contains(&b'/') {
                continue;
            }
            let Some(object) = request.object.and_then(|object| closure.objects.get(object)) else { continue };
            let path = inside(self.asked.root, &object.path)?;
            match self.found.get(name) {
                None => {
                    self.found.insert(name.clone(), path);
                    self.order.push(name.clone());
                }
                Some(taken) if *taken == path => {}
                Some(taken) => {
                    let same = self.asked.root.identity(taken).ok().zip(self.asked.root.identity(&path).ok());
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

    /// The entries of all names, each with the builds for processor levels beside it.
    fn entries(&self, family: &Family, release: u32) -> Vec<NewEntry> {
        let mut entries = Vec::new();
        let read = |path: &[u8]| -> Option<(Library, u32)> {
            let library = self.asked.root.library(path).ok().filter(|library| family.holds(&library.facts))?;
            let flags = library.cache_flags(release)?;
            Some((library, flags))
        };
        for name in &self.order {
            let Some(path) = self.found.get(name) else { continue };
            let Some((_, flags)) = read(path) else { continue };
            entries.push(NewEntry { flags, name: name.clone(), path: path.clone(), hwcap: NewHwcap::Any });
            let levels_folder = [parent(path), b"/glibc-hwcaps"].concat();
            for (level, listed) in self.asked.root.list(&levels_folder).unwrap_or_default() {
                let wanted = self.asked.levels.as_ref().is_none_or(|levels| levels.contains(&level));
                if !wanted || listed == Listed::File || level.starts_with(b".") || level.contains(&b':') {
                    continue;
                }
                let files = [name.as_slice(), file_name(path)];
                let variants = files.iter().map(|file| [levels_folder.as_slice(), b"/", &level, b"/", file].concat());
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

/// What a start depends on: the loader's own directories and its cache, and nothing of our own environment.
fn environment(
    asked: &Following<'_>,
    family: &Family,
    facts: &coldstart_loader::ObjectFacts,
    release: &mut Option<u32>,
) -> Result<Environment, CliError> {
    let mut environment = Environment {
        sysroot: asked.root.sysroot().map(Path::to_owned),
        current_directory: if asked.root.sysroot().is_some() { PathBuf::from("/") } else { std::env::current_dir()? },
        ..Environment::default()
    };
    let own = facts.interpreter.as_ref().and_then(|interpreter| asked.root.read(interpreter).ok());
    let build = own.map(|bytes| LoaderBuild::read(&bytes)).or_else(|| loader(asked.root, family));
    if let Some(build) = build {
        build.apply(&mut environment);
        *release = release.or(build.release);
        let cache = build.cache_path.filter(|_| asked.with_cache).and_then(|path| asked.root.read(&path).ok());
        environment.cache = cache.and_then(|bytes| LdSoCache::parse(&bytes).ok());
    }
    Ok(environment)
}

/// The path as seen from inside the root.
fn inside(root: &Root, path: &Path) -> Result<Vec<u8>, CliError> {
    let absolute = match root.sysroot() {
        Some(_) => Path::new("/").join(path),
        None => std::path::absolute(path)?,
    };
    Ok(absolute.as_os_str().as_bytes().to_vec())
}
