//! `coldstart index show`.

use coldstart_app::index::{ShowOutcome, ShownLanguage, show};
use coldstart_index::Language;

use crate::args::index::ShowArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::path::printable;
use crate::output::text::{counted, fact, plain};
use crate::output::{self, json, size};

pub(super) fn run(args: &ShowArgs) -> Result<Exit, CliError> {
    let outcome = show(&args.index)?;
    if args.json {
        json::print("coldstart.index/1", &outcome)?;
    } else {
        output::print(&in_words(&outcome, args.limit))?;
    }
    Ok(Exit::Done)
}

fn in_words(outcome: &ShowOutcome, limit: usize) -> String {
    let mut text = fact("program", &outcome.command);
    for part in &outcome.languages {
        if part.language == Language::Any {
            text.push_str(&fact("language", &format!("any; recorded of `{}`", printable(&part.interpreter))));
            text.push_str(&fact("names", &format!("{} known to be absent", part.missing)));
            text.push_str(&directories(part, limit));
            continue;
        }
        let interpreter = format!("{} {}, `{}`", part.language.name(), part.version, printable(&part.interpreter));
        text.push_str(&fact("language", &interpreter));
        let names = plain(&counted(part.modules, "module"));
        text.push_str(&fact("names", &format!("{names}, {} known to be absent", part.missing)));
        let packed = plain(&counted(part.packed, "module"));
        text.push_str(&fact("pack", &format!("code of {packed}, {}", size::bytes(part.pack_bytes))));
        text.push_str(&directories(part, limit));
    }
    text
}

fn directories(part: &ShownLanguage, limit: usize) -> String {
    let limit = if limit == 0 { usize::MAX } else { limit };
    let mut text = fact("checks", &plain(&counted(part.directories.len() as u64, "path")));
    for path in part.directories.iter().take(limit) {
        text.push_str(&format!("  {}\n", printable(path)));
    }
    if let Some(more) = part.directories.len().checked_sub(limit).filter(|more| *more > 0) {
        text.push_str(&format!("  and {more} more (--limit 0 lists all)\n"));
    }
    text
}
