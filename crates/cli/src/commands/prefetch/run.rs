//! `coldstart prefetch run`: replay a plan and become the program.
//!
//! This stands on the critical path of every start, and its failures must never reach the user's program: whatever is
//! wrong with the plan costs one line on stderr, and the program starts.

use std::ffi::OsString;
use std::path::Path;

use coldstart_app::prefetch::replay;
use coldstart_prefetch::replay_beside;
use coldstart_sys::become_program::become_program;

use crate::args::prefetch::RunArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::text::{counted, plain};
use crate::output::{self, path::printable, size};

/// Recognises `coldstart prefetch run PLAN -- PROGRAM ...` word for word.
///
/// Building the parser for all verbs takes longer than the whole rest of the launcher, and what this form means is beyond doubt.
/// Every other form goes through the parser.
pub(crate) fn plain_form(mut words: impl Iterator<Item = OsString>) -> Option<RunArgs> {
    let mut next_is = |expected: &str| words.next().is_some_and(|word| word == expected);
    if !(next_is("prefetch") && next_is("run")) {
        return None;
    }
    let plan = words.next().filter(|plan| !plan.as_encoded_bytes().starts_with(b"-"))?;
    if words.next()? != "--" {
        return None;
    }
    let words: Vec<OsString> = words.collect();
    (!words.is_empty()).then(|| RunArgs { plan: plan.into(), words })
}

pub(crate) fn run(args: &RunArgs) -> Result<Exit, CliError> {
    if args.words.is_empty() {
        return replay_only(&args.plan);
    }
    if let Err(reason) = replay_beside(&args.plan) {
        output::complain(&output::style::NOTE, "coldstart", &format!("started without prefetch: {reason}"));
    }
    Ok(start(&args.words))
}

/// Codes 127 (not found) and 126 (found, not started) are those of the shell, `env` and `timeout`, so that scripts
/// tell a launcher's failure from the program's own codes.
fn start(words: &[OsString]) -> Exit {
    let Err(error) = become_program(words);
    let program = words.first().map(|word| printable(Path::new(word))).unwrap_or_default();
    output::complain(&output::style::ERROR, "error", &format!("cannot start `{program}`: {error}"));
    match error.kind() {
        std::io::ErrorKind::NotFound => Exit::ProgramNotFound,
        _ => Exit::ProgramNotStarted,
    }
}

/// Without a program: what a replay does, told when it is done.
fn replay_only(path: &Path) -> Result<Exit, CliError> {
    let done = replay(path)?;
    output::print(&format!(
        "{} in {:.3} s (predicted {:.3} s when all is cold): {} asked for, {} left out\n",
        plain(&counted(done.steps, "step")),
        done.seconds,
        done.predicted_seconds,
        size::bytes(done.bytes),
        plain(&counted(done.left_out, "step")),
    ))?;
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(words: &[&str]) -> Option<(String, usize)> {
        let form = plain_form(words.iter().map(OsString::from))?;
        Some((form.plan.to_string_lossy().into_owned(), form.words.len()))
    }

    #[test]
    fn only_the_exact_form_skips_the_parser() {
        assert_eq!(plain(&["prefetch", "run", "a.prefetch", "--", "true", "--help"]), Some(("a.prefetch".into(), 2)));
        for other in [
            &["prefetch", "run", "a.prefetch", "true"][..],
            &["prefetch", "run", "--help", "--", "true"],
            &["prefetch", "run", "a.prefetch", "--"],
            &["--color", "never", "prefetch", "run", "a.prefetch", "--", "true"],
            &["prefetch", "show", "a.prefetch", "--", "true"],
            &[],
        ] {
            assert_eq!(plain(other), None, "{other:?}");
        }
    }
}
