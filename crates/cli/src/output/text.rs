//! The building blocks of a report: headings, labelled facts, indented tables, escaped names.
//!
//! A name in an ELF file may be anything: terminal escapes, line breaks, a megabyte of template arguments. Whatever comes
//! from a file passes through [`escaped`] or [`name`] before it is shown.

pub(crate) use coldstart_app::text::{counted, glued, number, plain, size};
pub(crate) use coldstart_profile::escaped;
use coldstart_view::{numbers, width};
use unicode_width::UnicodeWidthStr;

use super::charset::either;
use super::style::HEADING;
use super::table::{MAX_WIDTH, Table};
use super::wrap::filled;

/// How far the contents of a section are set in, in columns.
pub(crate) const INDENT: usize = 2;
/// Columns of a fact's label, including the space after it.
const LABEL: usize = 11;
/// The longest text of a fact, in columns; the middle of a longer one is left out.
const LONGEST: usize = 800;

/// A name from a file, escaped and with its middle cut to fit `columns`: both ends of a C++ name are informative.
pub(crate) fn name(text: &str, columns: usize) -> String {
    cut(&escaped(text), columns)
}

/// The text with its middle left out to fit `columns`.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    width::cut(text, columns, either('…', '~'))
}

/// The text with its end left out to fit `columns`: for prose, which is read from its beginning.
pub(crate) fn cut_end(text: &str, columns: usize) -> String {
    width::cut_end(text, columns, either('…', '~'))
}

/// Share of `part` in `whole` in tenths of a percent, on one line when it is wrapped; `-` without a whole.
pub(crate) fn share(part: u64, whole: u64) -> String {
    glued(&numbers::share(part, whole))
}

/// What a section is about, in a line or a few, with an empty line before it.
pub(crate) fn heading(title: &str, summary: &str) -> String {
    let styled = format!("{HEADING}{title}{HEADING:#}");
    let text = if summary.is_empty() { title.to_owned() } else { format!("{title}: {summary}") };
    let wrapped = prose(&text, 0, INDENT);
    format!("\n{}", wrapped.replacen(title, &styled, 1))
}

/// A labelled fact; nothing when there is no text. What is longer than ten lines loses its middle.
pub(crate) fn fact(label: &str, text: &str) -> String {
    list(label, &cut(text, LONGEST))
}

/// A labelled list of things that are short themselves.
pub(crate) fn list(label: &str, text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let usual = LABEL.saturating_sub(1);
    let label = format!("{}{label:<usual$} ", " ".repeat(INDENT));
    // A label may be longer than others.
    let wrapped = prose(text, label.width().max(INDENT + LABEL), INDENT + LABEL);
    format!("{label}{}", wrapped.trim_start_matches(' '))
}

/// Words in lines of at most [`MAX_WIDTH`] columns: the first set in by `first`, all others by `rest`. A word that is
/// longer than a line loses its middle, but not in a command, which stands between backticks.
pub(crate) fn prose(text: &str, first: usize, rest: usize) -> String {
    let room = MAX_WIDTH.saturating_sub(first.max(rest));
    let mut in_command = false;
    let words = text.split([' ', '\n']).filter(|word| !word.is_empty()).map(|word| {
        let was_in_command = in_command;
        in_command ^= word.matches('`').count() % 2 == 1;
        if in_command || was_in_command { word.to_owned() } else { cut(word, room) }
    });
    plain(&filled(words, first, rest))
}

/// The table, set in, below an empty line.
pub(crate) fn table(table: &Table) -> String {
    let lines = table.render();
    let lines = lines.lines().map(|line| format!("{}{line}\n", " ".repeat(INDENT)));
    format!("\n{}", lines.collect::<String>())
}

/// Makes the last column's cells fit what is left of the line.
pub(crate) fn fit(table: &mut Table, cell: impl Fn(usize, usize) -> String) {
    table.fit_last_column(|row, room| cell(row, room.saturating_sub(INDENT)));
}

/// `90 more; --all lists them` below a table that was cut; nothing when it was not.
pub(crate) fn omitted(shown: usize, of: usize, what: &str) -> String {
    let more = of.saturating_sub(shown) as u64;
    if more == 0 {
        return String::new();
    }
    prose(&format!("{} more; --all lists {what}", number(more)), INDENT, INDENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_harmless_and_fit() {
        assert_eq!(name("a\nb\u{1b}[31m", 40), "a\\nb\\u{1b}[31m");
        assert_eq!(cut("abcdefghij", 10), "abcdefghij");
        assert_eq!(cut("abcdefghijk", 10), "abcdef…ijk");
        assert_eq!(cut("日本語日本語", 7), "日本…語");
        assert_eq!(cut("abc", 1), "…");
        assert_eq!(cut_end("two words", 5), "two…");
    }

    #[test]
    fn no_line_is_too_wide_and_numbers_stay_whole() {
        let text = format!("{} {}", "x".repeat(5_000), format!("{} and ", counted(1_234_567, "entry")).repeat(30));
        for line in fact("where", &text).lines().chain(heading("Title", &text).lines()) {
            assert!(plain(line).replace("\u{1b}[1m", "").replace("\u{1b}[0m", "").width() <= MAX_WIDTH, "{line}");
            assert!(!line.trim_end().ends_with("1 234"), "{line}");
        }
    }

    #[test]
    fn commands_stay_whole() {
        let command = format!("`coldstart unbind {} {}`", "x".repeat(300), glued("'a  b'"));
        let lines = list("undo", &format!("{command} restores {}", "y".repeat(300)));
        assert!(
            lines.contains(&"x".repeat(300)) && lines.contains("'a  b'") && !lines.contains(&"y".repeat(100)),
            "{lines}"
        );
    }
}
