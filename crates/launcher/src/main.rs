//! `coldstart-run [--index DIR] [PLAN|IMAGE] -- PROGRAM ARGS`: what `coldstart prefetch run`, `coldstart image run` and `coldstart index run`
//! do, in a program small enough not to matter.
//!
//! On a cold disk the launcher itself is read page by page, before it can read anything ahead. `coldstart`
//! with all its verbs costs 0.4 s on a 7,200 rpm disk, this program less than half of that
//! (docs/decisions/0004-a-small-launcher.md). So: no argument parser, no tables, no dependencies but the replay itself.

use std::error::Error;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use coldstart_image::start::{open_if_image, start_from_open};
use coldstart_prefetch::replay_beside;
use coldstart_sys::become_program::become_program_with;
use coldstart_sys::own_program::ask_for_own_program;

/// What to start, and with what.
struct Request {
    index: Option<PathBuf>,
    plan_or_image: Option<PathBuf>,
    program: Vec<OsString>,
}

fn main() -> ExitCode {
    let Some(request) = parse(std::env::args_os().skip(1)) else { return usage() };
    ask_for_own_program();
    // Before the index, which takes threads: the replay's process must be made while there is one. So the replay goes on
    // while the index is asked, and what is asked is what the program sees, which an image may cover.
    if let Some(file) = &request.plan_or_image {
        replay_or_mount(file, &request.program);
    }
    let variables = request.index.as_deref().map(with_index).unwrap_or_default();
    let Err(error) = become_program_with(&request.program, &variables);
    say(&format!("coldstart: error: cannot start `{}`: {error}", request.program[0].display()));
    // The codes of the shell, `env` and `timeout`.
    ExitCode::from(if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 })
}

/// `None`: wrong usage.
fn parse(words: impl Iterator<Item = OsString>) -> Option<Request> {
    let mut words = words.peekable();
    let index = match words.next_if(|word| word == "--index") {
        Some(_) => Some(PathBuf::from(words.next()?)),
        None => None,
    };
    let plan_or_image = words.next_if(|word| word != "--").map(PathBuf::from);
    if index.is_none() && plan_or_image.is_none() || words.next()? != "--" {
        return None;
    }
    let program: Vec<OsString> = words.collect();
    (!program.is_empty()).then_some(Request { index, plan_or_image, program })
}

fn replay_or_mount(file: &Path, program: &[OsString]) {
    if let Some(image) = open_if_image(file) {
        if let Err(reason) = start_from_open(file, &image, program) {
            say(&format!("coldstart: started without the image: {reason}"));
        }
    } else if let Err(reason) = replay_beside(file) {
        say(&format!("coldstart: started without prefetch: {reason}"));
    }
}

/// The variables of an index; none if it cannot be used.
fn with_index(index: &Path) -> Vec<(OsString, OsString)> {
    match coldstart_index::prepare(index) {
        Ok(prepared) => {
            if let Some(warning) = prepared.warning() {
                say(&format!("coldstart: {warning}"));
            }
            prepared.variables
        }
        Err(error) => {
            let causes = std::iter::successors(error.source(), |&cause| cause.source());
            let reason = causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"));
            say(&format!("coldstart: started without the index: {reason}"));
            Vec::new()
        }
    }
}

fn usage() -> ExitCode {
    say(
        "usage: coldstart-run [--index DIR] [PLAN|IMAGE] -- PROGRAM [ARGUMENT]...\n\nWith an index, a plan or an image, or an index and one of the others. \
         Equivalent to `coldstart index run`, `coldstart prefetch run` and `coldstart image run`, see their help.",
    );
    ExitCode::from(2)
}

/// `eprintln!` would panic if stderr is closed, and prevent the program from starting.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
