//! Text in pictures and on terminals: escaped names, numbers, sizes, moments.
//!
//! A name in a trace may be anything: markup, terminal escapes, marks that turn the direction of writing. Each passes
//! through here.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use coldstart_profile::printable;
use coldstart_profile::trace::{Run, StartState};

use crate::dates::minute;
pub(crate) use crate::numbers::{bytes as size, counted, grouped, percent};

/// A name as [`printable`] shows it, without the two characters that XML has no place for (XML 1.0, section 2.2).
pub(crate) fn harmless(bytes: &[u8]) -> String {
    printable(Path::new(OsStr::from_bytes(bytes))).replace('\u{fffe}', "\\u{fffe}").replace('\u{ffff}', "\\u{ffff}")
}

/// The same of text.
pub(crate) fn harmless_text(text: &str) -> String {
    harmless(text.as_bytes())
}

/// The same of a path.
pub(crate) fn harmless_path(path: &Path) -> String {
    harmless(path.as_os_str().as_bytes())
}

/// The last part of a path, harmless.
pub(crate) fn file_name(path: &Path) -> String {
    harmless(path.file_name().unwrap_or(path.as_os_str()).as_bytes())
}

/// `a, b and c`.
pub(crate) fn list(names: &[String]) -> String {
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// A length of time: `0.71 ms`, `12.3 ms`, `712 ms`, `3.116 s`.
pub(crate) fn duration(nanoseconds: u64) -> String {
    let seconds = nanoseconds as f64 / 1e9;
    match nanoseconds {
        0..10_000_000 => format!("{:.2} ms", seconds * 1e3),
        10_000_000..100_000_000 => format!("{:.1} ms", seconds * 1e3),
        100_000_000..1_000_000_000 => format!("{:.0} ms", seconds * 1e3),
        1_000_000_000..10_000_000_000 => format!("{seconds:.3} s"),
        _ => format!("{seconds:.2} s"),
    }
}

/// `2026-11-22 00:47 UTC`; beyond the year 9999, where only a damaged file leads, the seconds alone.
pub(crate) fn date(seconds: i64) -> String {
    let minute = minute(seconds);
    if minute.starts_with('@') { minute } else { format!("{minute} UTC") }
}

/// The command, its program without the directory.
pub(crate) fn command(run: &Run) -> String {
    let words = run.command.iter().enumerate().map(|(place, word)| match place {
        0 => file_name(Path::new(word)),
        _ => harmless(word.as_bytes()),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// The caches before the launch.
pub(crate) fn state(state: StartState) -> &'static str {
    match state {
        StartState::AsIs => "caches as they happened to be",
        StartState::Cold => "cold: all caches dropped before",
        StartState::FilesEvicted => "cold files: the program's own files evicted before",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_do_anything() {
        assert_eq!(harmless(b"a\nb\x1b[31m\xff"), "a\\nb\\u{1b}[31m\\xff");
        assert_eq!(harmless("a\u{ad}b\u{e0041}".as_bytes()), "a\\u{ad}b\\u{e0041}");
        assert_eq!(harmless("a\u{202e}b\u{fffe}ö\u{85}".as_bytes()), "a\\u{202e}b\\u{fffe}ö\\u{85}");
        assert_eq!(file_name(Path::new("/a/b.so")), "b.so");
        assert_eq!(file_name(Path::new("/")), "/");
    }

    #[test]
    fn numbers_are_read_easily() {
        assert_eq!((counted(1, "touch"), counted(1234, "touch")), ("1 touch".to_owned(), "1 234 touches".to_owned()));
        assert_eq!(
            (size(999), size(1500), size(u64::MAX)),
            ("999 B".to_owned(), "1.5 kB".to_owned(), "18.4 EB".to_owned())
        );
        assert_eq!(list(&["a".to_owned(), "b".to_owned(), "c".to_owned()]), "a, b and c");
        assert_eq!(
            (date(1_795_308_420), date(i64::MAX)),
            ("2026-11-22 00:47 UTC".to_owned(), "@9223372036854775807".to_owned())
        );
    }
}
