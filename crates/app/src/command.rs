//! Commands in advice, written so that they can be pasted into a shell.

use std::ffi::OsStr;

use coldstart_profile::shell_word;

use crate::text::glued;

/// `coldstart VERB WORDS`, each word quoted as far as a shell needs it. `verb` is the verb with its options.
pub fn of_ours<'word>(verb: &str, words: impl IntoIterator<Item = &'word OsStr>) -> String {
    let words = words.into_iter().map(|word| format!(" {}", shell_word(word)));
    format!("coldstart {verb}{}", words.collect::<String>())
}

/// A command of plain words and a path as [`of_ours_in_prose`] writes it.
pub fn in_prose(words: &[&str], path: impl AsRef<OsStr>) -> String {
    format!("{} {}", words.join(" "), glued(&shell_word(path.as_ref())))
}

/// [`of_ours`] with the spaces inside words such that no line ends at them (see [`glued`]).
pub fn of_ours_in_prose(verb: &str, word: impl AsRef<OsStr>) -> String {
    format!("coldstart {verb} {}", glued(&shell_word(word.as_ref())))
}
