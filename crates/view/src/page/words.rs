//! Text in the head of a page.

use std::ffi::OsString;
use std::path::Path;

use super::TraceSource;

/// The longest command line in a title, in characters.
const LONGEST_TITLE: usize = 90;

/// What the page is about.
pub(super) fn title(first: &TraceSource<'_>, second: Option<&TraceSource<'_>>) -> String {
    let of = |source: &TraceSource<'_>| cut(&command(&source.trace.run.command));
    let (first, second) = (of(first), second.map(of));
    match second {
        None if first.is_empty() => "A start".to_owned(),
        None => first,
        Some(second) if first == second => format!("{first}: two starts"),
        Some(second) => format!("{first} and {second}"),
    }
}

/// The program's name and its arguments.
fn command(words: &[OsString]) -> String {
    let program = words.first().map(|word| Path::new(word).file_name().unwrap_or(word).to_string_lossy());
    let arguments = words.iter().skip(1).map(|word| word.to_string_lossy());
    program.into_iter().chain(arguments).collect::<Vec<_>>().join(" ")
}

fn cut(words: &str) -> String {
    match words.char_indices().nth(LONGEST_TITLE) {
        Some((end, _)) => format!("{}\u{2026}", words.get(..end).unwrap_or(words)),
        None => words.to_owned(),
    }
}

/// Words of a command line, as text.
pub(super) fn texts(words: &[OsString]) -> Vec<String> {
    words.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// A path as text. Bytes that are not UTF-8 become U+FFFD.
pub(super) fn path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_commands_are_cut_between_characters() {
        let words = [OsString::from("/usr/bin/p"), "\u{e9}".repeat(200).into()];
        let command = command(&words);
        assert!(command.starts_with("p \u{e9}"));
        assert_eq!(cut(&command).chars().count(), LONGEST_TITLE + 1);
    }
}
