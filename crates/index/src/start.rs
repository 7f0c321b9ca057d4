//! Starting a program with an index: what must be set for it.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use coldstart_profile::printable;
use coldstart_sys::named_file::open_regular;
use thiserror::Error;

use crate::ahead::{Checks, ask_ahead};
use crate::language::Language;
use crate::manifest::{Manifest, ManifestError};
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
}

/// What a start with an index needs.
#[derive(Clone, Debug)]
pub struct PreparedStart {
    /// The variables to set, with their values.
    pub variables: Vec<(OsString, OsString)>,
    index: PathBuf,
    checks: Checks,
}

impl PreparedStart {
    /// What the user should know: an index most of which the interpreter will not use, because what it depends on was replaced. An index
    /// that was made on a file server, for one, is not believed where the server's disk is mounted by the network: devices differ.
    pub fn warning(&self) -> Option<String> {
        let Self { index, checks: Checks { made, replaced }, .. } = self;
        (replaced * 2 > *made).then(|| {
            let index = printable(index);
            format!(
                "the index `{index}` is of little use: {replaced} of {made} directories and files that it depends on are other ones here \
                 (`coldstart index check {index}` lists them); make it again where the program runs"
            )
        })
    }
}

/// Prepares a start with an index: asks all that the interpreter will check, in parallel, so that its own questions find their answers in
/// the kernel's caches; and has the data read.
///
/// Threads are used, which have ended at the return.
///
/// # Errors
/// If the index cannot be used. The program can be started without it.
pub fn prepare(index: &Path) -> Result<PreparedStart, StartError> {
    let open = OpenIndex::open(index)?;
    let variables = open.variables()?;
    for file in variables.iter().filter_map(|variable| variable.needs.as_ref()) {
        open_regular(file).map_err(|source| StartError::Io { path: file.clone(), source })?;
    }
    let checks = ask_ahead(&open.content, &open.manifest);
    let variables = variables.iter().map(|variable| (variable.name.into(), variable.value_now())).collect();
    Ok(PreparedStart { variables, index: index.to_owned(), checks })
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
