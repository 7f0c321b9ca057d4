//! What a bound program loads, beside what its original would load.

use std::path::Path;

use coldstart_loader::{Closure, Environment, resolve};

use crate::subject::Subject;
use crate::{Binding, Files, Options, Program, Refusal};

/// Both closures, by the loader's rules.
#[derive(Clone, Debug)]
pub struct Searches {
    /// Of the original, from where it stood.
    pub before: Closure,
    /// Of the bound program.
    pub after: Closure,
}

/// Follows the searches of a bound program and of its original.
///
/// # Errors
/// When the program cannot be read.
pub fn searches(
    binding: &Binding,
    program: &Path,
    files: &impl Files,
    environment: &Environment,
) -> Result<Searches, Refusal> {
    let subject = original(binding, program, files, environment, &Options::default())?;
    let before = resolve(&subject.program, &subject.original(files), environment)?;
    let real = files.canonical(program).ok_or_else(|| Refusal::NoProgram(program.to_owned()))?;
    Ok(Searches { before, after: resolve(&real, files, environment)? })
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
