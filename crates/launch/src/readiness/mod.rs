//! The moment that counts as "started": one file for each kind.
//!
//! [`watch`] creates a [`Watch`] for each kind, which the launch then polls together with the program's end and the
//! user's Ctrl-C. No kind has a thread: a second thread of ours would compete with the measured program.

mod exit;
mod file;
pub(crate) mod http;
pub(crate) mod notify;
pub(crate) mod page;
mod port;
mod stdout;
mod window;

use std::fmt;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::str::FromStr;
use std::time::{Duration, Instant};

use regex::bytes::Regex;
use thiserror::Error;

use crate::command_line::CommandLine;
use crate::error::LaunchError;
use crate::output::Output;
use crate::tree::Tree;

pub use http::HttpUrl;
pub use window::DisplayError;

/// The moment that counts as "started". Reads from and shows as `exit`, `stdout:REGEX`, `port:N`, `http:URL`, `file:PATH`,
/// `notify`, `window`, `window:DISPLAY`, `page`.
#[derive(Clone, Debug)]
pub enum Readiness {
    /// The first process exits. Death by a signal does not count.
    Exit,
    /// A line of standard output, or the unfinished last one, matches. The line's end is not part of it, so `$` works.
    Stdout(Regex),
    /// The TCP port accepts a connection on 127.0.0.1 or ::1.
    Port(u16),
    /// A GET request is answered with status 2xx, as soon as the status line is complete. Redirects are not followed. Parsed from a
    /// URL alone, too: `http://localhost:8080/up`.
    Http(HttpUrl),
    /// The file appears or, if it existed before, is replaced or written. A relative path starts at the program's
    /// working directory; it is looked up in our root directory, not the program's.
    File(PathBuf),
    /// The program reports it by the protocol of `sd_notify(3)`: any process of the launch sends `READY=1`.
    Notify,
    /// The first window of the program's processes is mapped on an X display: the program's own (`DISPLAY`), or the
    /// given one, to which the program is then directed. We connect with our own `XAUTHORITY`. Wayland is disabled for the program:
    /// `WAYLAND_DISPLAY` is removed, `XDG_SESSION_TYPE` and, where it is not set, `GDK_BACKEND` are `x11`.
    ///
    /// A splash screen or an error dialog counts; a window of one pixel or for input only does
    /// not. A program whose window is opened by a running instance exits without being ready.
    Window(Option<String>),
    /// Our own page, passed to the program as `{ready_url}` in its arguments, is loaded and reports back.
    Page,
}

/// Why a readiness cannot be parsed.
#[derive(Clone, Debug, Error)]
pub enum ReadinessError {
    /// The kind is unknown.
    #[error(
        "unknown readiness `{0}`: expected exit, stdout:REGEX, port:NUMBER, http:URL, file:PATH, notify, window or page"
    )]
    UnknownKind(String),
    /// A missing or unexpected value.
    #[error("{0}")]
    Value(&'static str),
    /// Invalid regular expression.
    #[error("invalid regular expression in stdout:REGEX: {0}")]
    Regex(#[from] regex::Error),
    /// Not a port number.
    #[error("`{0}` is not a TCP port: expected port:NUMBER with a number from 1 to 65535")]
    Port(String),
    /// Not a usable URL.
    #[error("cannot request `{url}`: {reason}; expected http:URL such as http://127.0.0.1:8080/health")]
    Url {
        /// As given.
        url: String,
        /// A clause.
        reason: String,
    },
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
            ("http", Some(url)) => Ok(Self::Http(HttpUrl::parse(url)?)),
            // Refused with the reason.
            ("https", Some(_)) => Ok(Self::Http(HttpUrl::parse(text)?)),
            ("http", None) => Err(ReadinessError::Value("readiness `http` needs a URL: http:URL")),
            ("file", Some(path)) if path == "~" || path.starts_with("~/") => Err(ReadinessError::Value(
                "`~` is not expanded after `file:`: write file:$HOME/..., or file:./~/... for a directory of that name",
            )),
            ("file", Some(path)) if !path.is_empty() => Ok(Self::File(path.into())),
            ("file", _) => Err(ReadinessError::Value("readiness `file` needs a path: file:PATH")),
            ("notify", None) => Ok(Self::Notify),
            ("window", None) => Ok(Self::Window(None)),
            ("window", Some(display)) if !display.is_empty() => Ok(Self::Window(Some(display.to_owned()))),
            ("page", None) => Ok(Self::Page),
            ("notify" | "page", Some(_)) => Err(ReadinessError::Value("readiness `notify` and `page` take no value")),
            ("window", Some(_)) => Err(ReadinessError::Value("readiness `window:` needs a display, such as window::1")),
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
            Self::Http(url) => write!(formatter, "http:{url}"),
            Self::File(path) => write!(formatter, "file:{}", path.display()),
            Self::Notify => formatter.write_str("notify"),
            Self::Window(None) => formatter.write_str("window"),
            Self::Window(Some(display)) => write!(formatter, "window:{display}"),
            Self::Page => formatter.write_str("page"),
        }
    }
}

/// Patterns are compared by their text.
impl PartialEq for Readiness {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

/// Input of a readiness check.
pub(crate) struct Look<'a> {
    /// The watch's descriptor became readable, or the program ended and this is the last check.
    pub(crate) descriptor_ready: bool,
    /// When we woke up: an upper bound for the time of the event.
    pub(crate) woken: Instant,
    /// The program's processes.
    pub(crate) tree: &'a mut Tree,
}

/// Waiting for one kind of readiness during one launch.
pub(crate) trait Watch {
    /// The command line to launch instead of the given one, where readiness requires an argument.
    fn command_line(&mut self, _given: &CommandLine) -> Result<Option<CommandLine>, LaunchError> {
        Ok(None)
    }

    /// Last changes to the command, and checks, before the clock starts.
    fn prepare(&mut self, _command: &mut Command) -> Result<(), LaunchError> {
        Ok(())
    }

    /// Receives the program just started. Time is running.
    fn started(&mut self, _child: &mut Child) -> Result<(), LaunchError> {
        Ok(())
    }

    /// A descriptor that becomes readable when a check is due.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Polling interval without a descriptor.
    fn interval(&self) -> Option<Duration> {
        None
    }

    /// Checks whether the program is ready; returns the time of readiness if so.
    fn look(&mut self, look: Look<'_>) -> Result<Option<Instant>, LaunchError>;

    /// Keeps the program from blocking on us once we stop watching.
    fn drain(&mut self) {}

    /// The last state seen, if the program never became ready: a clause.
    fn last_seen(&self) -> Option<String> {
        None
    }

    /// Whether the exit of the first process is the readiness.
    fn is_exit(&self) -> bool {
        false
    }
}

/// The watch for a readiness. `directory`: the program's working directory, if not ours.
pub(crate) fn watch(readiness: &Readiness, output: &Output, directory: Option<&Path>) -> Box<dyn Watch> {
    match readiness {
        Readiness::Exit => Box::new(exit::ExitWatch),
        Readiness::Stdout(pattern) => Box::new(stdout::StdoutWatch::new(pattern.clone(), output.clone())),
        Readiness::Port(port) => Box::new(port::PortWatch::new(*port)),
        Readiness::Http(url) => Box::new(http::HttpWatch::new(url.clone())),
        Readiness::File(path) => Box::new(file::FileWatch::new(path, directory)),
        Readiness::Notify => Box::new(notify::NotifyWatch::new()),
        Readiness::Window(display) => Box::new(window::WindowWatch::new(display.clone())),
        Readiness::Page => Box::new(page::PageWatch::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_reads_back() {
        for text in [
            "exit",
            "stdout:ready: .*$",
            "port:8080",
            "http:http://127.0.0.1:8080/up?a=b",
            "file:/run/a.pid",
            "notify",
            "window",
            "window::1",
            "page",
        ] {
            assert_eq!(text.parse::<Readiness>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn the_scheme_of_a_url_may_stand_for_the_kind() {
        let short: Readiness = "http://[::1]:8080/up".parse().unwrap();
        assert_eq!(short.to_string(), "http:http://[::1]:8080/up");
    }

    #[test]
    fn wrong_words_get_an_answer_that_helps() {
        let message = |text: &str| text.parse::<Readiness>().unwrap_err().to_string();
        assert_eq!(
            message("ping"),
            "unknown readiness `ping`: expected exit, stdout:REGEX, port:NUMBER, http:URL, file:PATH, notify, window or page"
        );
        assert_eq!(message("stdout:"), "readiness `stdout` needs a regular expression: stdout:REGEX");
        assert!(message("stdout:(").contains("regular expression"));
        for number in ["0", "65536", "http", ""] {
            assert!(message(&format!("port:{number}")).contains("1 to 65535"), "{number}");
        }
        assert!(message("https://localhost/up").contains("not TLS"));
        assert!(message("file:~/ready").contains("not expanded"));
        assert_eq!(message("exit:0"), "readiness `exit` takes no value");
    }
}
