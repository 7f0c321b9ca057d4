//! Where a launched program's output goes.

use std::path::PathBuf;

/// The program's standard output and standard error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Output {
    /// `/dev/null`.
    #[default]
    Null,
    /// Ours.
    Inherit,
    /// Both to one file, truncated first.
    File(PathBuf),
}
