//! The folder of links as a plan.

use std::path::{Path, PathBuf};

use crate::hoist::{Hoisted, utf8};
use crate::origin::{Tree, behind_origin, bytes, path, way};
use crate::{BoundFarm, BoundLink, Refusal};

/// A folder with a symbolic link for each library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FarmPlan {
    /// Where it shall stand: an absolute path.
    pub directory: PathBuf,
    /// As it stands on the search path.
    pub text: String,
    /// The bound program, which the folder is for.
    pub program: PathBuf,
    /// The links: plain ones in load order, then those for each level.
    pub links: Vec<FarmLink>,
}

/// A link to a library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FarmLink {
    /// The name asked for.
    pub name: String,
    /// The processor level it is for.
    pub level: Option<String>,
    /// What stands in the link: an absolute path, or the way from the link's folder.
    pub target: String,
    /// The path by which the loader found the library.
    pub found: PathBuf,
}

impl FarmLink {
    /// Its path in the folder.
    pub fn path(&self) -> String {
        match &self.level {
            Some(level) => format!("glibc-hwcaps/{level}/{}", self.name),
            None => self.name.clone(),
        }
    }
}

impl FarmPlan {
    /// What the note says of it.
    pub fn bound(&self) -> BoundFarm {
        let link = |link: &FarmLink| BoundLink { path: link.path(), target: link.target.clone() };
        BoundFarm { text: self.text.clone(), links: self.links.iter().map(link).collect() }
    }
}

/// Where the folder of links stands, what it is for.
pub(crate) struct Place<'a> {
    pub(crate) directory: &'a Path,
    pub(crate) text: String,
    pub(crate) program: &'a Path,
}

/// A level with the names that a processor of this level finds, from none to the highest.
pub(crate) struct LevelNames<'a> {
    pub(crate) level: Option<&'a str>,
    pub(crate) hoisted: &'a [Hoisted],
    pub(crate) tree: &'a Tree,
}

/// The links for all levels. Names that `kept` has stay without.
///
/// A level whose processors find something else than those of the level below has links for all names: in a folder that is
/// there each name is tried, and a try that fails is what is to be saved.
pub(crate) fn plan_farm(place: Place<'_>, levels: &[LevelNames<'_>], kept: &[String]) -> Result<FarmPlan, Refusal> {
    let mut links = Vec::new();
    let mut below: Vec<(&str, &PathBuf)> = Vec::new();
    for level in levels {
        let searched = level.hoisted.iter().filter(|name| !kept.contains(&name.text));
        let found: Vec<_> =
            searched.filter_map(|name| Some((name.text.as_str(), name.object, name.found()?))).collect();
        let here: Vec<(&str, &PathBuf)> = found.iter().map(|(name, _, path)| (*name, *path)).collect();
        if level.level.is_some() && here == below {
            continue;
        }
        below = here;
        let folder = match level.level {
            Some(level) => place.directory.join("glibc-hwcaps").join(level),
            None => place.directory.to_owned(),
        };
        for (name, object, path) in found {
            links.push(FarmLink {
                name: name.to_owned(),
                level: level.level.map(str::to_owned),
                target: target(&folder, &place, level.tree, object, path)?,
                found: path.clone(),
            });
        }
    }
    Ok(FarmPlan { directory: place.directory.to_owned(), text: place.text, program: place.program.to_owned(), links })
}

/// What stands in a link: the way from its folder for what moves along with the program, as long as the links do, too.
fn target(folder: &Path, place: &Place<'_>, tree: &Tree, object: usize, found: &Path) -> Result<String, Refusal> {
    let origin = place.program.parent().unwrap_or(Path::new("/"));
    let links_move = behind_origin(place.text.as_bytes()).is_some();
    let text = match tree.behind(bytes(found)).filter(|_| links_move && tree.moves_along(object)) {
        Some(rest) => {
            let rest = rest.strip_prefix(b"/").unwrap_or(rest);
            bytes(&way(folder, origin).join(path(rest))).to_vec()
        }
        None => bytes(found).to_vec(),
    };
    utf8(text)
}
