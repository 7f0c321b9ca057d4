//! The note in a bound program: its original state, its new state, and the libraries used.
//!
//! It is JSON text. Paths that move along with the program begin with `$ORIGIN`.

use std::path::{Path, PathBuf};

use coldstart_prove::{PathKind, SearchEdit, SearchPath};
use serde::{Deserialize, Serialize};

use crate::origin::{expanded, without_dots};
use crate::{BoundAuditLibrary, BoundFarm, Mode};

/// The note version that is written; others are not read.
pub const BINDING_VERSION: u32 = 1;

/// How a program was bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// [`BINDING_VERSION`].
    pub version: u32,
    /// The release of coldstart that wrote it.
    pub coldstart: String,
    /// The mode.
    pub mode: Mode,
    /// The planned processor levels, best first.
    pub levels: Vec<String>,
    /// The directory of links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub farm: Option<BoundFarm>,
    /// The original's directory, if different: its `$ORIGIN` is not the bound program's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_program: Option<String>,
    /// The original `DT_NEEDED`.
    pub original_needed: Vec<String>,
    /// The original search path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_path: Option<SearchText>,
    /// A `DT_RPATH` next to a `DT_RUNPATH`, and therefore ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_idle_rpath: Option<String>,
    /// The new `DT_NEEDED`.
    pub needed: Vec<String>,
    /// The new search path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<SearchText>,
    /// The added `DT_AUDIT`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<String>,
    /// The file written there; none without `audit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit_library: Option<BoundAuditLibrary>,
    /// The libraries at the time, in load order; variants for levels after them.
    pub libraries: Vec<BoundLibrary>,
}

/// A search path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchText {
    /// Its tag.
    pub kind: TagName,
    /// Colon-separated directories.
    pub text: String,
}

/// The tag of a search path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TagName {
    /// `DT_RPATH`.
    Rpath,
    /// `DT_RUNPATH`.
    Runpath,
}

/// A library at the time the program was bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundLibrary {
    /// The requested name.
    pub name: String,
    /// The processor level of the variant; none for the plain library.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// The path where the original program finds it; begins with `$ORIGIN` if it moves along.
    pub path: String,
    /// Size in bytes.
    pub size: u64,
    /// Time of its last modification, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// Its build id in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_id: Option<String>,
    /// BLAKE3 of its content, if it has no build id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blake3: Option<String>,
}

/// Why a note cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum BindingError {
    /// Another version.
    #[error("the note has format version {found}; this coldstart reads version {BINDING_VERSION}")]
    Version {
        /// The version found.
        found: u64,
    },
    /// Malformed note.
    #[error("the note cannot be read: {0}")]
    Text(#[from] serde_json::Error),
}

impl Binding {
    /// Serialises the note; the same binding gives the same bytes.
    ///
    /// # Errors
    /// Never for a planned binding: it consists of text and numbers.
    pub fn to_json(&self) -> Result<String, BindingError> {
        Ok(serde_json::to_string(self)?)
    }

    /// Parses a note.
    ///
    /// # Errors
    /// If it has another version or is malformed.
    pub fn from_json(text: &str) -> Result<Self, BindingError> {
        #[derive(Deserialize)]
        struct Head {
            version: u64,
        }
        let head: Head = serde_json::from_str(text)?;
        if head.version != u64::from(BINDING_VERSION) {
            return Err(BindingError::Version { found: head.version });
        }
        Ok(serde_json::from_str(text)?)
    }

    /// Whether a failed probe is expected: for a variant of a library, or for one that keeps its own path.
    pub fn foresees(&self, program: &Path, tried: &Path) -> bool {
        let name = tried.file_name().and_then(|name| name.to_str());
        self.farm.as_ref().is_some_and(|farm| farm.is_variant(program, tried))
            || name.is_some_and(|name| self.keeps_path(name))
    }

    /// The edit that turns the original into the bound program.
    pub fn edit(&self) -> SearchEdit {
        SearchEdit {
            needed: self.needed.iter().map(|name| name.clone().into_bytes()).collect(),
            path: self.path.as_ref().map(SearchText::to_search_path),
            audit: self.audit.clone().map(String::into_bytes),
            loaded_note: None,
        }
    }

    /// The path of the auditing library, for a program whose path has no symbolic links.
    pub fn audit_library_path(&self, program: &Path) -> Option<PathBuf> {
        self.audit.as_ref().map(|text| without_dots(&expanded(text, program)))
    }

    /// Whether the bound program finds a library of this name outside the link directory, which has no link for it:
    /// the library keeps its path.
    pub fn keeps_path(&self, name: &str) -> bool {
        let linked = self.farm.as_ref().is_none_or(|farm| farm.links.iter().any(|link| link.path == name));
        !linked && self.libraries.iter().any(|library| library.name == name)
    }

    /// The edit that restores the original's list and path in the bound program. It does not remove `DT_AUDIT`.
    pub fn original_edit(&self) -> SearchEdit {
        SearchEdit {
            needed: self.original_needed.iter().map(|name| name.clone().into_bytes()).collect(),
            path: self.original_path.as_ref().map(SearchText::to_search_path),
            audit: None,
            loaded_note: None,
        }
    }
}

impl SearchText {
    fn to_search_path(&self) -> SearchPath {
        let kind = match self.kind {
            TagName::Rpath => PathKind::Rpath,
            TagName::Runpath => PathKind::Runpath,
        };
        SearchPath { kind, text: self.text.clone().into_bytes() }
    }
}

impl BoundLibrary {
    /// Its path, for a program whose path has no symbolic links.
    pub fn path(&self, program: &Path) -> PathBuf {
        expanded(&self.path, program)
    }
}
