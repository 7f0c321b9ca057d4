//! The envelope of every `--json` result.
//!
//! One object on stdout, whose first member says what the rest is: `"schema": "coldstart.<verb>/<version>"`. The version
//! goes up when a member changes its meaning or goes away; new members may appear at any time.

use serde::Serialize;

use crate::error::CliError;

/// A result with its schema in front.
#[derive(Serialize)]
pub(crate) struct Envelope<'a, T> {
    schema: &'a str,
    #[serde(flatten)]
    body: &'a T,
}

impl<'a, T: Serialize> Envelope<'a, T> {
    /// `body` must be a struct or a map.
    pub(crate) fn new(schema: &'a str, body: &'a T) -> Self {
        Self { schema, body }
    }
}

/// Prints `body`, which must be a struct or a map, with its schema in front.
pub(crate) fn print<T: Serialize>(schema: &str, body: &T) -> Result<(), CliError> {
    let mut text = serde_json::to_string_pretty(&Envelope::new(schema, body))?;
    text.push('\n');
    super::print(&text)
}
