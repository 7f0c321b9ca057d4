//! Shared by the verbs that rewrite files: from arguments to options, and the exit.

mod proof;
mod refused;

use std::path::Path;

use coldstart_app::rewriting::{Destination, Outcome, PlaceOptions, Task, Worked};
use coldstart_launch::Interrupt;

use super::observer::Console;
use crate::args::rewriting::PlaceArgs;
use crate::error::Complaints;
use crate::exit::Exit;
use crate::output;
use crate::output::path::printable;
use crate::output::text::{counted, plain};

pub(super) use proof::proof_words;
pub(super) use refused::{complain_refused, refused_part};

/// Where results shall go.
pub(super) fn place(args: &PlaceArgs) -> PlaceOptions {
    PlaceOptions { output: args.output.clone(), force: args.force.force, in_place: args.in_place }
}

/// A file and the path of its result: "`a.so` in place", "`a.so` into `b.so`".
pub(super) fn into_words(place: &Destination, task: &Task, result: &Path) -> String {
    let name = printable(&task.path);
    match place {
        Destination::InPlace => format!("`{name}` in place"),
        _ => format!("`{name}` into `{}`", printable(result)),
    }
}

/// Ends a verb: prints errors and, with `says_why`, refusals of given files, then hints; returns the exit code.
pub(super) fn finish<D>(
    verb: &str,
    done: Vec<(Task, Worked<D>)>,
    says_why: bool,
    console: Console,
    interrupt: &Interrupt,
    not_begun: u64,
) -> Exit {
    let mut complaints = console.into_complaints();
    let refused = complain(verb, done, says_why, &mut complaints);
    let exit = complaints.finish().worse(refused);
    if interrupt.signal().is_none() {
        return exit;
    }
    output::note(&plain(&format!(
        "stopped by a signal: {} not begun, all others complete",
        counted(not_begun, "file")
    )));
    exit.worse(Exit::Interrupted)
}

/// Prints errors, and returns whether a given file was refused; with `says_why`, prints why.
fn complain<D>(verb: &str, done: Vec<(Task, Worked<D>)>, says_why: bool, complaints: &mut Complaints) -> Exit {
    let mut exit = Exit::Done;
    for (task, worked) in done {
        match worked.outcome {
            Outcome::Refused(reason) if task.is_named => {
                exit = Exit::No;
                if says_why {
                    complain_refused(verb, &task.path, &reason);
                }
            }
            Outcome::Failed(error) => complaints.add(error),
            _ => {}
        }
    }
    exit
}
