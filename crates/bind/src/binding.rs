//! The note in a bound program: what it was, what it is, and from which libraries that was made.
//!
//! It is JSON text. Paths of what moves along with the program begin with `$ORIGIN`.

use std::path::{Path, PathBuf};

use coldstart_prove::{PathKind, SearchEdit, SearchPath};
use serde::{Deserialize, Serialize};

use crate::origin::{behind_origin, path, without_dots};
use crate::{BoundAuditLibrary, Mode};

/// The version of the note that is written; others are not read.
pub const BINDING_VERSION: u32 = 1;

/// How a program was bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// [`BINDING_VERSION`].
    pub version: u32,
    /// The release of coldstart that made it.
    pub coldstart: String,
    /// What was written.
    pub mode: Mode,
    /// Processor levels that were planned for, best first.
    pub levels: Vec<String>,
    /// The directory of links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub farm: Option<BoundFarm>,
    /// Where the original stood, if in another directory: its `$ORIGIN` is not the bound program's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_program: Option<String>,
    /// What the program needed before.
    pub original_needed: Vec<String>,
    /// Its search path before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_path: Option<SearchText>,
    /// `DT_RPATH` that stood beside a `DT_RUNPATH` and counted for nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_idle_rpath: Option<String>,
    /// What it needs now.
    pub needed: Vec<String>,
    /// Its search path now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<SearchText>,
    /// `DT_AUDIT` that was added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<String>,
    /// The file that was written there; none without `audit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit_library: Option<BoundAuditLibrary>,
    /// The libraries as they were, in load order; variants for levels behind them.
    pub libraries: Vec<BoundLibrary>,
}

/// The directory of links.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundFarm {
    /// As it stands on the search path.
    pub text: String,
    /// The links in it.
    pub links: Vec<BoundLink>,
}

/// A symbolic link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundLink {
    /// Its path in the directory of links.
    pub path: String,
    /// Its content.
    pub target: String,
}

/// A search path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchText {
    /// By which tag.
    pub kind: TagName,
    /// Directories with colons between them.
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

/// A library as it was when the program was bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundLibrary {
    /// The name asked for.
    pub name: String,
    /// The processor level whose variant it is; none for the plain library.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// Where the original program finds it; begins with `$ORIGIN` where that moves along.
    pub path: String,
    /// Size in bytes.
    pub size: u64,
    /// When its content last changed, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// Hexadecimal digits of its build id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_id: Option<String>,
    /// BLAKE3 of its content, where it has no build id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blake3: Option<String>,
}

/// Why a note cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum BindingError {
    /// Another version.
    #[error("the note was written by another version of coldstart (format {found}, this one reads {BINDING_VERSION})")]
    Version {
        /// What it says.
        found: u64,
    },
    /// It is no note of ours.
    #[error("the note cannot be read: {0}")]
    Text(#[from] serde_json::Error),
}

impl Binding {
    /// The text of the note; the same binding gives the same bytes.
    ///
    /// # Errors
    /// Never for a binding that was planned: all of it is text and numbers.
    pub fn to_json(&self) -> Result<String, BindingError> {
        Ok(serde_json::to_string(self)?)
    }

    /// Reads the text of a note.
    ///
    /// # Errors
    /// When it is of another version, or no such text.
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

    /// Whether it was foreseen that a file is tried in vain: a variant of a library, or one that keeps its own path.
    pub fn foresees(&self, program: &Path, tried: &Path) -> bool {
        let name = tried.file_name().and_then(|name| name.to_str());
        self.farm.as_ref().is_some_and(|farm| farm.is_variant(program, tried))
            || name.is_some_and(|name| self.keeps_path(name))
    }

    /// The edit that makes the bound program of the original.
    pub fn edit(&self) -> SearchEdit {
        SearchEdit {
            needed: self.needed.iter().map(|name| name.clone().into_bytes()).collect(),
            path: self.path.as_ref().map(SearchText::to_search_path),
            audit: self.audit.clone().map(String::into_bytes),
            loaded_note: None,
        }
    }

    /// Where the library that audits stands, for a program whose path has no symbolic links.
    pub fn audit_library_path(&self, program: &Path) -> Option<PathBuf> {
        self.audit.as_ref().map(|text| without_dots(&expanded(text, program)))
    }

    /// Whether the bound program searches for a library of this name beyond the directory of links, which has none for it: the
    /// library keeps its path.
    pub fn keeps_path(&self, name: &str) -> bool {
        let linked = self.farm.as_ref().is_none_or(|farm| farm.links.iter().any(|link| link.path == name));
        !linked && self.libraries.iter().any(|library| library.name == name)
    }

    /// The edit that makes the original's list and path of the bound program. `DT_AUDIT` is not taken away by it.
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

impl BoundFarm {
    /// Whether a file that was tried in vain is a variant of a library below the links, for a program whose path has no
    /// symbolic links.
    pub fn is_variant(&self, program: &Path, tried: &Path) -> bool {
        tried.strip_prefix(self.directory(program)).is_ok_and(|below| below.components().count() > 1)
    }

    /// Where it stands, for a program whose path has no symbolic links.
    pub fn directory(&self, program: &Path) -> PathBuf {
        without_dots(&expanded(&self.text, program))
    }
}

impl BoundLibrary {
    /// Where it stands, for a program whose path has no symbolic links.
    pub fn path(&self, program: &Path) -> PathBuf {
        expanded(&self.path, program)
    }
}

/// A text with `$ORIGIN` replaced by the program's directory.
fn expanded(text: &str, program: &Path) -> PathBuf {
    match behind_origin(text.as_bytes()) {
        Some(rest) => {
            let directory = program.parent().unwrap_or(Path::new("/"));
            path(&[crate::origin::bytes(directory), rest].concat()).to_owned()
        }
        None => PathBuf::from(text),
    }
}
