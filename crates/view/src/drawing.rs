//! Shared elements of all pictures (SVG).

use svg::node::Value;
use svg::node::element::{Rectangle, Text};

/// A rectangle from its upper left corner.
pub fn rectangle(class: &str, x: f64, y: f64, width: f64, height: f64) -> Rectangle {
    Rectangle::new()
        .set("class", class)
        .set("x", decimal(x))
        .set("y", decimal(y))
        .set("width", decimal(width))
        .set("height", decimal(height))
}

/// A piece of text whose line begins there.
pub fn text(x: f64, y: f64, class: &str, content: &str) -> Text {
    Text::new(legal(content)).set("class", class).set("x", decimal(x)).set("y", decimal(y))
}

/// XML has no place for these two, not even escaped (XML 1.0, section 2.2); control characters were made readable
/// before.
pub fn legal(content: &str) -> String {
    content.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

/// A coordinate, to a tenth of a point.
pub fn decimal(value: f64) -> Value {
    format!("{value:.1}").into()
}
