//! The colours of pages and pictures, with text equivalents for those who cannot distinguish them.
//!
//! They stand once, in `assets/palette.json`, which the page's stylesheet and TypeScript are built from, too. A
//! newcomer would not guess that no colour here may be the only sign of anything: dots have shapes, bands and phases
//! have labels.

use std::sync::OnceLock;

use serde::Deserialize;

/// What is in the file.
const PALETTE: &str = include_str!("../assets/palette.json");

/// All colours.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Palette {
    /// Of events, by what happened; those of more weight first.
    pub dots: Vec<Dot>,
    /// Of sections, by what they are for: `section_class` tells which a section is of.
    pub sections: Vec<Swatch>,
    /// Of phases; ids are the names of [`PhaseKind`](coldstart_profile::trace::PhaseKind).
    pub phases: Vec<Swatch>,
    /// Of everything else.
    pub ink: Ink,
}

/// A colour on light and on dark ground, as `#rrggbb`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Colour {
    /// On light ground.
    pub light: String,
    /// On dark ground.
    pub dark: String,
}

/// A colour that means something.
#[derive(Clone, Debug, Deserialize)]
pub struct Swatch {
    /// Stable name.
    pub id: String,
    /// What it means, in words.
    pub label: String,
    /// The colour.
    #[serde(flatten)]
    pub colour: Colour,
}

/// How an event looks.
#[derive(Clone, Debug, Deserialize)]
pub struct Dot {
    /// Stable name.
    pub id: String,
    /// What it means, in words.
    pub label: String,
    /// The colour.
    #[serde(flatten)]
    pub colour: Colour,
    /// "diamond", "circle", "square", "triangle", "bar" or "cross".
    pub shape: String,
}

/// Colours of ground and text.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Ink {
    /// Of the page.
    pub background: Colour,
    /// Of panels on it.
    pub surface: Colour,
    /// Of text.
    pub text: Colour,
    /// Of text that matters less.
    pub muted: Colour,
    /// Of rules and borders.
    pub line: Colour,
    /// Of what happens in other files.
    pub elsewhere: Colour,
    /// Of what is chosen or has the focus.
    pub accent: Colour,
}

impl Palette {
    /// The palette of coldstart.
    pub fn get() -> &'static Self {
        static READ: OnceLock<Palette> = OnceLock::new();
        // That the file can be read is held by a test; without colours, pictures would still have their words.
        READ.get_or_init(|| serde_json::from_str(PALETTE).unwrap_or_default())
    }

    /// How events of a kind look.
    pub fn dot(&self, id: &str) -> Option<&Dot> {
        self.dots.iter().find(|dot| dot.id == id)
    }

    /// The colour of sections of a class.
    pub fn section(&self, class: &str) -> Option<&Swatch> {
        self.sections.iter().find(|swatch| swatch.id == class)
    }

    /// The colour of phases of a kind.
    pub fn phase(&self, kind: &str) -> Option<&Swatch> {
        self.phases.iter().find(|swatch| swatch.id == kind)
    }
}

#[cfg(test)]
mod tests {
    use coldstart_profile::trace::PhaseKind;

    use super::*;

    #[test]
    fn the_file_is_read_and_all_phases_have_colours() {
        let palette = Palette::get();
        assert!(!palette.dots.is_empty() && palette.section("code").is_some());
        assert!(PhaseKind::ALL.iter().all(|kind| palette.phase(kind.name()).is_some()));
        let swatches = palette.sections.iter().chain(&palette.phases).map(|swatch| &swatch.colour);
        for colour in swatches.chain(palette.dots.iter().map(|dot| &dot.colour)) {
            for text in [&colour.light, &colour.dark] {
                assert!(text.len() == 7 && u32::from_str_radix(&text[1..], 16).is_ok(), "{text} is no colour");
            }
        }
    }
}
