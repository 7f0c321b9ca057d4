//! Text tables: no frame, two spaces between columns, numbers right-aligned.
//!
//! The table library's types stay in this file.

use comfy_table::{CellAlignment, ContentArrangement, presets};
use unicode_width::UnicodeWidthStr;

/// The widest line we print, in columns.
pub(crate) const MAX_WIDTH: usize = 100;

/// The alignment of a column.
#[derive(Clone, Copy)]
pub(crate) enum Align {
    Left,
    Right,
}

/// A table under construction: columns first, then rows of the same length.
pub(crate) struct Table {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
}

/// Spaces between columns.
const GAP: usize = 2;

impl Table {
    pub(crate) fn new(columns: &[(&'static str, Align)]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// How many columns are left for a cell of the last column within [`MAX_WIDTH`], at least 12.
    pub(crate) fn room_in_last_column(&self) -> usize {
        let others = self.columns.len().saturating_sub(1);
        let used: usize = (0..others)
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width());
                cells.chain([self.columns[column].0.width()]).max().unwrap_or(0) + GAP
            })
            .sum();
        MAX_WIDTH.saturating_sub(used).max(12)
    }

    /// Replaces each cell of the last column by what `fit(row number, room)` makes of it.
    pub(crate) fn fit_last_column(&mut self, fit: impl Fn(usize, usize) -> String) {
        let room = self.room_in_last_column();
        for (number, row) in self.rows.iter_mut().enumerate() {
            if let Some(cell) = row.last_mut() {
                *cell = fit(number, room);
            }
        }
    }

    /// The lines, each ending in a newline, without spaces at the end of a line.
    pub(crate) fn render(&self) -> String {
        let mut inner = comfy_table::Table::new();
        inner.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        inner.set_header(self.columns.iter().map(|(name, _)| *name));
        inner.add_rows(&self.rows);
        for (column, (_, align)) in inner.column_iter_mut().zip(&self.columns) {
            column.set_padding((0, GAP as u16));
            column.set_cell_alignment(match align {
                Align::Left => CellAlignment::Left,
                Align::Right => CellAlignment::Right,
            });
        }
        inner.lines().map(|line| format!("{}\n", line.trim_end())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align_and_the_last_one_takes_what_is_left() {
        let mut table = Table::new(&[("size", Align::Right), ("file", Align::Left)]);
        table.row(vec!["1".to_owned(), String::new()]);
        table.row(vec!["12345".to_owned(), String::new()]);
        table.fit_last_column(|row, room| format!("{row} of {room}"));
        assert_eq!(table.render(), " size  file\n    1  0 of 93\n12345  1 of 93\n");
    }
}
