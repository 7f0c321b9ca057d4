//! Compares what a bound program loads with what its original would load.

use std::path::{Path, PathBuf};

use coldstart_loader::{Closure, Environment, FoundBy, Identity, LoadedObject, Probe, resolve};
use serde::Serialize;

use crate::audit::{self, Found, Place, Table};
use crate::audit_library::table_at;
use crate::origin::{path, without_dots};
use crate::subject::Subject;
use crate::{Binding, Files, Options, Program, Refusal};

/// Both closures, by the loader's rules.
#[derive(Clone, Debug)]
pub struct Searches {
    /// Of the original, at its original path.
    pub before: Closure,
    /// Of the bound program. The rules do not model auditing libraries: in mode `audit` it is the closure of a start
    /// without one.
    pub after: Closure,
    /// The auditing library's results that differ from the original's search.
    pub misled: Vec<Misled>,
}

/// A result of an auditing library that differs from the loader's own search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Misled {
    /// The requested name.
    pub library: String,
    /// The requesting object.
    pub requester: PathBuf,
    /// The path where the original finds it.
    pub was: PathBuf,
    /// The table's path.
    pub answer: PathBuf,
    /// Whether a loadable file exists there.
    pub is_there: bool,
}

/// Resolves a bound program and its original.
///
/// # Errors
/// If the program cannot be read.
pub fn searches(
    binding: &Binding,
    program: &Path,
    files: &impl Files,
    environment: &Environment,
) -> Result<Searches, Refusal> {
    let subject = original(binding, program, files, environment, &Options::default())?;
    let before = resolve(&subject.program, &subject.original(files), environment)?;
    let real = files.canonical(program).ok_or_else(|| Refusal::NoProgram(program.to_owned()))?;
    let table = binding.audit_library_path(&real).and_then(|library| table_at(&library));
    let misled = table.map(|table| misled(&table, &before, &real, files)).unwrap_or_default();
    Ok(Searches { misled, before, after: resolve(&real, files, environment)? })
}

/// The results for the objects of a start that differ from their own search.
fn misled(table: &Table, before: &Closure, program: &Path, files: &impl Files) -> Vec<Misled> {
    let place = |place: &Place| match place {
        Place::Absolute(text) => path(text).to_owned(),
        Place::FromProgram(text) => without_dots(&program.parent().unwrap_or(Path::new("/")).join(path(text))),
    };
    let identity = |path: &Path| match files.object(path) {
        Probe::Object { identity, .. } => Some(identity),
        _ => None,
    };
    // By file, not by spelling: a requester may itself be loaded by the path in the table.
    let is_requester = |known: &audit::Requester, asks: &LoadedObject| match known {
        audit::Requester::Program => asks.found_by == FoundBy::Program,
        audit::Requester::Library(at) => identity(&place(at)) == Some(asks.identity),
    };
    let answer = |asks: &LoadedObject, name: &[u8]| -> Option<&Found> {
        let group = table.groups.iter().find(|group| group.requesters.iter().any(|known| is_requester(known, asks)));
        group.and_then(|group| group.entries.get(name)).or_else(|| table.for_all.get(name))
    };
    let wrong = |object: &LoadedObject| {
        // Loaded objects are not requested.
        if matches!(object.found_by, FoundBy::Program | FoundBy::Interpreter) {
            return None;
        }
        let asks = before.objects.get(object.requester?)?;
        let answer = place(&answer(asks, &object.name_asked)?.place);
        let found: Option<Identity> = identity(&answer);
        let searches_on = found.is_none() && table.check_files;
        (found != Some(object.identity) && !searches_on).then(|| Misled {
            library: String::from_utf8_lossy(&object.name_asked).into_owned(),
            requester: asks.path.clone(),
            was: object.path.clone(),
            answer,
            is_there: found.is_some(),
        })
    };
    before.objects.iter().filter_map(wrong).collect()
}

/// The original of a bound program.
pub(crate) fn original(
    binding: &Binding,
    program: &Path,
    files: &impl Files,
    environment: &Environment,
    options: &Options,
) -> Result<Subject, Refusal> {
    let options = Options { rebind: true, allow_secure: true, ..options.clone() };
    let bound = Program { path: program.to_owned(), binding: Some(binding.clone()), ..Program::default() };
    Subject::of(&bound, files, environment, &options)
}
