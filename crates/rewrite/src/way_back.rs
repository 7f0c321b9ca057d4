//! Whether a rewritten file carries what restores the original.

use serde::{Deserialize, Serialize};

/// Whether a rewritten file holds what restores its original.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WayBack {
    /// It does.
    #[default]
    Kept,
    /// It was left out, as asked for.
    Declined,
    /// It was left out, because it would take more room than is reasonable.
    TooLong,
}
