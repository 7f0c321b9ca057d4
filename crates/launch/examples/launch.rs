//! Launches a program and tells how long it took to be ready: `launch READINESS PROGRAM [ARGUMENT...]`.
//!
//! Exits as the program did, or with 128 + signal when interrupted. With `grace:` before READINESS the program has a
//! minute to end instead of two seconds; with `input:` it gets our standard input.

use std::process::ExitCode;
use std::time::Duration;

use coldstart_launch::{CommandLine, End, Input, Interrupt, LaunchError, LaunchOptions, Output, launch};

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            match error.downcast_ref::<LaunchError>() {
                Some(LaunchError::Interrupted { signal }) => code(128 + signal),
                _ => ExitCode::from(2),
            }
        }
    }
}

fn run() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let mut words = std::env::args_os().skip(1);
    let readiness = words.next().unwrap_or_default().into_string().map_err(|_| "READINESS is not UTF-8")?;
    let (grace, readiness) = match readiness.strip_prefix("grace:") {
        Some(rest) => (Duration::from_secs(60), rest),
        None => (LaunchOptions::DEFAULT_GRACE, readiness.as_str()),
    };
    let (input, readiness) = match readiness.strip_prefix("input:") {
        Some(rest) => (Input::Inherit, rest),
        None => (Input::Null, readiness),
    };
    let options = LaunchOptions {
        input,
        readiness: readiness.parse()?,
        grace,
        output: Output::Inherit,
        interrupt: Some(Interrupt::listen()?),
        ..LaunchOptions::default()
    };
    let launched = launch(&CommandLine::from_words(words)?, &options, None, &mut || {})?;
    eprintln!("{launched:#?}");
    Ok(match launched.end {
        End::Exited(number) => code(number),
        End::Signalled(signal) => code(128 + signal),
        End::Ended => ExitCode::SUCCESS,
        End::TimedOut => ExitCode::from(124),
    })
}

fn code(number: i32) -> ExitCode {
    ExitCode::from(u8::try_from(number).unwrap_or(u8::MAX))
}
