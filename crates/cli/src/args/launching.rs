//! Starting, waiting for and ending a program: the same arguments for every verb.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use coldstart_launch::Readiness;

#[derive(Clone, Debug, Args)]
pub(crate) struct LaunchingArgs {
    #[command(flatten)]
    pub(crate) waiting: WaitingArgs,

    /// Regular file as the program's standard input, read from its beginning at each start [default: empty]
    #[arg(long, value_name = "FILE")]
    pub(crate) input: Option<PathBuf>,

    /// Show the program's own output
    // The program's output would be mixed with ours.
    #[arg(long, conflicts_with = "json")]
    pub(crate) show_output: bool,
}

/// Readiness and its time limit.
#[derive(Clone, Debug, Args)]
pub(crate) struct WaitingArgs {
    /// When the program counts as started
    ///
    /// exit: it exits; stdout:REGEX: a line of its output matches; port:N: a TCP port of this machine accepts connections;
    /// http:URL: a GET is answered with status 2xx; file:PATH: the file appears or is written; notify: it reports readiness
    /// (sd_notify); window, window:DISPLAY: its first window is mapped on an X display; page: a browser shows our page,
    /// whose address replaces {ready_url} in its arguments
    #[arg(long, value_name = "WHEN", default_value = "exit")]
    pub(crate) ready: Readiness,

    /// Give up on a start after this many seconds
    #[arg(
        long,
        value_name = "SECONDS",
        default_value = "120",
        allow_negative_numbers = true,
        value_parser = some_seconds
    )]
    pub(crate) time_limit: Duration,

    /// Seconds between SIGTERM and SIGKILL for the remaining processes of a start
    #[arg(long, value_name = "SECONDS", default_value = "3", allow_negative_numbers = true, value_parser = seconds)]
    pub(crate) grace: Duration,
}

/// The program and its arguments, after `--`.
#[derive(Clone, Debug, Args)]
pub(crate) struct ProgramArgs {
    /// The program to start, and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    pub(crate) words: Vec<OsString>,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 = text.parse().map_err(|_| format!("`{text}` is not a number of seconds"))?;
    Duration::try_from_secs_f64(number).map_err(|_| format!("`{text}` is not a number of seconds from 0 on"))
}

/// A limit of 0 would make readiness a matter of chance.
fn some_seconds(text: &str) -> Result<Duration, String> {
    seconds(text)
        .ok()
        .filter(|duration| !duration.is_zero())
        .ok_or_else(|| format!("`{text}` is not a number of seconds above 0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_output_does_not_mix_with_what_scripts_read() {
        for words in ["measure --json", "measure --export csv", "prefetch record --json", "speedup --json"] {
            let line = format!("coldstart {words} --show-output -- true");
            let parsed = <crate::args::Cli as clap::Parser>::try_parse_from(line.split(' '));
            assert_eq!(parsed.unwrap_err().kind(), clap::error::ErrorKind::ArgumentConflict, "{words}");
        }
    }

    #[test]
    fn a_limit_leaves_some_time_and_a_grace_need_not() {
        assert_eq!(some_seconds("0.5"), seconds("0.5"));
        assert_eq!(seconds("0"), Ok(Duration::ZERO));
        for text in ["0", "-0", "1e-99", "-1", "nan", "inf", "1e300", "", "2s"] {
            assert!(some_seconds(text).unwrap_err().contains(text), "{text}");
        }
    }
}
