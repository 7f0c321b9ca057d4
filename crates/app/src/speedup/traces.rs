//! Traces of the start before and after, and a page that compares them.

use anyhow::Context;
use coldstart_output::OutputTarget;
use coldstart_profile::JsonPath;
use coldstart_profile::trace::figures::Figures;
use coldstart_profile::trace::{Layer, StartState, Trace};
use coldstart_sys::drop_caches::{drop_caches, may_drop_caches};
use coldstart_trace::TraceError;
use coldstart_trace::start::{PreparedTrace, TraceOptions};
use coldstart_tracefile::write_trace_at;
use coldstart_view::page::{TraceSource, trace_page};

use super::setup::Setup;
use super::story::Traces;
use super::subject::Subject;
use crate::error::AppError;
use crate::observer::Observer;
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
        Err(Refused::NotFollowed(reason)) => {
            observer.note(&format!("the fixed start cannot be traced ({reason}): no traces are written"));
            return Ok(None);
        }
        Err(Refused::Other(error)) => return Err(error),
    };
    write_trace_at(&places.before, before)?;
    write_trace_at(&places.after, &after)?;
    let (name_before, name_after) = (name(&places.before), name(&places.after));
    let (figures_before, figures_after) = (Figures::of(before), Figures::of(&after));
    let first = TraceSource { source: &name_before, trace: before, figures: &figures_before };
    let second = TraceSource { source: &name_after, trace: &after, figures: &figures_after };
    let page = trace_page(&first, Some(&second)).context("cannot make the page of the two traces")?;
    write_file(&places.page, &page)?;
    Ok(Some(Traces {
        before: JsonPath::new(places.before.path()),
        after: JsonPath::new(places.after.path()),
        page: JsonPath::new(places.page.path()),
        page_path: places.page.path().to_owned(),
        link: name(&places.page),
    }))
}

fn name(place: &OutputTarget) -> String {
    place.name().to_string_lossy().into_owned()
}

enum Refused {
    NotFollowed(String),
    Other(AppError),
}

fn trace(subject: &Subject<'_>, setup: &mut Setup) -> Result<Trace, Refused> {
    let refused = |error| match error {
        TraceError::NotFollowed { reason } => Refused::NotFollowed(reason),
        error => Refused::Other(error.into()),
    };
    let launch = setup.launch_options(subject.launch).map_err(Refused::Other)?;
    let state = if may_drop_caches() { StartState::Cold } else { StartState::AsIs };
    let options = TraceOptions {
        // As of the start before, which the plan of the used pages comes from.
        layers: [Layer::Pages, Layer::Files].into(),
        readiness: launch.readiness.to_string(),
        launch,
        state,
        functions_everywhere: false,
    };
    let command = setup.command(subject);
    let prepared = PreparedTrace::new(&command, &options).map_err(refused)?;
    if state == StartState::Cold {
        drop_caches().context("cannot drop the caches").map_err(|error| Refused::Other(error.into()))?;
    }
    Ok(prepared.record(&|_, _| false).map_err(refused)?.trace)
}
