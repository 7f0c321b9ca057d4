//! Below the map: other files, the legend, notes.

use coldstart_profile::trace::FileCategory;
use svg::node::element::{Group, Path};

use super::super::colours::Colours;
use super::super::words::grouped;
use super::super::{DotKind, Elsewhere, ObjectMap};
use super::frame::{Frame, MARGIN, NOTE, STRIP};
use super::letters::{PLAIN, SMALL, width, wrapped};
use super::{decimal, marks, rectangle, text};

/// From the map to the first strip: the ticks' labels.
const AXIS: f64 = 26.0;
/// From one line of the legend to the next.
const LEGEND: f64 = 19.0;
/// Between two of its entries.
const APART: f64 = 26.0;
/// Room of a sample.
const SAMPLE: f64 = 16.0;
/// Stretches are drawn in steps of that many points, so that a million of them are no more than the picture is wide.
const COLUMN: f64 = 0.5;

/// The legend's entries, with their places: from the left, and in which line.
pub(super) struct Legend {
    entries: Vec<(f64, usize, DotKind, String)>,
    lines: usize,
    /// Both traces' marks are shown.
    is_double: bool,
}

impl Legend {
    pub(super) fn of(map: &ObjectMap, colours: Colours, room: f64) -> Self {
        let is_double = map.layers.len() > 1;
        let sample = if is_double { SAMPLE * 2.0 } else { SAMPLE };
        let (mut x, mut line) = (0.0, 0);
        let mut entries = Vec::new();
        // What weighs most is first.
        for (kind, counts) in map.counts().into_iter().rev() {
            let counts: Vec<String> = counts.into_iter().map(grouped).collect();
            let words = format!("{}: {}", colours.meaning(kind), counts.join(" | "));
            let entry = sample + width(&words, PLAIN);
            if x > 0.0 && x + entry > room {
                (x, line) = (0.0, line + 1);
            }
            entries.push((x, line, kind, words));
            x += entry + APART;
        }
        Self { entries, lines: line + 1, is_double }
    }
}

/// The small print in lines.
pub(super) fn notes(map: &ObjectMap, room: f64) -> Vec<String> {
    wrapped(&map.notes.join(" "), SMALL, room)
}

/// Of everything below the map.
pub(super) fn height(map: &ObjectMap, legend: &Legend, notes: &[String]) -> f64 {
    let strips = STRIP * map.elsewhere.len() as f64;
    AXIS + strips + 12.0 + LEGEND * legend.lines as f64 + NOTE * notes.len() as f64 + 16.0
}

pub(super) fn draw(map: &ObjectMap, frame: &Frame) -> Group {
    let mut group = Group::new();
    let mut y = frame.bottom + AXIS;
    let own = map.elsewhere.len();
    for row in &map.elsewhere {
        group = group.add(text("small muted end", frame.left - 8.0, y + 8.0, words(row.category)));
        group = group.add(rectangle("track", frame.left, y, frame.right - frame.left, STRIP - 4.0));
        group = group.add(strip(row, frame, y));
        y += STRIP;
    }
    if own > 0 {
        let beside = "grey: in other files meanwhile";
        group = group.add(text("small muted", frame.right + 8.0, frame.bottom + AXIS + 8.0, beside));
    }
    y += 22.0;
    for (x, line, kind, words) in &frame.legend.entries {
        let (x, y) = (MARGIN + x, y + LEGEND * *line as f64);
        group = group.add(marks::sample(*kind, x + 6.0, y - 4.0, false));
        let mut words_at = x + SAMPLE;
        if frame.legend.is_double {
            group = group.add(marks::sample(*kind, x + SAMPLE + 6.0, y - 4.0, true));
            words_at += SAMPLE;
        }
        group = group.add(text("", words_at, y, words));
    }
    if frame.legend.entries.is_empty() {
        group = group.add(text("", MARGIN, y, "Nothing of this file was seen to be used in this time."));
    }
    y += LEGEND * frame.legend.lines as f64;
    for (place, note) in frame.notes.iter().enumerate() {
        group = group.add(text("small muted", MARGIN, y + NOTE * place as f64, note));
    }
    group
}

fn words(category: FileCategory) -> &'static str {
    match category {
        FileCategory::Program => "other program files",
        FileCategory::System => "other system files",
        FileCategory::Profile => "profile files",
        FileCategory::Data => "data files",
        FileCategory::Metadata => "file system itself",
        FileCategory::Memory => "files in memory",
    }
}

/// All stretches as one path of rectangles.
fn strip(row: &Elsewhere, frame: &Frame, y: f64) -> Path {
    let mut columns: Vec<(i64, i64)> = Vec::new();
    let column = |x: f64| ((x - frame.left) / COLUMN).floor() as i64;
    for stretch in &row.stretches {
        let (first, last) = (column(frame.x(stretch.from)), column(frame.x(stretch.to)));
        match columns.last_mut() {
            Some((_, end)) if first <= end.saturating_add(1) => *end = last.max(*end),
            _ => columns.push((first, last)),
        }
    }
    let path = columns.into_iter().map(|(first, last)| {
        let (x, width) = (frame.left + first as f64 * COLUMN, (last - first + 1) as f64 * COLUMN);
        format!("M{} {}h{}v{}h-{}z", decimal(x), decimal(y), decimal(width), decimal(STRIP - 4.0), decimal(width))
    });
    Path::new().set("class", "elsewhere").set("d", path.collect::<String>())
}
