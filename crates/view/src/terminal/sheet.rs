//! The text sheet: a ratatui buffer that grows downwards.

use anstyle::{AnsiColor, Style};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier};
use ratatui_core::text::Span;

use super::Characters;

/// How text is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ink {
    Plain,
    Bold,
    Muted,
    Coloured(AnsiColor),
}

impl Ink {
    fn style(self) -> ratatui_core::style::Style {
        let style = ratatui_core::style::Style::new();
        match self {
            Self::Plain => style,
            Self::Bold => style.add_modifier(Modifier::BOLD),
            Self::Muted => style.add_modifier(Modifier::DIM),
            Self::Coloured(colour) => style.fg(Color::from(colour)),
        }
    }
}

/// Lines of text, all of one width.
pub(super) struct Sheet {
    pub(super) buffer: Buffer,
    pub(super) characters: Characters,
}

impl Sheet {
    pub(super) fn new(width: u16, characters: Characters) -> Self {
        Self { buffer: Buffer::empty(Rect::new(0, 0, width, 0)), characters }
    }

    pub(super) fn width(&self) -> u16 {
        self.buffer.area.width
    }

    /// How many lines there can be.
    pub(super) fn highest(&self) -> u16 {
        u16::MAX / self.width().max(1)
    }

    pub(super) fn height(&self) -> u16 {
        self.buffer.area.height
    }

    pub(super) fn is_ascii(&self) -> bool {
        self.characters == Characters::Ascii
    }

    /// More empty lines; the first of them.
    pub(super) fn grow(&mut self, lines: u16) -> u16 {
        let first = self.height();
        let area = Rect { height: first.saturating_add(lines), ..self.buffer.area };
        // A `Rect` has no more than 65 535 cells; a sheet that is full takes no more.
        if area.height <= self.highest() {
            self.buffer.resize(area);
        }
        first
    }

    /// A line of text, its end cut off where it does not fit.
    pub(super) fn line(&mut self, text: &str) {
        self.styled(text, Ink::Plain);
    }

    pub(super) fn styled(&mut self, text: &str, ink: Ink) {
        let y = self.grow(1);
        self.put(0, y, text, self.width(), ink);
    }

    /// As many lines as a sentence takes.
    pub(super) fn prose(&mut self, text: &str, ink: Ink) {
        let room = usize::from(self.width());
        let mut line = String::new();
        for word in text.split_whitespace() {
            if !line.is_empty() && width(&line) + 1 + width(word) > room {
                self.styled(&line, ink);
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        self.styled(&line, ink);
    }

    /// Text at a place, of at most so many columns; a mark says that it was cut.
    pub(super) fn put(&mut self, x: u16, y: u16, text: &str, room: u16, ink: Ink) {
        let area = self.buffer.area;
        if x >= area.right() || y >= area.bottom() || room == 0 {
            return;
        }
        let room = room.min(area.right() - x);
        let text = self.plain(text);
        if width(&text) <= usize::from(room) {
            self.buffer.set_stringn(x, y, &text, usize::from(room), ink.style());
            return;
        }
        self.buffer.set_stringn(x, y, &text, usize::from(room - 1), ink.style());
        self.buffer.set_stringn(x + room - 1, y, if self.is_ascii() { "~" } else { "…" }, 1, ink.style());
    }

    /// Text that ends before a column.
    pub(super) fn put_end(&mut self, end: u16, y: u16, text: &str, ink: Ink) {
        let columns = u16::try_from(width(&self.plain(text))).unwrap_or(u16::MAX);
        self.put(end.saturating_sub(columns), y, text, columns.min(end), ink);
    }

    /// In ASCII, where only that is wanted.
    fn plain(&self, text: &str) -> String {
        if !self.is_ascii() {
            return text.to_owned();
        }
        text.chars()
            .map(|character| match character {
                '·' => "-".to_owned(),
                'µ' => "u".to_owned(),
                '…' => "~".to_owned(),
                character if character.is_ascii() => character.to_string(),
                character => character.escape_unicode().to_string(),
            })
            .collect()
    }

    /// The lines, without spaces at their ends.
    pub(super) fn finish(self, colour: bool) -> String {
        let area = self.buffer.area;
        let mut text = String::new();
        for y in 0..area.height {
            let mut line = Line::default();
            let mut covered = 0;
            for x in 0..area.width {
                if covered > 0 {
                    covered -= 1;
                    continue;
                }
                let Some(cell) = self.buffer.cell((x, y)) else { continue };
                covered = width(cell.symbol()).saturating_sub(1);
                let style = if colour { style(cell.fg, cell.modifier) } else { Style::new() };
                line.push(cell.symbol(), style);
            }
            text.push_str(&line.finish());
            text.push('\n');
        }
        text
    }
}

/// Columns that text takes.
pub(super) fn width(text: &str) -> usize {
    Span::raw(text).width()
}

fn style(colour: Color, modifier: Modifier) -> Style {
    let mut style = Style::new();
    if let Ok(colour) = AnsiColor::try_from(colour) {
        style = style.fg_color(Some(colour.into()));
    }
    if modifier.contains(Modifier::BOLD) {
        style = style.bold();
    }
    if modifier.contains(Modifier::DIM) {
        style = style.dimmed();
    }
    style
}

/// One line with its escape sequences.
#[derive(Default)]
struct Line {
    text: String,
    spaces: usize,
    style: Style,
}

impl Line {
    fn push(&mut self, symbol: &str, style: Style) {
        // Spaces look the same in all styles, and at a line's end they are not wanted.
        if symbol == " " {
            self.spaces += 1;
            return;
        }
        self.text.push_str(&" ".repeat(std::mem::take(&mut self.spaces)));
        if style != self.style {
            self.text.push_str(&format!("{}{}", self.style.render_reset(), style.render()));
            self.style = style;
        }
        self.text.push_str(symbol);
    }

    fn finish(mut self) -> String {
        self.text.push_str(&self.style.render_reset().to_string());
        self.text
    }
}
