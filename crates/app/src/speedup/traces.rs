//! Traces of the start before and after, and a page that compares them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use anyhow::Context;
use coldstart_output::OutputTarget;
use coldstart_profile::trace::Trace;
use coldstart_profile::trace::figures::Figures;
use coldstart_profile::{JsonPath, printable};
use coldstart_tracefile::write_trace_at;
use coldstart_view::page::{TraceSource, trace_page};

use super::setup::Setup;
use super::story::Traces;
use super::subject::Subject;
use crate::error::AppError;
use crate::observer::Observer;
use crate::prefetch::{PlanRecorder, Refusal};
use crate::writing::write_file;

/// Where traces go.
#[derive(Clone, Debug)]
pub struct TracePlaces {
    /// The trace of the plain start, of the kind [`crate::kinds::TRACE`].
    pub before: OutputTarget,
    /// The trace of the start with the best fixes.
    pub after: OutputTarget,
    /// The page with both, of the kind [`crate::kinds::PAGE`].
    pub page: OutputTarget,
}

/// Writes the traces and the page. `None` if a start cannot be traced, with a note.
pub(super) fn write(
    places: &TracePlaces,
    subject: &Subject<'_>,
    setup: &mut Setup,
    observer: &dyn Observer,
) -> Result<Option<Traces>, AppError> {
    let Some(before) = &subject.trace else {
        observer.note("the program cannot be traced: no traces are written");
        return Ok(None);
    };
    let after = match trace(subject, setup) {
        Ok(after) => after,
        Err(Refusal::NotFollowed(reason)) => {
            observer.note(&format!("the fixed start cannot be traced ({reason}): no traces are written"));
            return Ok(None);
        }
        Err(Refusal::Other(error)) if subject.interrupt.signal().is_some() => return Err(error),
        // What was measured is worth more than its picture.
        Err(Refusal::Other(error)) => {
            observer.note(&format!("no traces are written: {}", error.sentence()));
            return Ok(None);
        }
    };
    match write_all(places, before, &after) {
        Ok(traces) => Ok(Some(traces)),
        Err(error) => {
            observer.note(&format!("the traces cannot be written: {}", error.sentence()));
            Ok(None)
        }
    }
}

fn write_all(places: &TracePlaces, before: &Trace, after: &Trace) -> Result<Traces, AppError> {
    write_trace_at(&places.before, before)?;
    write_trace_at(&places.after, after)?;
    let (name_before, name_after) = (name(&places.before), name(&places.after));
    let (figures_before, figures_after) = (Figures::of(before), Figures::of(after));
    let first = TraceSource { source: &name_before, trace: before, figures: &figures_before };
    let second = TraceSource { source: &name_after, trace: after, figures: &figures_after };
    let page = trace_page(&first, Some(&second)).context("cannot make the page of the two traces")?;
    write_file(&places.page, &page)?;
    Ok(Traces {
        before: JsonPath::new(places.before.path()),
        before_path: places.before.path().to_owned(),
        after: JsonPath::new(places.after.path()),
        page: JsonPath::new(places.page.path()),
        page_path: places.page.path().to_owned(),
        name: name(&places.page),
        link: link_to(places.page.name()),
    })
}

fn name(place: &OutputTarget) -> String {
    printable(Path::new(place.name()))
}

/// A file's name as a relative link. Names are bytes, and not always text.
fn link_to(name: &OsStr) -> String {
    let mut link = String::new();
    for &byte in name.as_bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            link.push(char::from(byte));
        } else {
            link.push_str(&format!("%{byte:02X}"));
        }
    }
    link
}

/// As the start before was traced for the plan of the used pages.
fn trace(subject: &Subject<'_>, setup: &mut Setup) -> Result<Trace, Refusal> {
    let options = setup.launch_options(subject.launch).map_err(Refusal::Other)?;
    let command = setup.command(subject);
    PlanRecorder {
        command: &command,
        options: &options,
        strategy: subject.strategy,
        make_cold: crate::prefetch::MakeCold::Everything,
        without: None,
    }
    .trace()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_to_any_name() {
        assert_eq!(link_to(OsStr::new("a-1.starts.html")), "a-1.starts.html");
        assert_eq!(link_to(OsStr::from_bytes(b"a b:\n%\xff/?#")), "a%20b%3A%0A%25%FF%2F%3F%23");
        assert_eq!(link_to(OsStr::new("h\u{f6}he")), "h%C3%B6he");
    }
}
