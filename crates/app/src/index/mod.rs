//! `index`: make, use, check and show indexes of module directories.

mod answer;
mod check;
mod compare;
mod env;
mod guile;
mod interpreter;
mod make;
mod node;
mod observed;
mod perl;
mod python;
mod ruby;
mod run;
mod show;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use coldstart_index::providers::Providers;
use coldstart_index::{CURRENT, Language, LanguageIndex, Manifest, Variable};
use coldstart_profile::printable;

use crate::error::{AppError, HintExt};

pub use check::{ChangedPath, CheckOutcome, LanguageChanges, check};
pub use env::{EnvOutcome, environment};
pub use make::{MadeLanguage, MakeOptions, MakeOutcome, make};
pub use run::{Prepared, prepare};
pub use show::{ShowOutcome, ShownLanguage, show};

/// Reads an index by name; returns its content's directory, absolute as the interpreters need it.
fn open(index: &Path) -> Result<(PathBuf, Manifest), AppError> {
    let named = || format!("cannot use the index `{}`", printable(index));
    let manifest = Manifest::read(index).with_context(named)?;
    let absolute = index.canonicalize().with_context(named)?;
    Ok((absolute.join(CURRENT), manifest))
}

/// Notes which directories are left to an interpreter, and why.
fn note_unknown<'a>(unknown: impl Iterator<Item = (&'a Path, &'a str)>, language: Language, notes: &mut Vec<String>) {
    notes.extend(
        unknown.map(|(path, reason)| format!("`{}` is left to {}: {reason}", printable(path), language.name())),
    );
}

/// What an index has for a language without a pack of code.
fn of_providers(
    language: Language,
    interpreter: PathBuf,
    version: String,
    missing: u64,
    providers: &Providers,
) -> LanguageIndex {
    LanguageIndex {
        language,
        interpreter,
        version,
        modules: providers.name_count() as u64,
        missing,
        guards: providers.guards().to_vec(),
        sources: Vec::new(),
        pack_bytes: 0,
        read_ahead: providers.files.iter().map(|file| file.as_os_str().as_encoded_bytes().to_vec()).collect(),
    }
}

/// The variables of an index's languages, with its content in a directory.
fn variables(content: &Path, languages: &[LanguageIndex]) -> Result<Vec<Variable>, AppError> {
    let of_each: Result<Vec<_>, _> = languages.iter().map(|part| variables_of(content, part.language)).collect();
    Ok(of_each?.into_iter().flatten().collect())
}

fn variables_of(content: &Path, language: Language) -> Result<Vec<Variable>, AppError> {
    Variable::of(language, content)
        .map_err(|character| {
            let reason = match character {
                char::REPLACEMENT_CHARACTER => "its name is not UTF-8".to_owned(),
                character => format!("`{character}` separates entries of the variable that names it"),
            };
            anyhow!("an index for {} cannot be in `{}`: {reason}", language.name(), printable(content))
        })
        .hint(|| "name a directory whose path has no such character")
}

/// The variables as they are set for a program.
fn settings(variables: &[Variable]) -> Vec<(OsString, Option<OsString>)> {
    let value = |variable: &Variable| variable.value(std::env::var_os(variable.name).as_deref());
    variables.iter().map(|variable| (variable.name.into(), Some(value(variable)))).collect()
}
