//! A start as text: its phases as lanes, the map of one object in Braille dots, touches by time and by section.
//!
//! The same [`ObjectMap`] as that of the picture is laid out in columns and lines. What a newcomer would not guess:
//! colour only repeats what letters, rows and words say, so that nothing is lost in a file or a pipe.

mod canvas;
mod lanes;
mod rows;
mod sheet;

use coldstart_profile::trace::Trace;
use coldstart_profile::trace::figures::Figures;

use crate::map::words::{command, counted, harmless_text};
use crate::map::{MapError, MapOptions, ObjectMap, choose};
use crate::outcome;
use sheet::{Ink, Sheet};

/// How the text is to look.
#[derive(Clone, Copy, Debug)]
pub struct TerminalOptions<'name> {
    /// Columns; kept within [`TerminalOptions::WIDTHS`].
    pub width: u16,
    /// Lines that the text may take; the map takes what the rest leaves, and [`TerminalOptions::LOWEST`] lines at
    /// least.
    pub height: u16,
    /// The object on the map, as [`choose`] takes it; `None`: the one that was touched most.
    pub object: Option<&'name str>,
    /// Whether to put in escape sequences for colours.
    pub colour: bool,
    /// What to draw with.
    pub characters: Characters,
}

/// What to draw with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Characters {
    /// Braille patterns, eight dots to a character.
    #[default]
    Braille,
    /// A letter for each kind, and nothing beyond ASCII.
    Ascii,
}

impl TerminalOptions<'_> {
    /// Narrower, labels leave no room; wider, eyes get lost.
    pub const WIDTHS: (u16, u16) = (40, 400);
    /// Lines of the lowest map.
    pub const LOWEST: u16 = 8;
    const HIGHEST: u16 = 200;
}

impl Default for TerminalOptions<'_> {
    fn default() -> Self {
        Self { width: 100, height: 40, object: None, colour: false, characters: Characters::default() }
    }
}

/// The start in lines of text; `source` is what to call the trace.
///
/// Escape sequences are there for colours alone, and only if they were asked for: names in the trace are made harmless.
///
/// # Errors
///
/// If the object cannot be chosen.
pub fn text(source: &str, trace: &Trace, figures: &Figures, options: &TerminalOptions<'_>) -> Result<String, MapError> {
    let file = match choose(trace, options.object) {
        // Phases are worth showing without any pages.
        Err(MapError::NothingTouched) => None,
        file => Some(file?),
    };
    let map = file.map(|file| ObjectMap::of(trace, figures, file, &MapOptions::default())).transpose()?;
    let width = options.width.clamp(TerminalOptions::WIDTHS.0, TerminalOptions::WIDTHS.1);
    let mut sheet = Sheet::new(width, options.characters);
    head(&mut sheet, source, trace, map.as_ref());
    let end = map.as_ref().map_or(trace.run.ready_at.unwrap_or(trace.run.ended_at).0, |map| map.time.1).max(1);
    lanes::draw(&mut sheet, trace, end);
    match &map {
        Some(map) => {
            // How many lines the rest takes is best known by setting it.
            let mut rest = Sheet::new(width, options.characters);
            canvas::head(&mut rest, map);
            below(&mut rest, map);
            let taken = sheet.height().saturating_add(rest.height()).saturating_add(canvas::around(map));
            let room = options.height.min(sheet.highest()).saturating_sub(taken);
            canvas::head(&mut sheet, map);
            canvas::draw(&mut sheet, map, room.clamp(TerminalOptions::LOWEST, TerminalOptions::HIGHEST));
            below(&mut sheet, map);
        }
        None => {
            sheet.line("");
            let nothing = MapError::NothingTouched;
            let words = nothing.hint().map_or_else(|| nothing.to_string(), |hint| format!("{nothing}; {hint}"));
            sheet.prose(&words, Ink::Plain);
        }
    }
    Ok(sheet.finish(options.colour))
}

/// What is below the map.
fn below(sheet: &mut Sheet, map: &ObjectMap) {
    rows::draw(sheet, map);
    sheet.line("");
    map.notes.iter().for_each(|note| sheet.prose(note, Ink::Muted));
}

/// What was started, how, and what came of it.
fn head(sheet: &mut Sheet, source: &str, trace: &Trace, map: Option<&ObjectMap>) {
    sheet.styled(&harmless_text(source), Ink::Bold);
    let facts: Vec<String> = match map {
        Some(map) => map.facts.iter().skip(1).cloned().collect(),
        None => vec![command(&trace.run)],
    };
    facts.iter().for_each(|fact| sheet.prose(fact, Ink::Plain));
    let run = &trace.run;
    let ready = harmless_text(&outcome::ready(run));
    let events = counted(trace.events.len() as u64, "event");
    let processes = trace.processes.len() as u64;
    let images = counted(processes, "program image");
    sheet.prose(&format!("ready: {ready} · {images} · {events}"), Ink::Plain);
}
