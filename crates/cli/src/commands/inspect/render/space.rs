//! Where the bytes of a file go, as bars.

use coldstart_inspect::SpaceUse;

use super::text::{heading, plain, share, size, table};
use super::words;
use crate::output::charset::either;
use crate::output::table::{Align, Table};

/// Columns of the longest bar.
const BAR: u64 = 48;
/// A whole column, and its eighths.
const UTF_8: (char, [char; 7]) = ('█', ['▏', '▎', '▍', '▌', '▋', '▊', '▉']);
const ASCII: (char, [char; 7]) = ('#', ['.', '.', '.', ':', ':', ':', ':']);

/// Where the bytes go, largest first.
pub(super) fn space(uses: &[SpaceUse], file_bytes: u64) -> String {
    let Some(largest) = uses.iter().map(|part| part.bytes).max().filter(|largest| *largest > 0) else {
        return String::new();
    };
    let mut rows =
        Table::new(&[("use", Align::Left), ("bytes", Align::Right), ("share", Align::Right), ("", Align::Left)]);
    for part in uses {
        rows.row(vec![
            words::purpose(part.purpose).word().to_owned(),
            plain(&size(part.bytes)),
            plain(&share(part.bytes, file_bytes)),
            bar(part.bytes, largest),
        ]);
    }
    let mut text = heading("Where the bytes go", &format!("{} in the file", size(file_bytes)));
    text.push_str(&table(&rows));
    text
}

/// A bar whose length is in proportion to the largest; never longer than it should be, but never nothing for something.
fn bar(part: u64, largest: u64) -> String {
    let eighths = u128::from(part) * u128::from(BAR * 8) / u128::from(largest.max(1));
    let eighths = usize::try_from(eighths).unwrap_or(0).max(usize::from(part > 0));
    let (whole, parts) = either(UTF_8, ASCII);
    let mut bar: String = std::iter::repeat_n(whole, eighths / 8).collect();
    bar.extend((eighths % 8).checked_sub(1).and_then(|index| parts.get(index)));
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_in_proportion() {
        assert_eq!(bar(100, 100).chars().count(), 48);
        assert_eq!(bar(50, 100), "█".repeat(24));
        assert_eq!(bar(1, u64::MAX), "▏");
        assert_eq!(bar(0, 100), "");
    }
}
