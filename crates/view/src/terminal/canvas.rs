//! The map of the object in dots.

use anstyle::AnsiColor;
use ratatui_core::layout::Rect;
use ratatui_core::style::Color;
use ratatui_core::symbols::Marker;
use ratatui_core::widgets::Widget;
use ratatui_widgets::canvas::{Canvas, Points};

use super::lanes::axis;
use super::sheet::{Ink, Sheet, width};
use crate::map::words::size;
use crate::map::{Band, DotKind, ObjectMap, Place, named};

/// Columns for places in the file.
const LEFT: u16 = 9;

/// The letter and the colour of a kind.
pub(super) fn letter(kind: DotKind) -> (char, AnsiColor) {
    match kind {
        DotKind::Fill => ('.', AnsiColor::BrightBlack),
        DotKind::Call => ('c', AnsiColor::Yellow),
        DotKind::Other => ('+', AnsiColor::BrightWhite),
        DotKind::Read => ('r', AnsiColor::Green),
        DotKind::Execute => ('x', AnsiColor::Blue),
        DotKind::Write => ('w', AnsiColor::Magenta),
        DotKind::Function => ('f', AnsiColor::Cyan),
        DotKind::Major => ('D', AnsiColor::Red),
    }
}

/// What the map is of.
pub(super) fn head(sheet: &mut Sheet, map: &ObjectMap) {
    sheet.line("");
    sheet.styled(&format!("Map of {}: time across, place in the file upwards", map.title), Ink::Bold);
    if let Some(fact) = map.facts.first() {
        sheet.prose(fact, Ink::Plain);
    }
}

/// Lines that [`draw`] takes beside those of the file.
pub(super) fn around(map: &ObjectMap) -> u16 {
    1 + u16::from(map.places.zeros.is_some())
}

/// The map, that of zero-filled memory in a line of its own above it, and the axis of time below.
pub(super) fn draw(sheet: &mut Sheet, map: &ObjectMap, lines: u16) {
    let right = right(sheet);
    if let Some((from, to)) = map.places.zeros {
        let y = sheet.grow(1);
        sheet.put_end(LEFT - 1, y, "zeros", Ink::Muted);
        let zeros = |place: Place| match place {
            Place::Zeros(address) => Some(address.saturating_sub(from) as f64),
            Place::File(_) => None,
        };
        dots(sheet, map, (y, 1), to.saturating_sub(from) as f64, zeros);
        side(sheet, map, right, (y, 1), |band| matches!(band.from, Place::Zeros(_)));
    }
    let y = sheet.grow(lines);
    let file = |place: Place| match place {
        Place::File(offset) => Some(offset as f64),
        Place::Zeros(_) => None,
    };
    dots(sheet, map, (y, lines), map.places.file_end as f64, file);
    side(sheet, map, right, (y, lines), |band| matches!(band.from, Place::File(_)));
    for line in (0..lines - 1).step_by(usize::from(lines / 5).max(2)) {
        let bytes = map.places.file_end as f64 / f64::from(lines) * f64::from(lines - line);
        sheet.put_end(LEFT - 1, y + line, &size(bytes as u64), Ink::Muted);
    }
    sheet.put_end(LEFT - 1, y + lines - 1, "0", Ink::Muted);
    axis(sheet, LEFT, right, map.time.0, map.time.1);
}

/// Where the map ends and the names of sections begin.
fn right(sheet: &Sheet) -> u16 {
    let names = match sheet.width() {
        0..60 => 12,
        60..100 => 18,
        _ => 32,
    };
    sheet.width().saturating_sub(names)
}

/// Dots in some lines; `place` says how far up, or that it is not in these lines.
fn dots(sheet: &mut Sheet, map: &ObjectMap, (y, lines): (u16, u16), end: f64, place: impl Fn(Place) -> Option<f64>) {
    let right = right(sheet);
    let area = Rect::new(LEFT, y, right.saturating_sub(LEFT), lines).intersection(sheet.buffer.area);
    let edge = if sheet.is_ascii() { "|" } else { "│" };
    for line in y..y.saturating_add(lines) {
        sheet.put(LEFT - 1, line, edge, 1, Ink::Muted);
        sheet.put(right, line, edge, 1, Ink::Muted);
    }
    let mut kinds: Vec<(DotKind, Vec<(f64, f64)>)> = Vec::new();
    for kind in DotKind::ALL {
        let layers = map.layers.iter().flat_map(|layer| &layer.dots);
        let of_kind = layers.filter(|dot| dot.kind == kind);
        let points = of_kind.filter_map(|dot| Some((dot.at as f64, place(dot.place)?.min(end)))).collect();
        kinds.push((kind, points));
    }
    let is_ascii = sheet.is_ascii();
    let canvas = Canvas::default()
        .x_bounds([map.time.0 as f64, map.time.1 as f64])
        .y_bounds([0.0, end.max(1.0)])
        .marker(Marker::Braille)
        .paint(|context| {
            for (kind, points) in &kinds {
                // What the disk brought would cover everything in a map of so few dots; it has a row of its own.
                if *kind == DotKind::Fill {
                    continue;
                }
                let (letter, colour) = letter(*kind);
                if is_ascii {
                    context.marker(Marker::Custom(letter));
                }
                context.draw(&Points { coords: points, color: Color::from(colour) });
                context.layer();
            }
        });
    canvas.render(area, &mut sheet.buffer);
}

/// Names of sections beside their lines, those of most touched pages first.
fn side(sheet: &mut Sheet, map: &ObjectMap, right: u16, (y, lines): (u16, u16), is_here: impl Fn(&Band) -> bool) {
    let end = map.places.file_end as f64;
    let mut bands: Vec<&Band> = named(&map.bands).filter(|band| is_here(band)).collect();
    bands.sort_by_key(|band| (std::cmp::Reverse((band.touched, band.size)), band.from));
    bands.truncate(usize::from(lines));
    bands.sort_by_key(|band| std::cmp::Reverse(band.from));
    let wanted = |band: &Band| match band.from {
        Place::File(offset) => {
            let middle = (offset as f64 + band.size as f64 / 2.0) / end;
            ((1.0 - middle) * f64::from(lines)).clamp(0.0, f64::from(lines - 1)) as u16
        }
        Place::Zeros(_) => 0,
    };
    // Down from the first line, then up from the last, so that each has a line of its own and all stay in order.
    let mut names: Vec<(u16, &Band)> = Vec::new();
    for band in bands {
        let free = names.last().map_or(0, |(line, _)| line + 1);
        names.push((wanted(band).max(free), band));
    }
    let mut free = lines;
    for (line, _) in names.iter_mut().rev() {
        *line = (*line).min(free.saturating_sub(1));
        free = *line;
    }
    let x = right + 2;
    let room = sheet.width().saturating_sub(x);
    for (line, band) in names {
        let count = if room >= 26 { format!(" {}", band.count()) } else { String::new() };
        let columns = u16::try_from(width(&count)).unwrap_or(u16::MAX);
        let y = y + line;
        let name_room = room.saturating_sub(columns);
        sheet.put(x, y, &band.name, name_room, Ink::Plain);
        let used = u16::try_from(width(&band.name)).unwrap_or(u16::MAX).min(name_room);
        sheet.put(x + used, y, &count, columns, Ink::Muted);
    }
}
