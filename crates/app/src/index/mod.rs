//! `index`: make, use, check and show indexes of module directories.

mod answer;
mod check;
mod compare;
mod env;
mod guile;
mod in_use;
mod interpreter;
mod make;
mod node;
mod observed;
mod perl;
mod preload;
mod python;
mod ruby;
mod show;

use std::ffi::OsString;
use std::fmt::Display;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use coldstart_index::providers::Providers;
use coldstart_index::{IndexPlace, Language, LanguageIndex, Variable};
use coldstart_launch::LaunchOptions;
use coldstart_profile::printable;

use crate::error::AppError;

pub use coldstart_index::prepare;

pub use check::{ChangedPath, CheckOutcome, LanguageChanges, check};
pub use env::{EnvOutcome, environment};
pub use in_use::IndexInUse;
pub(crate) use interpreter::languages;
pub(crate) use make::make_with;
pub use make::{MadeLanguage, MakeOptions, MakeOutcome, make};
pub(crate) use observed::observed;
pub use show::{ShowOutcome, ShownLanguage, show};

/// Notes which directories are left to an interpreter, and why.
fn note_unknown(
    unknown: impl IntoIterator<Item = (impl AsRef<Path>, impl Display)>,
    language: Language,
    notes: &mut Vec<String>,
) {
    notes.extend(
        unknown
            .into_iter()
            .map(|(path, reason)| format!("`{}` is left to {}: {reason}", printable(path.as_ref()), language.name())),
    );
}

/// Keeps a pack to its maker, if not all of its sources are public, and returns its size in bytes.
fn finish_pack(place: &IndexPlace, name: &str, is_public: bool) -> Result<u64, AppError> {
    let pack = place.directory().join(name);
    if !is_public {
        fs::set_permissions(&pack, fs::Permissions::from_mode(0o600)).context("cannot protect the pack")?;
    }
    Ok(fs::metadata(&pack).map_or(0, |found| found.len()))
}

/// Removes what only the making needed.
fn remove_temporaries(place: &IndexPlace, names: &[&str]) -> Result<(), AppError> {
    Ok(names
        .iter()
        .try_for_each(|name| fs::remove_file(place.directory().join(name)))
        .context("cannot remove a temporary file")?)
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

/// The variables as they are set for a program that is started with these options.
fn settings(variables: &[Variable], options: &LaunchOptions) -> Vec<(OsString, Option<OsString>)> {
    let value = |variable: &Variable| {
        let given = options.environment.iter().rev().find(|(name, _)| *name == *variable.name);
        given.map_or_else(|| variable.value_now(), |(_, before)| variable.value(before.as_deref()))
    };
    variables.iter().map(|variable| (variable.name.into(), Some(value(variable)))).collect()
}
