//! Planned files: the program with other facts, and a link directory that does not exist yet.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use coldstart_loader::{FileSystem, Identity, ObjectFacts, Probe};

use crate::farm::FarmPlan;
use crate::origin::without_dots;

/// Files overlaid with a program and a link directory.
#[derive(Debug)]
pub(crate) struct Overlay<'a, Inner> {
    inner: &'a Inner,
    program: &'a Path,
    identity: Identity,
    facts: ObjectFacts,
    farm: Option<PathBuf>,
    links: HashMap<PathBuf, PathBuf>,
    directories: HashSet<PathBuf>,
    /// Level directories that are links to others.
    same: HashMap<PathBuf, PathBuf>,
}

impl<'a, Inner: FileSystem> Overlay<'a, Inner> {
    /// Overlays a program with these facts at a path without symbolic links, and a link directory.
    pub(crate) fn new(
        inner: &'a Inner,
        program: &'a Path,
        (identity, facts): (Identity, ObjectFacts),
        farm: Option<&FarmPlan>,
    ) -> Self {
        let (links, directories, same) = (HashMap::new(), HashSet::new(), HashMap::new());
        let mut overlay = Self { inner, program, identity, facts, farm: None, links, directories, same };
        if let Some(farm) = farm {
            overlay.directories.insert(farm.directory.clone());
            for link in &farm.links {
                let path = farm.directory.join(link.path());
                overlay.directories.extend(
                    path.ancestors()
                        .skip(1)
                        .map(Path::to_owned)
                        .take_while(|directory| directory.starts_with(&farm.directory)),
                );
                overlay.links.insert(path, link.found.clone());
            }
            for same in &farm.same_levels {
                let levels = farm.directory.join("glibc-hwcaps");
                let below = same.below.as_ref().map_or(farm.directory.clone(), |below| levels.join(below));
                overlay.same.insert(levels.join(&same.level), below);
                overlay.directories.insert(levels);
            }
            overlay.farm = Some(farm.directory.clone());
        }
        overlay
    }

    /// The path inside the link directory, if it is one.
    fn in_farm(&self, path: &Path) -> Option<PathBuf> {
        let path = without_dots(path);
        let path = path.starts_with(self.farm.as_ref()?).then_some(path)?;
        let shared = path.ancestors().find_map(|directory| Some((directory, self.same.get(directory)?)));
        Some(match shared.and_then(|(directory, below)| Some(below.join(path.strip_prefix(directory).ok()?))) {
            Some(shared) => shared,
            None => path,
        })
    }
}

impl<Inner: FileSystem> FileSystem for Overlay<'_, Inner> {
    fn object(&self, path: &Path) -> Probe {
        if path == self.program {
            return Probe::Object { identity: self.identity, facts: self.facts.clone() };
        }
        match self.in_farm(path) {
            None => self.inner.object(path),
            Some(path) => match self.links.get(&path) {
                Some(target) => self.inner.object(target),
                None => Probe::Absent(io::ErrorKind::NotFound),
            },
        }
    }

    fn is_directory(&self, path: &Path) -> bool {
        match self.in_farm(path) {
            None => self.inner.is_directory(path),
            Some(path) => self.directories.contains(&path),
        }
    }

    fn canonical(&self, path: &Path) -> Option<PathBuf> {
        if path == self.program { Some(path.to_owned()) } else { self.inner.canonical(path) }
    }
}
