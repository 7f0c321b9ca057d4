//! Paths in a table's cell.

use std::path::Path;

pub(crate) use coldstart_profile::printable;
use unicode_width::UnicodeWidthChar;

use super::charset::either;

/// [`printable`], with the front cut off to fit `columns`: of a path, the end tells more.
pub(crate) fn fitted(path: &Path, columns: usize) -> String {
    let text = printable(path);
    let mut width = 0;
    for (index, character) in text.char_indices().rev() {
        width += character.width().unwrap_or(0);
        if width > columns || (width == columns && index > 0) {
            // The ellipsis replaces this character.
            let rest = &text[index + character.len_utf8()..];
            return format!("{}{rest}", either("…", "~"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_paths_keep_their_end() {
        assert_eq!(fitted(Path::new("/usr/lib/libxul.so"), 18), "/usr/lib/libxul.so");
        assert_eq!(fitted(Path::new("/usr/lib/libxul.so"), 12), "…b/libxul.so");
        assert_eq!(fitted(Path::new("日本語"), 6), "日本語");
        assert_eq!(fitted(Path::new("日本語"), 5), "…本語");
    }
}
