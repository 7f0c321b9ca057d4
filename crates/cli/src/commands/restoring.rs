//! Shared by `unpack` and `unbind`: the text report.

use coldstart_app::observer::Observer;
use coldstart_app::restoring::{Done, Options, Related, Report, warnings};
use coldstart_app::rewriting::{Task, Worked};
use coldstart_launch::Interrupt;
use coldstart_rewrite::ChangedFile;

use super::observer::Console;
use super::rewriting::{finish, into_words, refused_part};
use crate::args::rewriting::{ChangedArgs, ManyArgs};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::path::{fitted, printable};
use crate::output::table::MAX_WIDTH;
use crate::output::text::{counted, escaped, fact, omitted, plain, prose, size};
use crate::output::{self, json, note};

/// Maximum number of listed files without `--all`.
const SOME: usize = 20;

/// How to handle changed files.
pub(super) fn changed_file(args: &ChangedArgs) -> ChangedFile {
    match args {
        ChangedArgs { keep_payload: true, .. } => ChangedFile::KeepPayload,
        ChangedArgs { discard_changes: true, .. } => ChangedFile::Discard,
        _ => ChangedFile::Refuse,
    }
}

/// Runs `restore`, and prints the report.
pub(super) fn run(
    options: &Options,
    many_args: &ManyArgs,
    restore: impl FnOnce(&Options, &Interrupt, &Console) -> Result<Report, CliError>,
) -> Result<Exit, CliError> {
    let interrupt = Interrupt::listen()?;
    let console = Console::default();
    let mut report = restore(options, &interrupt, &console)?;
    if many_args.json {
        json::print(report.taking.schema, &report)?;
    } else {
        match report.done.as_slice() {
            [(task, worked)] if report.is_one => output::print(&one(&report, task, worked))?,
            [] if console.has_errors() => {}
            _ => output::print(&many(&report, many_args.all))?,
        }
        for (task, worked) in &report.done {
            for warning in warnings(task, worked) {
                note(&warning);
            }
        }
    }
    for (_, worked) in &mut report.done {
        worked.take_failed().into_iter().for_each(|error| console.error(error));
    }
    let says_why = report.is_one && !many_args.json;
    Ok(finish(report.taking.verb, report.done, says_why, console, &interrupt, report.total.not_begun))
}

/// The report on the only file; empty after an error or a refusal.
fn one(report: &Report, task: &Task, worked: &Worked<Done>) -> String {
    if let Some(Done::Cleared(related)) = worked.done() {
        let text = prose(
            &format!("`{}` is not {}; an earlier run had not finished", printable(&task.path), report.taking.was),
            0,
            2,
        );
        return text + &with_it(related);
    }
    let Some(restored) = worked.restored() else { return String::new() };
    let into = into_words(&report.place, task, &restored.replacement.path);
    let size = size(restored.replacement.size);
    let packed_by = escaped(&restored.packed_by);
    let was = report.taking.was;
    let mut text = prose(&format!("restored {into}: {size}, {was} by version {packed_by}"), 0, 2);
    let digest = &restored.replacement.proof.blake3;
    text.push_str(&fact("digest", &format!("BLAKE3 {digest}, as before {}", report.taking.doing)));
    if let Some(payload) = &restored.payload {
        let bytes = counted(payload.size, "appended byte");
        let place = match payload.from == payload.to {
            true => format!("at file offset {}, unchanged", payload.to.0),
            false => format!("at file offset {}, before at {}", payload.to.0, payload.from.0),
        };
        text.push_str(&fact("payload", &format!("{bytes} {place}")));
    }
    text + &with_it(&restored.related)
}

fn with_it(related: &Related) -> String {
    related.notes.iter().map(|note| fact("with it", note)).collect()
}

/// The report on many files.
fn many(report: &Report, all: bool) -> String {
    let total = &report.total;
    let without = match total.not_ours {
        0 => String::new(),
        count => format!("; skipped {} without a coldstart note", counted(count, "file")),
    };
    let cleared = match total.cleared {
        0 => String::new(),
        count => format!("; removed what earlier runs had left of {}", counted(count, "file")),
    };
    let mut text = prose(&format!("restored {}{cleared}{without}", counted(total.restored, "file")), 0, 2);
    let done = report.done.iter().filter(|(_, worked)| worked.restored().is_some());
    let restored: Vec<&Task> = done.map(|(task, _)| task).collect();
    let shown = if all { restored.len() } else { restored.len().min(SOME) };
    for task in restored.iter().take(shown) {
        text.push_str(&format!("  {}\n", fitted(&task.path, MAX_WIDTH - 2)));
    }
    text.push_str(&omitted(shown, restored.len(), "all files"));
    text.push_str(&refused_part(&report.done, all));
    plain(&text)
}
