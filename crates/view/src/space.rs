//! The use of a file's bytes as a picture: one bar per object, in one self-contained SVG file.
//!
//! Each part is labelled in or below its bar, so that colours only help. The library's types stay in this file. It
//! escapes text but not the quotes of attributes: names from files go into text alone.

use svg::Document;
use svg::node::element::{Group, Style, Title};

use crate::drawing::{decimal, rectangle, text};
use crate::numbers::{bytes, counted, share};

/// Bars drawn, the largest.
pub const MOST_BARS: usize = 20;
/// Columns of a name above its bar.
pub const NAME_COLUMNS: usize = 90;
/// Size of the picture and its parts, in the picture's own unit.
const WIDTH: f64 = 960.0;
const MARGIN: f64 = 20.0;
const BAR: f64 = 24.0;
const LINE: f64 = 16.0;
/// What a character of the small text takes at most, on average.
const CHARACTER: f64 = 6.4;

/// What bytes of a file are for, in the order of the bars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpaceUse {
    /// Instructions.
    Code,
    /// Read-only data.
    Constants,
    /// Data that only the loader writes.
    RelocatedConstants,
    /// Data that the program writes.
    Variables,
    /// Relocation tables.
    Relocations,
    /// Symbols, their names, versions and hash tables.
    DynamicSymbols,
    /// Unwind tables.
    Unwind,
    /// What no start loads: symbols and debug information.
    NotLoaded,
    /// Notes and the dynamic table.
    Notes,
    /// The file's own headers.
    Headers,
    /// Nothing.
    Padding,
}

impl SpaceUse {
    /// All, in the order of the bars.
    pub const ALL: [Self; 11] = [
        Self::Code,
        Self::Constants,
        Self::RelocatedConstants,
        Self::Variables,
        Self::Relocations,
        Self::DynamicSymbols,
        Self::Unwind,
        Self::NotLoaded,
        Self::Notes,
        Self::Headers,
        Self::Padding,
    ];

    /// What it is called.
    pub fn word(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Constants => "constants",
            Self::RelocatedConstants => "relocated constants",
            Self::Variables => "variables",
            Self::Relocations => "relocations",
            Self::DynamicSymbols => "dynamic symbols",
            Self::Unwind => "unwind tables",
            Self::NotLoaded => "not loaded",
            Self::Notes => "notes, dynamic table",
            Self::Headers => "headers",
            Self::Padding => "padding",
        }
    }

    /// Its name in the style sheet and its colour. The dark text on them is the same in light and dark pages.
    fn class_and_colour(self) -> (&'static str, &'static str) {
        match self {
            Self::Code => ("code", "#8ab8f0"),
            Self::Constants => ("constants", "#a5d8a0"),
            Self::RelocatedConstants => ("relocated", "#f5b971"),
            Self::Variables => ("variables", "#f2e28a"),
            Self::Relocations => ("relocations", "#f0837a"),
            Self::DynamicSymbols => ("symbols", "#cba9e0"),
            Self::Unwind => ("unwind", "#b9c3cf"),
            Self::NotLoaded => ("unloaded", "#dedede"),
            Self::Notes => ("notes", "#dcc3a1"),
            Self::Headers => ("headers", "#94d3d0"),
            Self::Padding => ("padding", "#f3f3f3"),
        }
    }
}

/// One file.
#[derive(Clone, Debug)]
pub struct Bar {
    /// Its name, in harmless characters and at most [`NAME_COLUMNS`] wide.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// What they are for; uses that are not listed take none.
    pub parts: Vec<(SpaceUse, u64)>,
}

/// The picture of the largest files, of which `bars` are the [`MOST_BARS`] largest, in descending order. `all` is how
/// many there are.
pub fn svg(bars: &[Bar], all: usize) -> String {
    let largest = bars.first().map_or(0, |bar| bar.bytes);
    let drawn = if bars.len() < all { format!("the {} largest of ", bars.len()) } else { String::new() };
    let title = format!("Where the bytes go: {drawn}{}", counted(all as u64, "object"));

    let mut y = MARGIN + LINE;
    let mut content = Group::new().add(text(MARGIN, y, "title", &title));
    (content, y) = legend(content, bars, y + LINE);
    for one in bars {
        (content, y) = bar(content, one, largest, y + LINE);
    }
    let height = y + MARGIN;
    let page = rectangle("page", 0.0, 0.0, WIDTH, height);
    let document = Document::new()
        .set("viewBox", format!("0 0 {WIDTH} {}", decimal(height)))
        .set("role", "img")
        .set("font-family", "system-ui, sans-serif")
        .set("font-size", "13")
        .add(crate::mark::comment())
        .add(Title::new(title))
        .add(Style::new(style()))
        .add(page)
        .add(content);
    format!("{document}\n")
}

fn style() -> String {
    let colours = SpaceUse::ALL.map(SpaceUse::class_and_colour);
    let colours: String = colours.iter().map(|(class, colour)| format!(".{class}{{fill:{colour}}}")).collect();
    format!(
        ":root{{color-scheme:light dark}}.page{{fill:#ffffff}}text{{fill:#24292f}}.title{{font-weight:bold;font-size:15px}}\
         .note{{fill:#57606a;font-size:11px}}.in{{fill:#1b1f24;font-size:11px}}.size{{fill:#57606a}}\
         .part{{stroke:#ffffff;stroke-width:0.5}}{colours}.padding{{stroke:#8c959f;stroke-width:0.5}}\
         @media(prefers-color-scheme:dark){{.page{{fill:#0d1117}}text{{fill:#e6edf3}}.note{{fill:#9198a1}}\
         .in{{fill:#1b1f24}}.size{{fill:#9198a1}}.part{{stroke:#0d1117}}}}"
    )
}

/// A swatch and a word for each use that occurs.
fn legend(mut group: Group, bars: &[Bar], y: f64) -> (Group, f64) {
    let (mut x, mut y) = (MARGIN, y);
    for purpose in SpaceUse::ALL {
        if !bars.iter().any(|bar| part(bar, purpose) > 0) {
            continue;
        }
        let (class, word) = (purpose.class_and_colour().0, purpose.word());
        let width = 14.0 + width_of(word) + 14.0;
        if x + width > WIDTH - MARGIN {
            (x, y) = (MARGIN, y + LINE);
        }
        group = group.add(rectangle(class, x, y, 10.0, 10.0)).add(text(x + 14.0, y + 9.0, "note", word));
        x += width;
    }
    if bars.len() > 1 {
        y += LINE;
        group = group.add(rectangle("size", MARGIN, y + 4.0, 10.0, 3.0)).add(text(
            MARGIN + 14.0,
            y + 9.0,
            "note",
            "size, compared with the largest",
        ));
    }
    (group, y + LINE)
}

/// A name, its bar, and below it what was too small to be labelled inside.
fn bar(mut group: Group, bar: &Bar, largest: u64, y: f64) -> (Group, f64) {
    let whole = bar.bytes;
    let room = WIDTH - 2.0 * MARGIN;
    let size = bytes(whole);
    group = group
        .add(text(MARGIN, y, "name", &bar.name))
        .add(text(WIDTH - MARGIN, y, "name", &size).set("text-anchor", "end"));
    let top = y + 6.0;
    let mut x = MARGIN;
    let (mut small, mut tiny) = (Vec::new(), false);
    for purpose in SpaceUse::ALL {
        let part = part(bar, purpose);
        if part == 0 {
            continue;
        }
        let width = room * ratio(part, whole);
        let (class, word) = (purpose.class_and_colour().0, purpose.word());
        let share = share(part, whole);
        let rectangle = rectangle(&format!("part {class}"), x, top, width, BAR);
        group = group.add(rectangle.add(Title::new(format!("{word}: {}, {share}", bytes(part)))));
        let label = format!("{word} {share}");
        let fits = |label: &str| width_of(label) + 8.0 < width;
        if fits(&label) {
            group = group.add(text(x + 4.0, top + 16.0, "in", &label));
        } else {
            if fits(word) {
                group = group.add(text(x + 4.0, top + 16.0, "in", word));
            }
            // Without a place in the bar and hardly one in the file.
            if part.saturating_mul(1000) < whole { tiny = true } else { small.push(label) }
        }
        x += width;
    }
    let mut y = top + BAR;
    if largest > 0 {
        group = group.add(rectangle("size", MARGIN, y + 2.0, room * ratio(whole, largest), 3.0));
        y += 4.0;
    }
    small.extend(tiny.then(|| "others less than 0.1 % each".to_owned()));
    for line in lines(&small) {
        y += LINE - 1.0;
        group = group.add(text(MARGIN, y, "note", &line));
    }
    (group, y + LINE / 2.0)
}

/// The labels in lines that fit below a bar.
fn lines(labels: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for label in labels {
        match lines.last_mut() {
            Some(line) if width_of(line) + width_of(label) + 4.0 * CHARACTER < WIDTH - 2.0 * MARGIN => {
                line.push_str(" · ");
                line.push_str(label);
            }
            _ => lines.push(label.clone()),
        }
    }
    lines
}

fn part(bar: &Bar, purpose: SpaceUse) -> u64 {
    bar.parts.iter().filter(|(of, _)| *of == purpose).map(|(_, bytes)| *bytes).fold(0, u64::saturating_add)
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { (part as f64 / whole as f64).min(1.0) }
}

/// An upper bound, since the reader's font is unknown.
fn width_of(label: &str) -> f64 {
    label.chars().count() as f64 * CHARACTER
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_use_that_occurs_is_in_the_legend_and_names_stay_text() {
        let parts = vec![(SpaceUse::Code, 700), (SpaceUse::Relocations, 300)];
        let bars = [Bar { name: "<b>".to_owned(), bytes: 1000, parts }];
        let picture = svg(&bars, 30);
        assert!(picture.contains("the 1 largest of 30 objects"), "{picture}");
        assert!(picture.contains("code 70.0 %") && picture.contains("relocations 30.0 %"), "{picture}");
        assert!(!picture.contains("<b>") && !picture.contains("unwind tables"), "{picture}");
    }
}
