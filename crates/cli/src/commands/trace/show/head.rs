//! The recorded start, the completeness of the trace, and the counts.

use coldstart_profile::trace::figures::{Half, PageCounts, Stage};
use coldstart_profile::trace::{Layer, PagesSeen};
use coldstart_view::dates::minute;

use super::{View, words};
use crate::output::size::{bytes, grouped};
use crate::output::style::HEADING;
use crate::output::text::{counted, cut, escaped, fact, glued, heading, number, size};

/// The widest command line in the title.
const COMMAND: usize = 90;
/// Maximum number of different process notes; `trace sql` has all.
const MOST_NOTES: usize = 8;

/// The recorded start, and the recording itself.
pub(super) fn run(view: &View<'_>) -> String {
    let run = &view.trace.run;
    let mut text = format!("{HEADING}{}{HEADING:#}\n", cut(&words::command(&run.command), COMMAND));
    let machine = format!("Linux {}, {}", escaped(&run.kernel), counted(run.processors.into(), "processor"));
    text.push_str(&fact("started", &format!("{} UTC, {}; {machine}", glued(&minute(run.started)), run.state.words())));
    text.push_str(&fact("ready", &ready(view)));
    let layers: Vec<&str> = run.layers.iter().map(|layer| layer.name()).collect();
    text.push_str(&fact("recorded", &layers.join(", ")));
    if run.layers.contains(&Layer::Pages) || run.pages != PagesSeen::None {
        text.push_str(&fact("pages", &pages(view)));
    }
    text.push_str(&fact("own cost", &cost(view)));
    if run.lost_events > 0 {
        text.push_str(&fact("lost", &format!("{}: all counts are too low", counted(run.lost_events, "event"))));
    }
    if !run.complete {
        text.push_str(&fact("incomplete", "writing failed: later events are not in the file"));
    }
    for note in &run.notes {
        text.push_str(&fact("note", &escaped(note)));
    }
    text.push_str(&notes_of_processes(view));
    text
}

/// Notes of processes; equal notes are merged.
fn notes_of_processes(view: &View<'_>) -> String {
    let all = u64::try_from(view.trace.processes.len()).unwrap_or(u64::MAX);
    let one = |(note, count): (&str, u64)| match count {
        _ if all == 1 => fact("note", &escaped(note)),
        _ => fact("note", &format!("of {}: {}", counted(count, "process"), escaped(note))),
    };
    view.trace.process_notes().into_iter().take(MOST_NOTES).map(one).collect()
}

fn ready(view: &View<'_>) -> String {
    let run = &view.trace.run;
    run.outcome(&escaped(&run.readiness), |at| words::glued_time(at.0))
}

fn pages(view: &View<'_>) -> String {
    const SOME: &str =
        "fault-around maps up to 16 pages at a touch, sometimes more, and only the touched one is recorded";
    let all = &view.trace.processes;
    let some = all.iter().filter(|process| process.pages == PagesSeen::FaultAround).count();
    match view.trace.run.pages {
        PagesSeen::Each => "each page's first touch".to_owned(),
        PagesSeen::FaultAround if some < all.len() => {
            let some = counted(u64::try_from(some).unwrap_or(u64::MAX), "process");
            format!("each page's first touch, but only some in {some}: {SOME}")
        }
        PagesSeen::FaultAround => format!("only some: {SOME}"),
        PagesSeen::None => "not recorded".to_owned(),
    }
}

fn cost(view: &View<'_>) -> String {
    let run = &view.trace.run;
    if run.stops == 0 {
        return String::new();
    }
    let times = if run.stops == 1 { "once".to_owned() } else { format!("{} times", number(run.stops)) };
    format!("stopped {times}; threads were stopped for at least {} in total", words::glued_time(run.stopped))
}

/// Counts of the whole run.
pub(super) fn numbers(view: &View<'_>) -> String {
    let (figures, counts) = (view.figures, &view.figures.counts);
    let mut text = heading("In numbers", "");
    text.push_str(&fact("touches", &touches(view)));
    let functions = &figures.total.functions;
    if functions.total() > 0 {
        let (before, after) = (functions.of_half(Half::BeforeMain), functions.of_half(Half::AfterMain));
        let outside = functions[Stage::Other];
        let stages = by_half(before, after, outside);
        let noun = if functions.total() == 1 { "function's first call" } else { "functions' first calls" };
        text.push_str(&fact("functions", &format!("{} {noun}; {stages}", number(functions.total()))));
    }
    text.push_str(&fact("files", &files(view)));
    let lookups = [
        (counts.lookups, format!("{} of names", counted(counts.lookups, "lookup"))),
        (counts.failed_lookups, format!("{} failed", number(counts.failed_lookups))),
        (counts.listed_directories, format!("{} listed", counted(counts.listed_directories, "directory"))),
    ];
    text.push_str(&fact("names", &those_above_zero(lookups)));
    let processes = [
        (counts.processes, counted(counts.processes, "process")),
        (counts.executed, format!("{} executed", counted(counts.executed, "program"))),
        (counts.threads, counted(counts.threads, "thread")),
        (counts.objects, counted(counts.objects, "object")),
        (counts.initialisers, counted(counts.initialisers, "initialiser")),
        (counts.dlopens, glued(&format!("{} dlopen", grouped(counts.dlopens)))),
        (counts.dlcloses, glued(&format!("{} dlclose", grouped(counts.dlcloses)))),
    ];
    text.push_str(&fact("processes", &those_above_zero(processes)));
    text
}

fn by_half(before: u64, after: u64, outside: u64) -> String {
    those_above_zero([
        (before, format!("{} before main", number(before))),
        (after, format!("{} after", number(after))),
        (outside, format!("{} in no phase", number(outside))),
    ])
}

fn those_above_zero<const N: usize>(parts: [(u64, String); N]) -> String {
    let parts: Vec<String> = parts.into_iter().filter(|(count, _)| *count > 0).map(|(_, words)| words).collect();
    parts.join(", ")
}

fn touches(view: &View<'_>) -> String {
    let touches = view.figures.total.touches.total();
    if touches.all == 0 {
        return String::new();
    }
    let by_stage = &view.figures.total.touches;
    let (before, after) = (by_stage.of_half(Half::BeforeMain).all, by_stage.of_half(Half::AfterMain).all);
    let outside = by_stage[Stage::Other].all;
    let kinds = those_above_zero([
        (touches.major, format!("{} waited for the disk", number(touches.major))),
        (touches.written, format!("{} wrote", number(touches.written))),
        (touches.executed, format!("{} executed", number(touches.executed))),
        (touches.by_kernel, format!("{} by the kernel", number(touches.by_kernel))),
        (touches.zero_filled, format!("{} of zero-filled memory", number(touches.zero_filled))),
    ]);
    let stages = by_half(before, after, outside);
    let noun = if touches.all == 1 { "page's first touch" } else { "pages' first touches" };
    let parts = [format!("{} {noun}", number(touches.all)), stages, kinds];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("; ")
}

fn files(view: &View<'_>) -> String {
    let pages = &view.figures.pages;
    let of = |count: u64| size(PageCounts::bytes(count));
    let touched = if view.figures.basis.pages == PagesSeen::None {
        String::new()
    } else {
        format!(", {} touched", of(pages.touched))
    };
    let mut text = format!("{}{touched}", counted(view.figures.counts.files, "file"));
    let seen = view.figures.files_seen;
    if seen.reads {
        text.push_str(&format!(", {} read", of(pages.read)));
    }
    if !seen.fills {
        return text;
    }
    text.push_str(&format!(", {} from the disk", of(pages.filled)));
    let fills = &pages.fills;
    if fills.total() > 0 {
        let in_words = |count: u64, what: &str| (count, format!("{} {what}", bytes(PageCounts::bytes(count))));
        let causes = those_above_zero([
            in_words(fills.demand, "asked for"),
            in_words(fills.readahead, "read ahead"),
            in_words(fills.other, "by other programs"),
            in_words(fills.unknown, "for unknown reasons"),
        ]);
        text.push_str(&format!(" ({causes})"));
    }
    if pages.wasted > 0 && view.figures.basis.pages == PagesSeen::Each {
        text.push_str(&format!(", {} of it unused", of(pages.wasted)));
    }
    text
}
