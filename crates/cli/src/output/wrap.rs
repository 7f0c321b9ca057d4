//! Breaking sentences into lines.

use unicode_width::UnicodeWidthStr;

use super::table::MAX_WIDTH;

/// The words of `text` in lines of at most [`MAX_WIDTH`] columns, each behind `indent` spaces and further lines behind two
/// more. A word that is longer than a line gets one of its own.
pub(crate) fn wrapped(text: &str, indent: usize) -> String {
    filled(text.split_whitespace(), indent, indent + 2)
}

/// Words in lines of at most [`MAX_WIDTH`] columns: the first set in by `first`, all others by `rest`. A word that is longer than a
/// line gets one of its own.
pub(crate) fn filled(words: impl IntoIterator<Item = impl AsRef<str>>, first: usize, rest: usize) -> String {
    let mut lines = String::new();
    let mut line = " ".repeat(first);
    let mut is_empty = true;
    for word in words {
        let word = word.as_ref();
        if !is_empty && line.width() + 1 + word.width() > MAX_WIDTH {
            lines.push_str(&line);
            lines.push('\n');
            line = " ".repeat(rest);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    lines.push_str(&line);
    lines.push('\n');
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fit_and_no_word_is_lost() {
        let text = "word ".repeat(60) + &"x".repeat(150) + " end";
        let lines = wrapped(&text, 2);
        assert!(lines.lines().filter(|line| !line.contains("xx")).all(|line| line.width() <= MAX_WIDTH));
        assert_eq!(lines.split_whitespace().count(), 62);
        assert!(lines.starts_with("  word") && lines.ends_with("\n    end\n"));
    }
}
