//! Fits text into columns.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The text with its middle left out to fit `columns`: `mark` stands for it, and takes one.
pub fn cut(text: &str, columns: usize, mark: char) -> String {
    // As wide as it has bytes at most.
    if text.len() <= columns || text.width() <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(1);
    let front = fitting(text.chars(), room.saturating_sub(room / 3));
    let back: Vec<char> = fitting(text.chars().rev(), room / 3).chars().rev().collect();
    format!("{front}{mark}{}", back.into_iter().collect::<String>())
}

/// The text with its end left out to fit `columns`: for prose, which is read from its beginning.
pub fn cut_end(text: &str, columns: usize, mark: char) -> String {
    if text.len() <= columns || text.width() <= columns {
        return text.to_owned();
    }
    format!("{}{mark}", fitting(text.chars(), columns.saturating_sub(1)).trim_end())
}

/// As many characters as fit.
fn fitting(characters: impl Iterator<Item = char>, columns: usize) -> String {
    let mut used = 0;
    let fits = |character: &char| {
        used += character.width().unwrap_or(0);
        used <= columns
    };
    characters.take_while(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_fits() {
        assert_eq!(cut("abcdefghij", 10, '…'), "abcdefghij");
        assert_eq!(cut("abcdefghijk", 10, '…'), "abcdef…ijk");
        assert_eq!(cut("日本語日本語", 7, '~'), "日本~語");
        assert_eq!(cut("abc", 1, '…'), "…");
        assert_eq!(cut_end("two words", 5, '…'), "two…");
    }
}
