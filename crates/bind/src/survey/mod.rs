//! What a program loads for one set of processor levels, and the path by which each name was found.

mod levels;

use std::path::{Path, PathBuf};

use coldstart_loader::{Closure, Environment, FileSystem, Hwcaps, Request, resolve};

pub(crate) use levels::{Legacy, level_sets, with_all_legacy_directories};

use crate::Refusal;

/// What a program loads, and the path by which each name was found.
#[derive(Debug)]
pub(crate) struct Survey {
    pub(crate) closure: Closure,
}

impl Survey {
    /// Resolves `program` with the given subdirectories.
    ///
    /// # Errors
    /// If a library is missing, or the start would end.
    pub(crate) fn of(
        program: &Path,
        files: &impl FileSystem,
        environment: &Environment,
        hwcaps: Hwcaps,
    ) -> Result<Self, Refusal> {
        let environment = Environment { hwcaps, ..environment.clone() };
        let closure = resolve(program, files, &environment)?;
        startable(&closure)?;
        Ok(Self { closure })
    }

    /// Requests with the file that was opened for each.
    pub(crate) fn requests(&self) -> impl Iterator<Item = (&Request, Option<&PathBuf>)> {
        self.closure.requests.iter().map(|request| (request, request.opened.as_ref()))
    }
}

/// Refuses a program that does not start.
pub(crate) fn startable(closure: &Closure) -> Result<(), Refusal> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if let Some(stopped) = &closure.stopped {
        return Err(Refusal::WouldStop {
            library: text(&stopped.needed),
            path: stopped.path.clone(),
            reason: stopped.reason.clone(),
        });
    }
    if let Some(missing) = closure.missing.first() {
        let needed_by = closure.objects.get(missing.requester).map(|object| object.path.clone()).unwrap_or_default();
        let others = closure.missing.len().saturating_sub(1);
        return Err(Refusal::Missing { library: text(&missing.needed), needed_by, others });
    }
    Ok(())
}
