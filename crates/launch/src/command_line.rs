//! A program and its arguments.
//!
//! The quoted form is for display and for pasting into a shell; we never run a shell, and do not parse `$'...'` ourselves.

use std::ffi::OsString;
use std::fmt;
use std::str::FromStr;

use coldstart_profile::shell_command;
use thiserror::Error;

/// A program and its arguments; the program may be a bare name that is looked up in `PATH`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CommandLine {
    /// The program: a path if it contains a slash, else a name to look up.
    pub program: OsString,
    /// Its arguments, without the program's own name.
    pub arguments: Vec<OsString>,
}

/// Why a command line is invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CommandLineError {
    /// It is empty.
    #[error("the command line is empty")]
    Empty,
    /// A quotation mark is not closed.
    #[error("a quotation mark is not closed in `{text}`")]
    Quoting {
        /// The text as given.
        text: String,
    },
}

impl CommandLine {
    /// A command line of a program and its arguments.
    pub fn new<A: Into<OsString>>(program: impl Into<OsString>, arguments: impl IntoIterator<Item = A>) -> Self {
        Self { program: program.into(), arguments: arguments.into_iter().map(Into::into).collect() }
    }

    /// The first word is the program, the rest are its arguments.
    ///
    /// # Errors
    /// [`CommandLineError::Empty`] if there is no word, or the first is empty.
    pub fn from_words(words: impl IntoIterator<Item = OsString>) -> Result<Self, CommandLineError> {
        let mut words = words.into_iter();
        match words.next() {
            Some(program) if !program.is_empty() => Ok(Self { program, arguments: words.collect() }),
            _ => Err(CommandLineError::Empty),
        }
    }
}

/// Splits one string into words as a POSIX shell would, without expanding variables, wildcards or `~`.
impl FromStr for CommandLine {
    type Err = CommandLineError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let words = shell_words::split(text).map_err(|_| CommandLineError::Quoting { text: text.to_owned() })?;
        Self::from_words(words.into_iter().map(OsString::from))
    }
}

/// The words as they can be pasted into a shell, see [`shell_word`](coldstart_profile::shell_word).
impl fmt::Display for CommandLine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = std::iter::once(&self.program).chain(&self.arguments);
        formatter.write_str(&shell_command(words.map(OsString::as_os_str)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_split_and_never_expanded() {
        let line: CommandLine = r#"prog 'a b' "c\"d" $HOME ~ * e\ f"#.parse().unwrap();
        assert_eq!(line, CommandLine::new("prog", ["a b", "c\"d", "$HOME", "~", "*", "e f"]));
    }

    #[test]
    fn nothing_and_open_quotes_are_named() {
        for text in ["", "   ", "''", "'' a"] {
            assert_eq!(text.parse::<CommandLine>(), Err(CommandLineError::Empty), "{text:?}");
        }
        let error = "a 'b".parse::<CommandLine>().unwrap_err();
        assert_eq!(error.to_string(), "a quotation mark is not closed in `a 'b`");
    }

    proptest! {
        #[test]
        fn what_is_shown_reads_back(program in r"[\p{L}\p{N}\p{P}\p{S} ]{1,12}", arguments in prop::collection::vec(r"[\p{L}\p{N}\p{P}\p{S} ]{0,12}", 0..5)) {
            let line = CommandLine::new(&program, &arguments);
            // What shows nothing is written in a way that only shells read.
            prop_assume!(!line.to_string().contains("$'"));
            prop_assert_eq!(line.to_string().parse::<CommandLine>(), Ok(line));
        }
    }
}
