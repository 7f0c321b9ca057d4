//! A link directory as it is recorded in a bound program.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::origin::{expanded, without_dots};

/// The directory of links.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundFarm {
    /// Its name on the search path.
    pub text: String,
    /// The links in it.
    pub links: Vec<BoundLink>,
}

/// A symbolic link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundLink {
    /// Its path in the directory of links.
    pub path: String,
    /// Its target.
    pub target: String,
}

impl BoundFarm {
    /// Whether a failed probe is for a variant of a library in the link directory, for a program whose path has no
    /// symbolic links.
    pub fn is_variant(&self, program: &Path, tried: &Path) -> bool {
        tried.strip_prefix(self.directory(program)).is_ok_and(|below| below.components().count() > 1)
    }

    /// Its path, for a program whose path has no symbolic links.
    pub fn directory(&self, program: &Path) -> PathBuf {
        without_dots(&expanded(&self.text, program))
    }
}
