//! The start as text.

use std::io::IsTerminal;

use coldstart_app::view::Source;
use coldstart_view::terminal::{self, Characters, TerminalOptions};
use terminal_size::{Height, Width, terminal_size};

use crate::error::CliError;
use crate::output::charset::either;

/// The start as text that fits into the terminal, where there is one.
pub(super) fn text(source: &Source, object: Option<&str>) -> Result<String, CliError> {
    let defaults = TerminalOptions::default();
    let size = if std::io::stdout().is_terminal() { terminal_size() } else { None };
    let (width, height) =
        size.map_or((defaults.width, defaults.height), |(Width(width), Height(height))| (width, height));
    // A file or a pipe may be given a width by hand, as other programs take it.
    let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let options = TerminalOptions {
        width: told.unwrap_or(width),
        // The prompt comes back below it.
        height: height.saturating_sub(1),
        object,
        characters: characters(),
        // Taken off again where there is no terminal.
        colour: true,
    };
    Ok(terminal::text(&source.name, &source.trace, &source.figures, &options)?)
}

/// Braille, unless the locale's characters are not UTF-8 or the terminal is known to have no such letters.
fn characters() -> Characters {
    let is_plain = std::env::var("TERM").is_ok_and(|terminal| matches!(terminal.as_str(), "dumb" | "linux"));
    if is_plain { Characters::Ascii } else { either(Characters::Braille, Characters::Ascii) }
}
