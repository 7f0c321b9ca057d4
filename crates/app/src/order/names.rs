//! Names for a traced object that may be stripped: from itself, its debug file, a file that the user names, or a server.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use coldstart_profile::printable;
use coldstart_symbols::{LinkerNames, linker_names};

use super::debuginfod;
use super::traced::{TracedStart, difference};
use crate::error::{AppError, HintExt};

/// The names of a traced object, and their file.
pub(super) struct Named {
    pub(super) names: LinkerNames,
    pub(super) source: PathBuf,
}

impl Named {
    /// The names of a file.
    ///
    /// # Errors
    /// If it cannot be read, or is stripped and has no debug file.
    pub(super) fn read(path: &Path) -> Result<Self, AppError> {
        let names = complete(path)?;
        let source = names.debug_file.clone().unwrap_or_else(|| path.to_owned());
        Ok(Self { names, source })
    }

    fn checked(self, start: &TracedStart) -> Result<Self, AppError> {
        match difference(&start.object, &self.names) {
            Some(reason) => {
                Err(anyhow!("`{}` is another build than the traced one: {reason}", printable(&self.source))).hint(|| {
                    "name the unstripped file, or the debug file, of the traced build with --symbols, or trace this build"
                })
            }
            None => Ok(self),
        }
    }
}

/// Finds the names of a traced object, unless they were given, and checks that they are of the same build.
///
/// # Errors
/// If there are none, or they are of another build.
pub(super) fn of_traced(start: &TracedStart, given: Option<Named>, ask_server: bool) -> Result<Named, AppError> {
    if let Some(given) = given {
        return given.checked(start);
    }
    let own = Named::read(&start.object_path).and_then(|own| own.checked(start));
    if own.is_ok() || !ask_server {
        return own;
    }
    let Some(build_id) = &start.object.build_id else {
        return Err(anyhow!("`{}` has no build id for which a server could be asked", printable(&start.object_path)))
            .hint(|| "name a file with its symbols: --symbols FILE");
    };
    Named::read(&debuginfod::debug_file(build_id)?)?.checked(start)
}

/// The names of a file with a symbol table, or with a debug file.
///
/// # Errors
/// If it cannot be read, or is stripped and has no debug file.
pub(super) fn complete(path: &Path) -> Result<LinkerNames, AppError> {
    let names = linker_names(path)?;
    if !names.is_complete {
        return Err(anyhow!("`{}` is stripped, and no debug file of it is here", printable(path))).hint(|| {
            "name a file with its symbols (--symbols FILE), ask servers (--debuginfod), or install its package of debug symbols"
        });
    }
    Ok(names)
}
