//! The plan of a link directory.

use std::path::{Path, PathBuf};

use super::bound::{BoundFarm, BoundLink};
use crate::Refusal;
use crate::hoist::{Hoisted, utf8};
use crate::origin::{Tree, behind_origin, bytes, path, way};

/// A directory with a symbolic link for each library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FarmPlan {
    /// Its absolute path.
    pub directory: PathBuf,
    /// Its name on the search path.
    pub text: String,
    /// The bound program that the directory is for.
    pub program: PathBuf,
    /// The links: plain ones in load order, then those for each level.
    pub links: Vec<FarmLink>,
    /// Levels without libraries of their own: they find the same files as the level below.
    pub same_levels: Vec<SameLevel>,
}

/// A level whose directory is a link to that of the level below. The loader searches it first and finds each library
/// at the first try, without trying the directories of other features.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SameLevel {
    /// The processor level.
    pub level: String,
    /// The level below, whose directory it shares; none for the plain links.
    pub below: Option<String>,
}

impl SameLevel {
    /// Its path in the link directory.
    pub fn path(&self) -> String {
        format!("glibc-hwcaps/{}", self.level)
    }

    /// The link's target, relative to its directory.
    pub fn target(&self) -> String {
        self.below.clone().unwrap_or_else(|| "..".to_owned())
    }
}

/// A link to a library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FarmLink {
    /// The requested name.
    pub name: String,
    /// Its processor level.
    pub level: Option<String>,
    /// The link's target: absolute, or relative to the link's directory.
    pub target: String,
    /// The path by which the loader found the library.
    pub found: PathBuf,
}

impl FarmLink {
    /// Its path in the directory.
    pub fn path(&self) -> String {
        match &self.level {
            Some(level) => format!("glibc-hwcaps/{level}/{}", self.name),
            None => self.name.clone(),
        }
    }
}

impl FarmPlan {
    /// Its description for the note.
    pub fn bound(&self) -> BoundFarm {
        let link = |link: &FarmLink| BoundLink { path: link.path(), target: link.target.clone() };
        let same = |same: &SameLevel| BoundLink { path: same.path(), target: same.target() };
        let links = self.links.iter().map(link).chain(self.same_levels.iter().map(same)).collect();
        BoundFarm { text: self.text.clone(), links }
    }
}

/// The path of a link directory, and its program.
pub(crate) struct Place<'a> {
    pub(crate) directory: &'a Path,
    pub(crate) text: String,
    pub(crate) program: &'a Path,
}

/// A level with the names that such a processor finds; levels are ordered from none to the highest.
pub(crate) struct LevelNames<'a> {
    pub(crate) level: Option<&'a str>,
    pub(crate) hoisted: &'a [Hoisted],
    pub(crate) tree: &'a Tree,
}

/// The links for all levels, without the names in `kept`.
///
/// Each level has all names, either as links of its own or through a link to the directory of the level below: the
/// loader searches the directory of the highest level first, and failed probes are what binding avoids.
pub(crate) fn plan_farm(place: Place<'_>, levels: &[LevelNames<'_>], kept: &[String]) -> Result<FarmPlan, Refusal> {
    let (mut links, mut same_levels) = (Vec::new(), Vec::new());
    let mut below: Vec<(&str, &PathBuf)> = Vec::new();
    let mut level_below: Option<&str> = None;
    for level in levels {
        let searched = level.hoisted.iter().filter(|name| !kept.contains(&name.text));
        let found: Vec<_> =
            searched.filter_map(|name| Some((name.text.as_str(), name.object, name.found()?))).collect();
        let here: Vec<(&str, &PathBuf)> = found.iter().map(|(name, _, path)| (*name, *path)).collect();
        if let Some(level) = level.level.filter(|_| here == below) {
            let below = level_below.map(str::to_owned);
            same_levels.push(SameLevel { level: level.to_owned(), below });
            continue;
        }
        below = here;
        level_below = level.level;
        let directory = match level.level {
            Some(level) => place.directory.join("glibc-hwcaps").join(level),
            None => place.directory.to_owned(),
        };
        for (name, object, path) in found {
            links.push(FarmLink {
                name: name.to_owned(),
                level: level.level.map(str::to_owned),
                target: target(&directory, &place, level.tree, object, path)?,
                found: path.clone(),
            });
        }
    }
    let (directory, program) = (place.directory.to_owned(), place.program.to_owned());
    Ok(FarmPlan { directory, text: place.text, program, links, same_levels })
}

/// A link's target: relative to its directory for a library that moves along with the program, as long as the links
/// do, too.
fn target(directory: &Path, place: &Place<'_>, tree: &Tree, object: usize, found: &Path) -> Result<String, Refusal> {
    let origin = place.program.parent().unwrap_or(Path::new("/"));
    let links_move = behind_origin(place.text.as_bytes()).is_some();
    let text = match tree.behind(bytes(found)).filter(|_| links_move && tree.moves_along(object)) {
        Some(rest) => {
            let rest = rest.strip_prefix(b"/").unwrap_or(rest);
            bytes(&way(directory, origin).join(path(rest))).to_vec()
        }
        None => bytes(found).to_vec(),
    };
    utf8(text)
}
