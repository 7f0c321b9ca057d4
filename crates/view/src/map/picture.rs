//! The map as PNG: the SVG, rendered with an embedded font.
//!
//! The font is DejaVu Sans (its licence: `assets/fonts/LICENSE-DejaVu`), so that the picture is the same on every
//! machine, whatever fonts that has. Letters that it lacks are drawn as boxes.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

use super::{MapError, ObjectMap};
use crate::mark::marked_png;

/// Pixels of a point: enough for print and for screens of today.
const PIXELS: u32 = 2;
const FAMILY: &str = "DejaVu Sans";

impl ObjectMap {
    /// The picture as PNG, two pixels to a point. The same map makes the same bytes.
    ///
    /// # Errors
    ///
    /// If the renderer does not take the picture, or has no memory for it.
    pub fn png(&self) -> Result<Vec<u8>, MapError> {
        let fail = |reason: String| MapError::Pixels { reason };
        let tree = Tree::from_str(&self.svg(), &options()).map_err(|error| fail(error.to_string()))?;
        let (width, height) = (self.width.saturating_mul(PIXELS), self.height.saturating_mul(PIXELS));
        let mut pixels =
            Pixmap::new(width, height).ok_or_else(|| fail(format!("{width} x {height} pixels are too many")))?;
        let scale = PIXELS as f32;
        resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
        pixels.encode_png().map(marked_png).map_err(|error| fail(error.to_string()))
    }
}

/// One font, which stands for all.
pub(super) fn options() -> Options<'static> {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_source(fontdb::Source::Binary(Arc::new(dejavu::sans::regular())));
    fonts.set_sans_serif_family(FAMILY);
    Options { fontdb: Arc::new(fonts), font_family: FAMILY.to_owned(), ..Options::default() }
}
