//! What a user of this crate decides: the page, and the status of each request.

use std::sync::Arc;
use std::time::Instant;

use crate::{Request, Status};

/// One page in HTML, and what its script may ask for.
pub trait Site {
    /// Whether a connection is kept for further requests.
    const IS_PERSISTENT: bool;
    /// Header fields of every answer, beside those that all sites need.
    const FIELDS: &'static [(&'static str, &'static str)];

    /// The content of [`Status::Page`].
    fn page(&self) -> Arc<[u8]>;

    /// Takes a request that names our host and directory, received at `now`. Content of the answer to `HEAD` is left out afterwards.
    fn answer(&mut self, request: &Request<'_>, now: Instant) -> Status;
}
