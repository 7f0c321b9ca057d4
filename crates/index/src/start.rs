//! Starting a program with an index: what must be set for it, and what is asked and read beforehand.
//!
//! The interpreter still checks everything itself: a program that edits a module before it imports it must get the new one. What is asked
//! here only fills the kernel's caches, many requests at the same time, where the interpreter would wait for one after the other.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use coldstart_profile::printable;
use coldstart_sys::named_file::open_regular;
use thiserror::Error;

use crate::guard::{Guard, changes, in_parallel};
use crate::language::Language;
use crate::manifest::{LanguageIndex, Manifest, ManifestError, SourceFile};
use crate::place::CURRENT;
use crate::variables::Variable;

/// Why a program cannot be started with an index.
#[derive(Debug, Error)]
pub enum StartError {
    /// Its manifest cannot be read.
    #[error("cannot use the index `{}`", printable(index))]
    Manifest {
        /// The index.
        index: PathBuf,
        /// Why.
        source: ManifestError,
    },
    /// The kernel's answer for its directory, or for a file without which an interpreter would not start.
    #[error("cannot use the index `{}`", printable(path))]
    Io {
        /// The index, or the file in it.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A language's variable cannot name the directory.
    #[error("an index for {} cannot be in `{}`: {}", language.name(), printable(content), reason(*character))]
    Name {
        /// The language.
        language: Language,
        /// The directory of the index's content.
        content: PathBuf,
        /// The character in its name, as of [`Variable::of`].
        character: char,
    },
}

fn reason(character: char) -> String {
    match character {
        char::REPLACEMENT_CHARACTER => "its name is not UTF-8".to_owned(),
        character => format!("`{character}` separates entries of the variable that names it"),
    }
}

impl StartError {
    fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Manifest { .. } | Self::Io { .. } => None,
            Self::Name { .. } => Some("name a directory whose path has no such character"),
        }
    }
}

coldstart_hint::hinted!(StartError);

/// An index that was opened by name.
#[derive(Clone, Debug)]
pub struct OpenIndex {
    /// Its content's directory, absolute as the interpreters need it.
    pub content: PathBuf,
    /// What it is for and depends on.
    pub manifest: Manifest,
}

impl OpenIndex {
    /// Opens an index by name.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn open(index: &Path) -> Result<Self, StartError> {
        let manifest =
            Manifest::read(index).map_err(|source| StartError::Manifest { index: index.to_owned(), source })?;
        let absolute = index.canonicalize().map_err(|source| StartError::Io { path: index.to_owned(), source })?;
        Ok(Self { content: absolute.join(CURRENT), manifest })
    }

    /// The variables of its languages.
    ///
    /// # Errors
    /// [`StartError::Name`].
    pub fn variables(&self) -> Result<Vec<Variable>, StartError> {
        let languages = self.manifest.languages.iter().map(|part| part.language);
        let of_each: Result<Vec<_>, _> = languages.map(|language| variables_of(&self.content, language)).collect();
        Ok(of_each?.into_iter().flatten().collect())
    }

    /// Asks all that the interpreters will check, at the same time, and has the kernel read the index's own files and those that a
    /// start opens. All of it is only advice.
    fn ask_ahead(&self) {
        let parts = &self.manifest.languages;
        for part in parts {
            for entry in std::fs::read_dir(self.content.join(part.language.directory())).into_iter().flatten().flatten()
            {
                read_ahead(&entry.path());
            }
        }
        // What has changed is found by the interpreter again, which then searches itself.
        let _ = changes(&parts.iter().flat_map(asked).collect::<Vec<_>>());
        // A file that is missing is remembered by the kernel as well.
        let files: Vec<&[u8]> = parts.iter().flat_map(|part| &part.read_ahead).map(Vec::as_slice).collect();
        in_parallel(&files, |_, file| read_ahead(Path::new(OsStr::from_bytes(file))));
    }
}

/// Prepares a start with an index: asks all that the interpreter will check, in parallel, so that its own questions find their answers in
/// the kernel's caches; and has the data read. Returns the variables to set, with their values.
///
/// Threads are used, which have ended at the return.
///
/// # Errors
/// If the index cannot be used. The program can be started without it.
pub fn prepare(index: &Path) -> Result<Vec<(OsString, OsString)>, StartError> {
    let index = OpenIndex::open(index)?;
    let variables = index.variables()?;
    for file in variables.iter().filter_map(|variable| variable.needs.as_ref()) {
        open_regular(file).map_err(|source| StartError::Io { path: file.clone(), source })?;
    }
    index.ask_ahead();
    Ok(variables.iter().map(|variable| (variable.name.into(), variable.value_now())).collect())
}

/// The variables for a language, with an index's content in a directory, which must be absolute.
///
/// # Errors
/// [`StartError::Name`].
pub fn variables_of(content: &Path, language: Language) -> Result<Vec<Variable>, StartError> {
    Variable::of(language, content).map_err(|character| StartError::Name {
        language,
        content: content.to_owned(),
        character,
    })
}

/// What the interpreter will check.
fn asked(part: &LanguageIndex) -> impl Iterator<Item = Guard> {
    let source = |source: &SourceFile| Guard { path: source.path.clone(), identity: Some(source.identity) };
    part.guards.iter().cloned().chain(part.sources.iter().map(source))
}

fn read_ahead(path: &Path) {
    if let Ok(file) = open_regular(path) {
        let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::WillNeed);
    }
}
