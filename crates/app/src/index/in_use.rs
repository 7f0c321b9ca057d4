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

    /// The options of a start, with the variables of the index if there is one.
    pub(crate) fn added_to(index: Option<&Self>, mut options: LaunchOptions) -> LaunchOptions {
        if let Some(index) = index {
            let variables = settings(&index.variables, &options);
            options.environment.extend(variables);
        }
        options
    }
}
