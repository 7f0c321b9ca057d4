//! What only a root file system knows: which package owns a file, and what a program's search for its libraries costs.

use std::path::{Path, PathBuf};

use coldstart_app::inspect::{SymbolUses, inspect_bytes, search_cost};
use coldstart_inspect::SearchCost;
use coldstart_packages::{AllOwners, Owner};
use coldstart_startup::{Conditions, Inherit, Levels, Root, RootError, SimulatedStart, StartOptions};

use crate::error::SurveyError;

/// A root file system.
#[derive(Debug)]
pub(crate) struct RootSystem {
    owners: AllOwners,
    start: StartOptions,
    /// The same root, for what the libraries that a start loads have in them.
    root: Root,
    uses: SymbolUses,
}

impl RootSystem {
    pub(crate) fn open(path: &Path) -> Result<Self, SurveyError> {
        let owners = AllOwners::of(path).map_err(|source| SurveyError::Packages { path: path.to_owned(), source })?;
        // Neither this machine's processor nor this process's environment may change the result.
        let conditions = Conditions { inherit: Inherit::Nothing, levels: Levels::None, ..Conditions::default() };
        let sysroot = (path != Path::new("/")).then(|| path.to_owned());
        let root = Root::open(sysroot.as_deref())
            .map_err(|RootError { source, .. }| SurveyError::Source { path: path.to_owned(), source })?;
        Ok(Self {
            owners,
            root,
            start: StartOptions { sysroot, conditions, ..StartOptions::default() },
            uses: SymbolUses::default(),
        })
    }

    /// The owner of a file with this path inside.
    pub(crate) fn owner(&self, inside: &Path) -> Option<Owner> {
        self.owners.owners_of(&[inside]).ok()?.pop().flatten()
    }

    /// What the search for a program's libraries costs, and which of them are not used; none where the loader's rules are not known.
    pub(crate) fn search(&self, inside: &Path) -> Option<SearchCost> {
        let start = SimulatedStart::new(inside, &self.start).ok()?;
        let closure = start.closure().ok()?;
        let map = |path: &Path| self.root.map(path).ok();
        let inspect = |index: usize| inspect_bytes(map(&closure.objects.get(index)?.path)?.bytes()).ok();
        Some(SearchCost { unused: self.uses.unused(&closure, map, inspect), ..search_cost(&closure) })
    }
}

/// A path below a root, as seen from inside.
pub(crate) fn inside(below: &Path) -> PathBuf {
    Path::new("/").join(below)
}
