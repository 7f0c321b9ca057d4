//! The envelope of every `--json` result.
//!
//! One object on stdout, whose first member says what the rest is: `"schema": "coldstart.<verb>/<version>"`. The version
//! goes up when a member changes its meaning or goes away; new members may appear at any time. Errors that were printed to
//! stderr are in `error`, the first, and `further_errors`, each with its `message` and `hints`. A verb that an error kept from
//! having a result prints an object of the schema `coldstart.error/1`, which has nothing else.

use coldstart_app::error::AppError;
use serde::Serialize;

use super::printed::PrintedErrors;

/// A result with its schema in front.
#[derive(Serialize)]
pub(crate) struct Envelope<'a, T> {
    schema: &'a str,
    #[serde(flatten)]
    body: &'a T,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    errors: Option<PrintedErrors>,
}

impl<'a, T: Serialize> Envelope<'a, T> {
    /// `body` must be a struct or a map.
    pub(crate) fn new(schema: &'a str, body: &'a T) -> Self {
        Self { schema, body, errors: None }
    }
}

/// Prints `body`, which must be a struct or a map, with its schema in front and the errors that were printed so far behind.
pub(crate) fn print<T: Serialize>(schema: &str, body: &T) -> Result<(), AppError> {
    let envelope = Envelope { errors: PrintedErrors::so_far(), ..Envelope::new(schema, body) };
    let mut text = serde_json::to_string_pretty(&envelope)?;
    text.push('\n');
    super::print(&text)
}

/// Prints the errors of a verb with `--json` to stdout as one object, unless the verb has printed its own.
pub(crate) fn print_errors() {
    #[derive(Serialize)]
    struct NoResult {}

    if !super::has_result() {
        // They are already on stderr, as are errors of stdout.
        let _ = print("coldstart.error/1", &NoResult {});
    }
}
