//! Commands in hints, quoted for a shell.

use std::ffi::OsStr;

use coldstart_profile::shell_word;

use crate::text::glued;

/// `coldstart VERB WORDS`, with shell quoting where needed. `verb` includes its options.
pub fn of_ours<'word>(verb: &str, words: impl IntoIterator<Item = &'word OsStr>) -> String {
    let words = words.into_iter().map(|word| format!(" {}", shell_word(word)));
    format!("coldstart {verb}{}", words.collect::<String>())
}

/// A command of words that need no quoting and a path, as [`of_ours_in_prose`] formats it.
pub fn in_prose(words: &[&str], path: impl AsRef<OsStr>) -> String {
    format!("{} {}", words.join(" "), glued(&shell_word(path.as_ref())))
}

/// [`of_ours`] with no-break spaces inside words (see [`glued`]).
pub fn of_ours_in_prose(verb: &str, word: impl AsRef<OsStr>) -> String {
    format!("coldstart {verb} {}", glued(&shell_word(word.as_ref())))
}
