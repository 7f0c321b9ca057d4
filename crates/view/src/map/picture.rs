//! The map as PNG: the SVG, rendered with an embedded font.
//!
//! The font is DejaVu Sans (its licence: `assets/fonts/LICENSE-DejaVu`), so that the picture is the same on every machine, whatever
//! fonts that has. Letters that it lacks are drawn as boxes. The renderer draws everything except
//! text, which is set here with plain advance widths, as in the layout of the map: a renderer that shapes text adds 0.7 MB to the program.

use std::str::FromStr;

use resvg::tiny_skia::{Color, FillRule, Paint, PathBuilder, Pixmap, Transform};
use resvg::usvg::roxmltree::{Document, Node};
use resvg::usvg::{Options, Tree};
use ttf_parser::{Face, OutlineBuilder};

use super::colours::Colours;
use super::draw::{Anchor, TextStyle};
use super::{MapError, ObjectMap};
use crate::assets;
use crate::mark::marked_png;

/// Pixels of a point: enough for print and for screens of today.
const PIXELS: u32 = 2;

impl ObjectMap {
    /// The picture as PNG, two pixels to a point. The same map makes the same bytes.
    ///
    /// # Errors
    ///
    /// If the renderer does not take the picture, or has no memory for it.
    pub fn png(&self) -> Result<Vec<u8>, MapError> {
        let fail = |reason: String| MapError::Pixels { reason };
        let svg = self.svg();
        let document = Document::parse(&svg).map_err(|error| fail(error.to_string()))?;
        let tree = Tree::from_xmltree(&document, &Options::default()).map_err(|error| fail(error.to_string()))?;
        let (width, height) = (self.width.saturating_mul(PIXELS), self.height.saturating_mul(PIXELS));
        let mut pixels =
            Pixmap::new(width, height).ok_or_else(|| fail(format!("{width} x {height} pixels are too many")))?;
        let scale = Transform::from_scale(PIXELS as f32, PIXELS as f32);
        resvg::render(&tree, scale, &mut pixels.as_mut());
        let font = assets::font();
        let face = Face::parse(&font, 0).map_err(|error| fail(error.to_string()))?;
        let colours = Colours::new(self.theme);
        for text in document.descendants().filter(|node| node.has_tag_name("text")) {
            draw_text(text, &face, colours, scale, &mut pixels);
        }
        pixels.encode_png().map(marked_png).map_err(|error| fail(error.to_string()))
    }
}

/// Draws one line of text where the SVG has it. Lines without a place are left out; the map has none.
fn draw_text(text: Node<'_, '_>, face: &Face<'_>, colours: Colours, scale: Transform, pixels: &mut Pixmap) {
    let number = |name: &str| text.attribute(name).and_then(|value| f32::from_str(value).ok());
    let (Some(x), Some(y)) = (number("x"), number("y")) else { return };
    let style = TextStyle::of_class(text.attribute("class").unwrap_or_default(), colours);
    let mut line = Line { outline: PathBuilder::new(), at: 0.0 };
    for letter in text.text().unwrap_or_default().chars() {
        line.add(letter, face);
    }
    let Some(outline) = line.outline.finish() else { return };
    let before = match style.anchor {
        Anchor::Begin => 0.0,
        Anchor::Middle => line.at / 2.0,
        Anchor::End => line.at,
    };
    // A font counts upwards from the line that letters stand on, a picture downwards from its upper edge.
    let points = style.size as f32 / f32::from(face.units_per_em());
    let placed = scale.pre_translate(x, y).pre_scale(points, -points).pre_translate(-before, 0.0);
    let mut paint = Paint::default();
    paint.set_color(colour(style.colour));
    pixels.fill_path(&outline, &paint, FillRule::Winding, placed, None);
}

/// A colour as the palette has it, `#rrggbb`; black for anything else, which a test of the palette excludes.
fn colour(words: &str) -> Color {
    let channel = |from: usize| words.get(from..from + 2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
    match (channel(1), channel(3), channel(5)) {
        (Some(red), Some(green), Some(blue)) => Color::from_rgba8(red, green, blue, 255),
        _ => Color::BLACK,
    }
}

/// The outlines of letters beside one another, in units of the font.
struct Line {
    outline: PathBuilder,
    /// Where the next letter begins.
    at: f32,
}

impl Line {
    fn add(&mut self, letter: char, face: &Face<'_>) {
        // The first glyph of a font is the box for letters that it lacks.
        let glyph = face.glyph_index(letter).unwrap_or_default();
        let _ = face.outline_glyph(glyph, self);
        self.at += f32::from(face.glyph_hor_advance(glyph).unwrap_or_default());
    }
}

impl OutlineBuilder for Line {
    fn move_to(&mut self, x: f32, y: f32) {
        self.outline.move_to(self.at + x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.outline.line_to(self.at + x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.outline.quad_to(self.at + x1, y1, self.at + x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.outline.cubic_to(self.at + x1, y1, self.at + x2, y2, self.at + x, y);
    }

    fn close(&mut self) {
        self.outline.close();
    }
}
