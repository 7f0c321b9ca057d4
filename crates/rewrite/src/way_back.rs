//! Whether a rewritten file has undo data.

use serde::{Deserialize, Serialize};

/// Whether a rewritten file has undo data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WayBack {
    /// It has.
    #[default]
    Kept,
    /// Omitted, as requested.
    Declined,
    /// Omitted, because it would have been too large.
    TooLong,
}
