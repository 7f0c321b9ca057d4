//! The map of an object as a picture, and the start as text.

use std::io::IsTerminal;

use anyhow::anyhow;
use coldstart_profile::trace::FileId;
use coldstart_view::comparison::Comparison;
use coldstart_view::map::{self, MapOptions, ObjectMap, Overlay, choose};
use coldstart_view::terminal::{self, Characters, TerminalOptions};
use terminal_size::{Height, Width, terminal_size};

use super::sources::Source;
use crate::args::view::{Theme, ViewArgs};
use crate::error::{CliError, HintExt};
use crate::output::charset::either;
use crate::output::path::printable;

/// The map of one object.
pub(super) struct Picture {
    /// The object's path, as it can be shown.
    pub(super) path: String,
    map: ObjectMap,
}

impl Picture {
    /// The map of the object that is asked for, with what the other start touched of it drawn over.
    ///
    /// # Errors
    /// When the name means no object or several, or the other trace has not the one that it means.
    pub(super) fn of(source: &Source, other: Option<&Source>, args: &ViewArgs) -> Result<Self, CliError> {
        let file =
            choose(&source.trace, args.object.as_deref()).map_err(CliError::from).map_err(|error| match other {
                // Of two, it must be said which.
                Some(_) => error.within(format!("cannot map `{}`", source.name)),
                None => error,
            })?;
        let path = source.trace.file(file).map_or_else(String::new, |file| printable(&file.path));
        let overlay = other.map(|other| overlay(source, other, file, &path)).transpose()?;
        let defaults = MapOptions::default();
        let (width, height) = args.size.map_or((defaults.width, defaults.height), |size| (size.width, size.height));
        let theme = match args.theme {
            None | Some(Theme::Light) => map::Theme::Light,
            Some(Theme::Dark) => map::Theme::Dark,
        };
        let label = other.map(|_| source.name.as_str());
        let options = MapOptions { width, height, theme, label, other: overlay, time: None };
        Ok(Self { path, map: ObjectMap::of(&source.trace, &source.figures, file, &options)? })
    }

    pub(super) fn svg(&self) -> String {
        self.map.svg()
    }

    pub(super) fn png(&self) -> Result<Vec<u8>, CliError> {
        Ok(self.map.png()?)
    }
}

fn overlay<'a>(source: &Source, other: &'a Source, file: FileId, path: &str) -> Result<Overlay<'a>, CliError> {
    let partners = Comparison::of(&source.as_trace(), &other.as_trace()).partners;
    let partner = usize::try_from(file.0).ok().and_then(|place| partners.get(place).copied().flatten());
    let partner = partner
        .ok_or_else(|| anyhow!("`{}` has no file that stands for `{path}`", other.name))
        .hint(|| "name an object that both starts used with --object, or draw each by itself")?;
    Ok(Overlay { trace: &other.trace, file: partner, label: Some(&other.name) })
}

/// The start as text that fits into the terminal, where there is one.
pub(super) fn text(source: &Source, args: &ViewArgs) -> Result<String, CliError> {
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
        object: args.object.as_deref(),
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
