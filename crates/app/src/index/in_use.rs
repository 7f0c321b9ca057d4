//! A start with an index that is recorded, measured or compared: its variables, without a launcher.

use std::path::{Path, PathBuf};

use coldstart_index::{OpenIndex, Variable};
use coldstart_launch::LaunchOptions;

use super::settings;
use crate::error::AppError;

/// An index with which a program is started.
#[derive(Clone, Debug)]
pub struct IndexInUse {
    /// Absolute, without links.
    directory: PathBuf,
    variables: Vec<Variable>,
}

impl IndexInUse {
    /// Opens an index by name.
    ///
    /// # Errors
    /// If it cannot be read, or a variable cannot name it.
    pub fn open(index: &Path) -> Result<Self, AppError> {
        let open = OpenIndex::open(index)?;
        let directory = open.content.parent().unwrap_or(index).to_owned();
        Ok(Self { directory, variables: open.variables()? })
    }

    /// Where it lies.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The options of a start, with its variables.
    pub(crate) fn added_to(&self, options: &LaunchOptions) -> LaunchOptions {
        let mut options = options.clone();
        options.environment.extend(settings(&self.variables, &options));
        options
    }
}
