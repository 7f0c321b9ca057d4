//! Where the bytes go, as a picture: one bar per object, in one SVG file that needs nothing else.
//!
//! Each part is labelled in or below its bar, so that colours only help. The library's types stay in this file. It escapes
//! text but not the quotes of attributes: names from files go into text alone.

use std::cmp::Reverse;

use coldstart_inspect::{SpaceUse, Use};
use coldstart_view::drawing::{decimal, rectangle, text};
use svg::Document;
use svg::node::element::{Group, Style, Title};

use super::super::result::{Inspected, Survey};
use super::text::{counted, plain, share};
use super::words;
use crate::output::path::fitted;
use crate::output::size::bytes;

/// Objects drawn, the largest.
const OBJECTS: usize = 20;
/// Size of the picture and its parts, in the picture's own unit.
const WIDTH: f64 = 960.0;
const MARGIN: f64 = 20.0;
const BAR: f64 = 24.0;
const LINE: f64 = 16.0;
/// What a character of the small text takes at most, on average.
const CHARACTER: f64 = 6.4;
/// Columns of a path above its bar.
const PATH: usize = 90;

/// Every use with its name in the style sheet and its colour, in the order of the bars. The dark text on them is the same
/// in light and dark pages.
const USES: [(Use, &str, &str); 11] = [
    (Use::Code, "code", "#8ab8f0"),
    (Use::ReadOnlyData, "constants", "#a5d8a0"),
    (Use::RelocatedConstants, "relocated", "#f5b971"),
    (Use::Data, "variables", "#f2e28a"),
    (Use::Relocations, "relocations", "#f0837a"),
    (Use::DynamicSymbols, "symbols", "#cba9e0"),
    (Use::Unwind, "unwind", "#b9c3cf"),
    (Use::NotLoaded, "unloaded", "#dedede"),
    (Use::Administration, "notes", "#dcc3a1"),
    (Use::Headers, "headers", "#94d3d0"),
    (Use::Padding, "padding", "#f3f3f3"),
];

/// The picture of the largest objects.
pub(in super::super) fn svg(survey: &Survey) -> String {
    let mut objects: Vec<&Inspected> = survey.objects.iter().collect();
    objects.sort_by_key(|object| (Reverse(object.inspection.object.bytes), &object.path));
    let all = objects.len();
    objects.truncate(OBJECTS);
    let largest = objects.first().map_or(0, |object| object.inspection.object.bytes);
    let drawn = if objects.len() < all { format!("the {} largest of ", objects.len()) } else { String::new() };
    let title = plain(&format!("Where the bytes go: {drawn}{}", counted(all as u64, "object")));

    let mut y = MARGIN + LINE;
    let mut content = Group::new().add(text(MARGIN, y, "title", &title));
    (content, y) = legend(content, &objects, y + LINE);
    for object in &objects {
        (content, y) = bar(content, object, largest, y + LINE);
    }
    let height = y + MARGIN;
    let page = rectangle("page", 0.0, 0.0, WIDTH, height);
    let document = Document::new()
        .set("viewBox", format!("0 0 {WIDTH} {}", decimal(height)))
        .set("role", "img")
        .set("font-family", "system-ui, sans-serif")
        .set("font-size", "13")
        .add(coldstart_view::mark::comment())
        .add(Title::new(title))
        .add(Style::new(style()))
        .add(page)
        .add(content);
    format!("{document}\n")
}

fn style() -> String {
    let colours: String = USES.iter().map(|(_, class, colour)| format!(".{class}{{fill:{colour}}}")).collect();
    format!(
        ":root{{color-scheme:light dark}}.page{{fill:#ffffff}}text{{fill:#24292f}}.title{{font-weight:bold;font-size:15px}}\
         .note{{fill:#57606a;font-size:11px}}.in{{fill:#1b1f24;font-size:11px}}.size{{fill:#57606a}}\
         .part{{stroke:#ffffff;stroke-width:0.5}}{colours}.padding{{stroke:#8c959f;stroke-width:0.5}}\
         @media(prefers-color-scheme:dark){{.page{{fill:#0d1117}}text{{fill:#e6edf3}}.note{{fill:#9198a1}}\
         .in{{fill:#1b1f24}}.size{{fill:#9198a1}}.part{{stroke:#0d1117}}}}"
    )
}

/// A swatch and a word for each use that occurs.
fn legend(mut group: Group, objects: &[&Inspected], y: f64) -> (Group, f64) {
    let (mut x, mut y) = (MARGIN, y);
    for (purpose, class, _) in USES {
        if !objects.iter().any(|object| part(&object.inspection.parts.space, purpose) > 0) {
            continue;
        }
        let word = words::purpose(purpose);
        let width = 14.0 + width_of(word) + 14.0;
        if x + width > WIDTH - MARGIN {
            (x, y) = (MARGIN, y + LINE);
        }
        group = group.add(rectangle(class, x, y, 10.0, 10.0)).add(text(x + 14.0, y + 9.0, "note", word));
        x += width;
    }
    if objects.len() > 1 {
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

/// A path, its bar, and below it what was too small to be labelled inside.
fn bar(mut group: Group, object: &Inspected, largest: u64, y: f64) -> (Group, f64) {
    let whole = object.inspection.object.bytes;
    let room = WIDTH - 2.0 * MARGIN;
    let size = bytes(whole);
    group = group
        .add(text(MARGIN, y, "name", &fitted(&object.path, PATH)))
        .add(text(WIDTH - MARGIN, y, "name", &size).set("text-anchor", "end"));
    let top = y + 6.0;
    let mut x = MARGIN;
    let (mut small, mut tiny) = (Vec::new(), false);
    for (purpose, class, _) in USES {
        let part = part(&object.inspection.parts.space, purpose);
        if part == 0 {
            continue;
        }
        let width = room * ratio(part, whole);
        let word = words::purpose(purpose);
        let share = plain(&share(part, whole));
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

fn part(space: &[SpaceUse], purpose: Use) -> u64 {
    space.iter().filter(|part| part.purpose == purpose).map(|part| part.bytes).fold(0, u64::saturating_add)
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { (part as f64 / whole as f64).min(1.0) }
}

/// At most, since nobody knows the reader's font.
fn width_of(label: &str) -> f64 {
    label.chars().count() as f64 * CHARACTER
}
