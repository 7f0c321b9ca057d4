//! Below the map: counts of each kind over time, and the touched parts of the file.

use super::canvas::letter;
use super::sheet::{Ink, Sheet};
use crate::map::words::{grouped, percent};
use crate::map::{DotKind, ObjectMap, Place};
use crate::palette::Palette;

/// From nothing to most.
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII: [char; 9] = [' ', '.', ':', '-', '=', '+', '*', '#', '@'];
/// Columns of the count before a row.
const COUNT: u16 = 10;

pub(super) fn draw(sheet: &mut Sheet, map: &ObjectMap) {
    sheet.line("");
    sheet.styled("What happened, and when", Ink::Bold);
    // Of the words.
    let words_room = if sheet.width() < 60 { 9 } else { 26 };
    let left = 2 + words_room + COUNT;
    let columns = usize::from(sheet.width().saturating_sub(left + 1));
    for (kind, counts) in map.counts().into_iter().rev() {
        let mut row = vec![0u64; columns];
        let dots = map.layers.iter().flat_map(|layer| &layer.dots).filter(|dot| dot.kind == kind);
        dots.for_each(|dot| add(&mut row, dot.at.saturating_sub(map.time.0), map.time.1.saturating_sub(map.time.0)));
        let words = Palette::get().dot(kind.id()).map_or(kind.id(), |dot| &dot.label);
        let (letter, colour) = letter(kind);
        let y = sheet.grow(1);
        sheet.put(0, y, &letter.to_string(), 1, Ink::Coloured(colour));
        sheet.put(2, y, words, words_room, Ink::Plain);
        sheet.put_end(left - 1, y, &grouped(counts.iter().sum()), Ink::Plain);
        let row = shades(&row, sheet.is_ascii());
        sheet.put(left, y, &row, columns as u16, Ink::Coloured(colour));
    }
    heat(sheet, map);
}

/// How densely each part of the file was touched.
fn heat(sheet: &mut Sheet, map: &ObjectMap) {
    // What was not recorded is not nothing.
    let Some(touched) = map.pages_touched else { return };
    sheet.line("");
    sheet.styled("Where it was touched, from the file's beginning to its end", Ink::Bold);
    let columns = usize::from(sheet.width());
    let mut row = vec![0u64; columns];
    let mut places: Vec<u64> = Vec::new();
    for dot in map.layers.iter().flat_map(|layer| &layer.dots).filter(|dot| dot.kind.is_touch()) {
        if let Place::File(offset) = dot.place {
            places.push(offset);
        }
    }
    places.sort_unstable();
    places.dedup();
    places.iter().for_each(|offset| add(&mut row, *offset, map.places.file_end));
    let row = shades(&row, sheet.is_ascii());
    let y = sheet.grow(1);
    sheet.put(0, y, &row, sheet.width(), Ink::Coloured(letter(DotKind::Execute).1));
    let pages = map.places.file_end.div_ceil(coldstart_profile::PAGE_SIZE);
    sheet.styled(&format!("{} of {} pages, {}", grouped(touched), grouped(pages), percent(touched, pages)), Ink::Muted);
}

/// One more in the column of a value.
fn add(row: &mut [u64], value: u64, end: u64) {
    let column = (value as f64 / end.max(1) as f64 * row.len() as f64) as usize;
    let column = column.min(row.len().saturating_sub(1));
    if let Some(count) = row.get_mut(column) {
        *count += 1;
    }
}

/// Counts as heights; what is there at all is seen.
fn shades(row: &[u64], is_ascii: bool) -> String {
    let characters = if is_ascii { ASCII } else { BLOCKS };
    let most = row.iter().copied().max().unwrap_or(0).max(1);
    let shade = |count: u64| {
        let step = (count as f64 / most as f64 * 8.0).ceil() as usize;
        characters.get(step).copied().unwrap_or(' ')
    };
    row.iter().map(|count| shade(*count)).collect()
}
