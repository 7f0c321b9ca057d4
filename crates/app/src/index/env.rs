//! The settings that make a program use an index, for wrappers and modulefiles.

use std::path::Path;

use anyhow::anyhow;
use coldstart_index::{OpenIndex, Syntax};
use coldstart_profile::printable;
use serde::Serialize;

use crate::error::{AppError, HintExt};

/// Settings.
#[derive(Clone, Debug, Serialize)]
pub struct EnvOutcome {
    /// Lines of a shell script or a modulefile.
    pub lines: Vec<String>,
}

/// The settings for an index.
///
/// # Errors
/// If the index cannot be read, or its name cannot be written in this syntax.
pub fn environment(index: &Path, syntax: Syntax) -> Result<EnvOutcome, AppError> {
    let index = OpenIndex::open(index)?;
    let lines = index.variables()?.iter().map(|variable| variable.line(syntax)).collect::<Option<_>>();
    let lines = lines
        .ok_or_else(|| anyhow!("the name `{}` cannot be written in this syntax", printable(&index.content)))
        .hint(|| "rename the index, with letters only")?;
    Ok(EnvOutcome { lines })
}
