//! Counts and sizes for sentences, with no-break spaces.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use coldstart_profile::printable;
use coldstart_view::numbers;

/// A name from a file, with control characters escaped.
pub fn harmless(name: &[u8]) -> String {
    printable(Path::new(OsStr::from_bytes(name)))
}

/// A no-break space: keeps two words on one line when a sentence is wrapped, and is printed as a space.
pub const GLUE: char = '\u{a0}';

/// The text with no-break spaces.
pub fn glued(text: &str) -> String {
    text.replace(' ', &GLUE.to_string())
}

/// The text with ordinary spaces, for output that is not wrapped.
pub fn plain(text: &str) -> String {
    text.replace(GLUE, " ")
}

/// `1 page`, `2 340 pages`, `3 libraries`, `4 addresses`, on one line when it is wrapped.
pub fn counted(count: u64, noun: &str) -> String {
    glued(&numbers::counted(count, noun))
}

/// `1 file is`, `2 files are`: a count as the subject of a sentence.
pub fn counted_are(count: u64, noun: &str) -> String {
    format!("{} {}", counted(count, noun), if count == 1 { "is" } else { "are" })
}

/// The size in bytes, on one line when it is wrapped.
pub fn size(count: u64) -> String {
    glued(&numbers::bytes(count))
}

/// The number, on one line when it is wrapped.
pub fn number(count: u64) -> String {
    glued(&numbers::grouped(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns_follow_their_number() {
        assert_eq!(plain(&counted(1, "library")), "1 library");
        assert_eq!(plain(&counted(2_000, "library")), "2 000 libraries");
        assert_eq!(plain(&counted(0, "page")), "0 pages");
        assert_eq!(plain(&counted(3, "address")), "3 addresses");
        assert_eq!(plain(&counted_are(1, "file")), "1 file is");
        assert_eq!(plain(&counted_are(2, "file")), "2 files are");
    }
}
