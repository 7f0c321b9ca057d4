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
mod show;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use coldstart_index::providers::Providers;
use coldstart_index::{Language, LanguageIndex, Variable};
use coldstart_profile::printable;

pub use coldstart_index::prepare;

pub use check::{ChangedPath, CheckOutcome, LanguageChanges, check};
pub use env::{EnvOutcome, environment};
pub use make::{MadeLanguage, MakeOptions, MakeOutcome, make};
pub use show::{ShowOutcome, ShownLanguage, show};

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

/// The variables as they are set for a program.
fn settings(variables: &[Variable]) -> Vec<(OsString, Option<OsString>)> {
    variables.iter().map(|variable| (variable.name.into(), Some(variable.value_now()))).collect()
}
