//! Why a page cannot be written.

use thiserror::Error;

/// Why a page cannot be written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PageError {
    /// The viewer would end its own element, and the rest would be parsed as HTML.
    #[error("the viewer's {part} cannot be embedded in a page: it contains `{what}`")]
    Viewer {
        /// "script" or "style".
        part: &'static str,
        /// What must not be in it.
        what: &'static str,
    },
    /// What is to be in the page is not JSON.
    #[error("cannot serialise the page's data as JSON")]
    Json(#[from] serde_json::Error),
    /// The data could not be packed.
    #[error("cannot compress the page's data")]
    Pack(#[from] std::io::Error),
}
