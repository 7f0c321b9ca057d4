//! Caveats about the completeness of a trace.

use coldstart_profile::trace::{Layer, PagesSeen, Trace};

/// What the reader should know, those of processes included: what holds for several is said once.
pub(crate) fn notes(trace: &Trace) -> Vec<String> {
    let mut notes = trace.run.notes.clone();
    if trace.run.pages == PagesSeen::FaultAround && trace.run.layers.contains(&Layer::Pages) {
        notes.push(
            "The kernel maps up to 16 pages at a touch, at times more, and of these only the one that was asked for is seen."
                .to_owned(),
        );
    }
    notes.extend(trace.process_notes().into_iter().map(|(note, count)| match count {
        _ if trace.processes.len() == 1 => format!("Of the process: {note}"),
        1 => format!("Of one process: {note}"),
        _ => format!("Of {count} processes: {note}"),
    }));
    notes
}
