//! A program with many directories of modules, and the ways in which it is started.

use std::path::{Path, PathBuf};

use anyhow::Result;
use fs_err as fs;

use super::super::workshop::{Workshop, text};

/// Directories of a synthetic world, each with one package.
pub(super) const PREFIXES: usize = 100;

/// Where a world is built, and where its programs will see it.
///
/// What is built at `source` is mounted at `seen`: as it is, or by a slow file system. So names in variables and in programs
/// have to begin with `seen`.
pub(super) struct Site {
    pub(super) source: PathBuf,
    pub(super) seen: PathBuf,
}

impl Site {
    /// Writes a file and the directories that lead to it.
    pub(super) fn file(&self, name: &str, content: &str) -> Result<()> {
        let path = self.source.join(name);
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        Ok(fs::write(path, content)?)
    }

    /// A name as the programs see it.
    pub(super) fn seen(&self, name: &str) -> String {
        text(&self.seen.join(name))
    }

    /// Names as the programs see them, as the value of a path variable.
    pub(super) fn list(&self, names: impl IntoIterator<Item = String>) -> String {
        names.into_iter().map(|name| self.seen(&name)).collect::<Vec<_>>().join(":")
    }

    /// The directories of a synthetic world.
    pub(super) fn prefixes(below: &str) -> impl Iterator<Item = String> {
        (0..PREFIXES).map(move |number| format!("prefix/{number:03}/{below}"))
    }

    /// Makes a farm of links to everything in directories of `source`; directories that several have are made anew.
    ///
    /// # Errors
    /// When a directory cannot be read, or a link not be made.
    pub(super) fn farm(&self, farm: &str, directories: impl IntoIterator<Item = String>) -> Result<()> {
        for directory in directories {
            link_all(&self.source.join(&directory), &self.seen.join(&directory), &self.source.join(farm))?;
        }
        Ok(())
    }
}

fn link_all(source: &Path, seen: &Path, farm: &Path) -> Result<()> {
    fs::create_dir_all(farm)?;
    for entry in fs::read_dir(source)? {
        let name = entry?.file_name();
        let (from, target, link) = (source.join(&name), seen.join(&name), farm.join(&name));
        if from.is_dir() {
            link_all(&from, &target, &link)?;
        } else if fs::symlink_metadata(&link).is_err() {
            fs::os::unix::fs::symlink(&target, &link)?;
        }
    }
    Ok(())
}

/// One way to start the program.
#[derive(Clone, Debug)]
pub(super) struct Way {
    /// In the table.
    pub(super) name: String,
    pub(super) command: Vec<String>,
    /// Set for it.
    pub(super) variables: Vec<(String, String)>,
}

/// What is asked of the index, to the plain start.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Limits {
    /// Calls by name, at most this part.
    pub(super) calls: Option<f64>,
    /// Time when hot, at most this part.
    pub(super) hot: Option<f64>,
    /// Times as fast when cold, at least.
    pub(super) cold: Option<f64>,
}

/// What stands at a site.
pub(super) struct World {
    /// As it is.
    pub(super) plain: Way,
    /// By other means: a farm of links, other tools. Their output need not be the same.
    pub(super) others: Vec<Way>,
    pub(super) limits: Limits,
}

/// A world that can be built.
pub(super) struct Recipe {
    /// In records and tables.
    pub(super) name: &'static str,
    /// Builds it; the directory is empty.
    pub(super) build: fn(&Workshop, &Site) -> Result<World>,
}
