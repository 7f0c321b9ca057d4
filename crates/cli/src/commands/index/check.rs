//! `coldstart index check`.

use coldstart_app::index::{ChangedPath, CheckOutcome, check};

use crate::args::index::CheckArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::path::printable;
use crate::output::text::{counted, plain};
use crate::output::{self, json};

/// Changes that are listed of each kind.
const MOST_LISTED: usize = 50;

pub(super) fn run(args: &CheckArgs) -> Result<Exit, CliError> {
    let outcome = check(&args.index)?;
    if args.json {
        json::print("coldstart.index-check/1", &outcome)?;
    } else {
        output::print(&in_words(&outcome))?;
    }
    Ok(if outcome.fresh { Exit::Done } else { Exit::No })
}

fn in_words(outcome: &CheckOutcome) -> String {
    let mut text = String::new();
    for part in &outcome.languages {
        text.push_str(&format!(
            "{}: {} and {} checked, {} and {} changed\n",
            part.language.name(),
            plain(&counted(part.guards, "directory")),
            plain(&counted(part.sources, "source")),
            part.changed_directories.len(),
            part.changed_sources.len(),
        ));
        if !part.has_interpreter {
            text.push_str("  the interpreter is gone\n");
        }
        list(&mut text, &part.changed_directories);
        list(&mut text, &part.changed_sources);
    }
    text
}

fn list(text: &mut String, changed: &[ChangedPath]) {
    for ChangedPath { path, change, .. } in changed.iter().take(MOST_LISTED) {
        text.push_str(&format!("  `{}` {}\n", printable(path), change.words()));
    }
    if let Some(more) = changed.len().checked_sub(MOST_LISTED).filter(|more| *more > 0) {
        text.push_str(&format!("  and {more} more\n"));
    }
}
