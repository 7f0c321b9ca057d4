//! The palette in one theme.

use super::dots::DotKind;
use super::options::Theme;
use crate::palette::{Colour, Palette};

/// The palette in one theme; a colour that it does not have is that of text.
#[derive(Clone, Copy)]
pub(super) struct Colours {
    palette: &'static Palette,
    theme: Theme,
}

impl Colours {
    pub(super) fn new(theme: Theme) -> Self {
        Self { palette: Palette::get(), theme }
    }

    pub(super) fn dot(self, kind: DotKind) -> &'static str {
        self.of(self.palette.dot(kind.id()).map(|dot| &dot.colour))
    }

    /// In words.
    pub(super) fn meaning(self, kind: DotKind) -> &'static str {
        self.palette.dot(kind.id()).map_or(kind.id(), |dot| &dot.label)
    }

    pub(super) fn section(self, class: &str) -> &'static str {
        self.of(self.palette.section(class).map(|swatch| &swatch.colour))
    }

    pub(super) fn phase(self, kind: &str) -> &'static str {
        self.of(self.palette.phase(kind).map(|swatch| &swatch.colour))
    }

    pub(super) fn background(self) -> &'static str {
        self.of(Some(&self.palette.ink.background))
    }

    pub(super) fn text(self) -> &'static str {
        self.of(Some(&self.palette.ink.text))
    }

    pub(super) fn muted(self) -> &'static str {
        self.of(Some(&self.palette.ink.muted))
    }

    pub(super) fn line(self) -> &'static str {
        self.of(Some(&self.palette.ink.line))
    }

    pub(super) fn elsewhere(self) -> &'static str {
        self.of(Some(&self.palette.ink.elsewhere))
    }

    pub(super) fn accent(self) -> &'static str {
        self.of(Some(&self.palette.ink.accent))
    }

    fn of(self, colour: Option<&'static Colour>) -> &'static str {
        let colour = colour.unwrap_or(&self.palette.ink.text);
        match self.theme {
            Theme::Light => &colour.light,
            Theme::Dark => &colour.dark,
        }
    }
}
