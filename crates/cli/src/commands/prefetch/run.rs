//! `coldstart prefetch run`: replay a plan and become the program.
//!
//! This is on the critical path of every start, and its failures must never affect the user's program: an error in the plan
//! costs one line on stderr, and the program starts.

use std::ffi::OsString;
use std::path::Path;

use coldstart_app::prefetch::replay;
use coldstart_prefetch::replay_beside;
use coldstart_sys::become_program::become_program;

use crate::args::prefetch::RunArgs;
use crate::commands::launching::not_started;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::text::{counted, plain};
use crate::output::{self, size};

pub(crate) fn run(args: &RunArgs) -> Result<Exit, CliError> {
    if args.words.is_empty() {
        return replay_only(&args.plan);
    }
    if let Err(reason) = replay_beside(&args.plan) {
        output::complain(&output::style::NOTE, "coldstart", &format!("started without prefetch: {reason}"));
    }
    Ok(start(&args.words))
}

fn start(words: &[OsString]) -> Exit {
    let Err(error) = become_program(words);
    not_started(words, &error)
}

/// Without a program: replays and prints the result.
fn replay_only(path: &Path) -> Result<Exit, CliError> {
    let done = replay(path)?;
    output::print(&format!(
        "{} in {:.3} s (predicted {:.3} s from a cold cache): {} requested, {} left out\n",
        plain(&counted(done.steps, "step")),
        done.seconds,
        done.predicted_seconds,
        size::bytes(done.bytes),
        plain(&counted(done.left_out, "step")),
    ))?;
    Ok(Exit::Done)
}
