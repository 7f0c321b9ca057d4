//! What a program loads, for one set of processor levels, and by which path each name was found.

mod levels;
mod recorder;

use std::path::{Path, PathBuf};

use coldstart_loader::{Closure, Environment, FileSystem, FoundBy, Hwcaps, Known, Request, resolve};

pub(crate) use levels::{Legacy, level_sets, with_all_legacy_folders};
use recorder::Recorder;

use crate::Refusal;

/// What a program loads, and by which path each name was found.
#[derive(Debug)]
pub(crate) struct Survey {
    pub(crate) closure: Closure,
    /// For each request, the path of the file that was opened for it; none when a loaded object answered.
    pub(crate) opened: Vec<Option<PathBuf>>,
}

impl Survey {
    /// Resolves `program` with the given subfolders.
    ///
    /// # Errors
    /// When something is missing, or the start would end.
    pub(crate) fn of(
        program: &Path,
        files: &impl FileSystem,
        environment: &Environment,
        hwcaps: Hwcaps,
    ) -> Result<Self, Refusal> {
        let recorder = Recorder::over(files);
        let environment = Environment { hwcaps, ..environment.clone() };
        let closure = resolve(program, &recorder, &environment)?;
        startable(&closure)?;
        // The first two are the program and its interpreter, which nobody has asked for.
        let mut seen = recorder.into_seen().into_iter().skip(2);
        let opened = closure.requests.iter().map(|request| {
            if !opens_file(request) {
                return None;
            }
            // Files that did not fit were looked at, too; the one that fits is the object that answers.
            let object = closure.objects.get(request.object?)?;
            seen.find(|(_, identity)| *identity == object.identity).map(|(path, _)| path)
        });
        let opened = opened.collect();
        Ok(Self { closure, opened })
    }

    /// Requests with the file that was opened for each.
    pub(crate) fn requests(&self) -> impl Iterator<Item = (&Request, Option<&PathBuf>)> {
        self.closure.requests.iter().zip(self.opened.iter().map(Option::as_ref))
    }
}

/// Whether the loader opened a file to answer.
fn opens_file(request: &Request) -> bool {
    match request.found_by {
        None | Some(FoundBy::Interpreter | FoundBy::Program) => false,
        Some(FoundBy::AlreadyLoaded(known)) => known == Known::SameFile,
        Some(_) => true,
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
