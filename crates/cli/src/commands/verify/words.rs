//! The text report on a bound program.

use coldstart_app::verify::{CountedUntil, Search, Start, Starts};
use coldstart_launch::Readiness;

use crate::args::launching::WaitingArgs;
use crate::commands::status;
use crate::output::path::printable;
use crate::output::table::{Align, Table};
use crate::output::text::{counted, escaped, fact, number, plain, table};

/// What it loads, by the loader's rules.
pub(super) fn search(search: &Search) -> String {
    let libraries = counted(search.libraries as u64, "library");
    let order = match &search.parting {
        None => format!("{libraries}: the same files in the same order as the original's"),
        Some(parting) => {
            let path = |path: &Option<std::path::PathBuf>| {
                path.as_deref().map_or_else(|| "nothing".to_owned(), |path| format!("`{}`", printable(path)))
            };
            let place = number(parting.place as u64);
            let (before, after) = (path(&parting.before), path(&parting.after));
            format!("position {place} is {before} in the original and {after} in the bound program")
        }
    };
    let mut text = fact("loads", &order);
    if let Some(missing) = search.missing.first() {
        text.push_str(&fact("missing", &format!("`{}` and {} more", escaped(missing), search.missing.len() - 1)));
    }
    if let Some(after) = search.failed_probes_after {
        let stray = match search.stray_probes.first() {
            None => String::new(),
            Some(path) => format!("; not predicted: `{}` and {} more", printable(path), search.stray_probes.len() - 1),
        };
        let probes = format!(
            "{} fail before, {} after, {} of them for variants of the first library{stray}",
            counted(search.failed_probes_before as u64, "probe"),
            number(after as u64),
            number(search.variant_probes_after as u64)
        );
        text.push_str(&fact("probes", &probes));
    }
    if let Some(change) = &search.audit_library {
        text.push_str(&fact("audit", &status::changed(change)));
    }
    if let Some(misled) = search.misled.first() {
        let there = if misled.is_there { "" } else { ", which does not exist" };
        let more = match search.misled.len() - 1 {
            0 => String::new(),
            more => format!("; and {}", counted(more as u64, "other answer")),
        };
        let (name, was) = (escaped(&misled.library), printable(&misled.was));
        let (asks, answer) = (printable(&misled.requester), printable(&misled.answer));
        text.push_str(&fact(
            "answers",
            &format!("`{asks}` requests `{name}` and gets `{answer}`{there}; the original loads `{was}`{more}"),
        ));
    }
    text
}

/// The report on the starts.
pub(super) fn starts(starts: &Starts, waiting: &WaitingArgs) -> String {
    let mut rows = Table::new(&[
        ("start", Align::Left),
        ("system calls", Align::Right),
        ("failed", Align::Right),
        ("library probes", Align::Right),
        ("look-ups", Align::Right),
        ("relocation", Align::Right),
        ("end", Align::Left),
    ]);
    let mut row = |name: &str, start: &Start| {
        let cycles = start.median_cycles().map_or_else(|| "-".to_owned(), |cycles| counted(cycles, "cycle"));
        rows.row(vec![
            name.to_owned(),
            plain(&number(start.system_calls)),
            plain(&number(start.failed_calls)),
            plain(&number(start.failed_probes as u64)),
            start.relocations.map_or_else(|| "-".to_owned(), |count| plain(&number(count))),
            plain(&cycles),
            match (start.reached_limit, &waiting.ready) {
                (true, Readiness::Exit) => "was ended at the time limit".to_owned(),
                _ => start.end.clone(),
            },
        ]);
    };
    if let Some(before) = &starts.before {
        row("original", before);
    }
    row("bound", &starts.after);
    let mut text = table(&rows);
    text.push('\n');
    if let Some(reason) = &starts.no_original {
        text.push_str(&fact("original", &format!("was not started: {}", escaped(reason))));
    }
    let same = match (&starts.parting, &starts.before) {
        (Some(parting), _) => escaped(parting),
        (None, Some(_)) => {
            "the loader maps the same objects and runs the same initialisers in the same order".to_owned()
        }
        (None, None) => String::new(),
    };
    text.push_str(&fact("loader", &same));
    if let Some(path) = starts.stray_probes.first() {
        let count = counted(starts.stray_probes.len() as u64, "probe");
        text.push_str(&fact("probes", &format!("{count} failed unexpectedly, the first for `{}`", printable(path))));
    }
    if starts.after.counted_until == CountedUntil::EntryPoint {
        text.push_str(&fact("calls", "counted up to the program's entry point"));
    }
    text.push_str(&fact("limit", &limit(starts, waiting)));
    if starts.relocates_slower() {
        text.push_str(&fact(
            "cost",
            "relocation took longer in every run of the bound program than in any run of the original",
        ));
    }
    text
}

/// The effect of the time limit; empty if both finished before.
fn limit(starts: &Starts, waiting: &WaitingArgs) -> String {
    if !starts.reached_limit() {
        return String::new();
    }
    let seconds = format!("{}\u{a0}s", waiting.time_limit.as_secs_f64());
    let (state, other) = match waiting.ready {
        Readiness::Exit => ("had not ended", "had"),
        _ => ("was not ready", "was"),
    };
    match &starts.before {
        Some(before) if before.reached_limit != starts.after.reached_limit => {
            let (slow, fast) =
                if before.reached_limit { ("original", "bound program") } else { ("bound program", "original") };
            format!("the {slow} {state} after {seconds}, and the {fast} {other}")
        }
        both => {
            let who = match (both, &waiting.ready) {
                (Some(_), Readiness::Exit) => format!("neither had ended after {seconds}, and both were"),
                (Some(_), _) => format!("neither was ready after {seconds}, and both were"),
                (None, _) => format!("the bound program {state} after {seconds}, and was"),
            };
            format!(
                "{who} stopped; the comparison covers the loader up to then, not the exit or the cost of relocation"
            )
        }
    }
}
