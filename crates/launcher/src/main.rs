//! `coldstart-run PLAN|IMAGE -- PROGRAM ARGS`: what `coldstart prefetch run` and `coldstart image run` do, in a program small enough not to
//! matter.
//!
//! On a cold disk the launcher itself is read page by page, before it can read anything ahead. `coldstart`
//! with all its verbs costs 0.4 s on a 7,200 rpm disk, this program less than half of that
//! (docs/decisions/0004-a-small-launcher.md). So: no argument parser, no tables, no dependencies but the replay itself.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use coldstart_image::start::{open_if_image, start_from_open};
use coldstart_prefetch::replay_beside;
use coldstart_sys::become_program::become_program;
use coldstart_sys::own_program::ask_for_own_program;

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let (Some(file), Some(separator)) = (words.next(), words.next()) else { return usage() };
    let program: Vec<OsString> = words.collect();
    if separator != "--" || program.is_empty() {
        return usage();
    }
    ask_for_own_program();
    let file = Path::new(&file);
    if let Some(image) = open_if_image(file) {
        if let Err(reason) = start_from_open(file, &image, &program) {
            say(&format!("coldstart: started without the image: {reason}"));
        }
    } else if let Err(reason) = replay_beside(file) {
        say(&format!("coldstart: started without prefetch: {reason}"));
    }
    let Err(error) = become_program(&program);
    say(&format!("coldstart: error: cannot start `{}`: {error}", program[0].display()));
    // The codes of the shell, `env` and `timeout`.
    ExitCode::from(if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 })
}

fn usage() -> ExitCode {
    say(
        "usage: coldstart-run PLAN|IMAGE -- PROGRAM [ARGUMENT]...\n\nEquivalent to `coldstart prefetch run` and `coldstart image run`, see their help.",
    );
    ExitCode::from(2)
}

/// `eprintln!` would panic if stderr is closed, and prevent the program from starting.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
