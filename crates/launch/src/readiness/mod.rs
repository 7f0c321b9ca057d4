//! The moment that counts as "started": one file for each kind.
//!
//! A kind is asked by [`watch`] for a [`Watch`], which the launch then polls together with the program's end and the
//! user's Ctrl-C. No kind has a thread: a second thread of ours would compete with the program that is being timed.

mod exit;
mod port;
mod stdout;

use std::fmt;
use std::os::fd::BorrowedFd;
use std::process::{Child, Command};
use std::str::FromStr;
use std::time::Duration;

use regex::bytes::Regex;
use thiserror::Error;

use crate::error::LaunchError;
use crate::options::Output;

/// The moment that counts as "started". Reads from and shows as `exit`, `stdout:REGEX`, `port:N`.
#[derive(Clone, Debug)]
pub enum Readiness {
    /// The first process exits. Death by a signal does not count.
    Exit,
    /// A line of standard output, or the unfinished last one, matches. The line's end is not part of it, so `$` works.
    Stdout(Regex),
    /// The TCP port accepts a connection on 127.0.0.1 or ::1.
    Port(u16),
}

/// Why words do not name a readiness.
#[derive(Clone, Debug, Error)]
pub enum ReadinessError {
    /// The kind is unknown.
    #[error("unknown readiness `{0}`: expected exit, stdout:REGEX or port:NUMBER")]
    UnknownKind(String),
    /// A kind that needs a value has none, or the reverse.
    #[error("{0}")]
    Value(&'static str),
    /// The regular expression cannot be read.
    #[error("the regular expression of stdout:REGEX is wrong: {0}")]
    Regex(#[from] regex::Error),
    /// Not a port number.
    #[error("`{0}` is not a TCP port: expected port:NUMBER with a number from 1 to 65535")]
    Port(String),
}

impl FromStr for Readiness {
    type Err = ReadinessError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (kind, value) = match text.split_once(':') {
            Some((kind, value)) => (kind, Some(value)),
            None => (text, None),
        };
        match (kind, value) {
            ("exit", None) => Ok(Self::Exit),
            ("exit", Some(_)) => Err(ReadinessError::Value("readiness `exit` takes no value")),
            ("stdout", Some(pattern)) if !pattern.is_empty() => Ok(Self::Stdout(Regex::new(pattern)?)),
            ("stdout", _) => Err(ReadinessError::Value("readiness `stdout` needs a regular expression: stdout:REGEX")),
            ("port", Some(number)) => match number.parse() {
                Ok(port) if port != 0 => Ok(Self::Port(port)),
                _ => Err(ReadinessError::Port(number.to_owned())),
            },
            ("port", None) => Err(ReadinessError::Value("readiness `port` needs a number: port:NUMBER")),
            _ => Err(ReadinessError::UnknownKind(text.to_owned())),
        }
    }
}

impl fmt::Display for Readiness {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exit => formatter.write_str("exit"),
            Self::Stdout(pattern) => write!(formatter, "stdout:{pattern}"),
            Self::Port(port) => write!(formatter, "port:{port}"),
        }
    }
}

/// Patterns are compared by their text.
impl PartialEq for Readiness {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

/// Waiting for one kind of readiness during one launch.
pub(crate) trait Watch {
    /// Last changes to the command, and checks, before the clock starts.
    fn prepare(&mut self, _command: &mut Command) -> Result<(), LaunchError> {
        Ok(())
    }

    /// Takes what it needs of the program just started. Time is running.
    fn started(&mut self, _child: &mut Child) -> Result<(), LaunchError> {
        Ok(())
    }

    /// What becomes readable when there is something to look at.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// How often to look when no descriptor tells.
    fn interval(&self) -> Option<Duration> {
        None
    }

    /// Looks whether the program is ready now. `descriptor_ready` says whether the descriptor became readable.
    fn look(&mut self, descriptor_ready: bool) -> Result<bool, LaunchError>;

    /// Keeps the program from blocking on us once we no longer look.
    fn drain(&mut self) {}

    /// Whether the exit of the first process is what is waited for.
    fn is_exit(&self) -> bool {
        false
    }
}

/// The watch for a readiness.
pub(crate) fn watch(readiness: &Readiness, output: &Output) -> Box<dyn Watch> {
    match readiness {
        Readiness::Exit => Box::new(exit::ExitWatch),
        Readiness::Stdout(pattern) => Box::new(stdout::StdoutWatch::new(pattern.clone(), output.clone())),
        Readiness::Port(port) => Box::new(port::PortWatch::new(*port)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_reads_back() {
        for text in ["exit", "stdout:ready: .*$", "port:8080"] {
            assert_eq!(text.parse::<Readiness>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn wrong_words_get_an_answer_that_helps() {
        let message = |text: &str| text.parse::<Readiness>().unwrap_err().to_string();
        assert_eq!(message("window"), "unknown readiness `window`: expected exit, stdout:REGEX or port:NUMBER");
        assert_eq!(message("stdout:"), "readiness `stdout` needs a regular expression: stdout:REGEX");
        assert!(message("stdout:(").contains("regular expression"));
        for number in ["0", "65536", "http", ""] {
            assert!(message(&format!("port:{number}")).contains("1 to 65535"), "{number}");
        }
        assert_eq!(message("exit:0"), "readiness `exit` takes no value");
    }
}
