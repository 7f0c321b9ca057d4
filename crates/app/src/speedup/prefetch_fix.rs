//! The fix "prefetch": a plan of a recorded start, replayed by a launcher.

use std::path::Path;

use super::fix::{Fix, Prospect};
use super::setup::Setup;
use super::subject::Subject;
use crate::error::AppError;
use crate::fix_kind::FixKind;
use crate::prefetch::{BothPlans, MakeCold, PlanRecorder, RecordedPlan};
use crate::text::size;

/// Which pages the plan reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pages {
    /// All that a start brings into the cache, readahead included.
    Cached,
    /// Those that a traced start used.
    Used,
}

/// A plan as a fix.
pub(super) struct PrefetchFix<'args> {
    pub(super) pages: Pages,
    /// Directory on whose file system the plan lies.
    pub(super) beside: &'args Path,
}

impl PrefetchFix<'_> {
    fn recorded<'s>(&self, subject: &'s Subject<'_>) -> Result<&'s RecordedPlan, &'s str> {
        match self.pages {
            Pages::Cached => Ok(&subject.cached),
            Pages::Used => subject.exact.as_ref().map_err(String::as_str),
        }
    }
}

impl Fix for PrefetchFix<'_> {
    fn kind(&self) -> FixKind {
        FixKind::Prefetch
    }

    fn name(&self) -> &'static str {
        match self.pages {
            Pages::Cached => "prefetch, cached pages",
            Pages::Used => "prefetch, used pages",
        }
    }

    fn predict(&mut self, subject: &Subject<'_>) -> Result<Prospect, AppError> {
        let recorded = match self.recorded(subject) {
            Ok(recorded) => recorded,
            Err(reason) => return Ok(Prospect::not(self, format!("the used pages are unknown ({reason})"))),
        };
        let summary = &recorded.plan.summary;
        let predicted = Some(summary.predicted_start).filter(|start| !start.is_zero());
        let reads = recorded.plan.steps.iter().filter_map(|step| step.pages);
        let bytes: u64 = reads.clone().map(|pages| pages.length()).fold(0, u64::saturating_add);
        if bytes == 0 {
            return Ok(Prospect::not(self, "a start reads nothing from a disk"));
        }
        let when = if summary.is_blocking() { "before the program" } else { "beside the program" };
        let why = format!("{} in {} reads, {when}", size(bytes), reads.count());
        Ok(Prospect::of(self, predicted.map(|start| start.as_secs_f64()), why))
    }

    fn add_to(&self, setup: &mut Setup, subject: &Subject<'_>) -> Result<(), AppError> {
        let recorded = if setup.overlays().is_empty() && setup.index().is_none() {
            self.recorded(subject).map_err(|reason| anyhow::anyhow!("{reason}"))?.clone()
        } else {
            recorded_inside(setup, subject, |recorder| match self.pages {
                Pages::Cached => recorder.record(),
                Pages::Used => {
                    let BothPlans { cached, exact, .. } = recorder.record_both()?;
                    Ok(exact.unwrap_or(cached))
                }
            })?
        };
        setup.replay(recorded, subject, self.beside)
    }
}

/// Records again, as the other fixes have changed what there is to read.
///
/// # Errors
/// If the program cannot be started with them.
pub(super) fn recorded_inside<T>(
    setup: &mut Setup,
    subject: &Subject<'_>,
    record: impl FnOnce(&PlanRecorder<'_>) -> Result<T, AppError>,
) -> Result<T, AppError> {
    let options = setup.recording_options(subject.launch)?;
    record(&PlanRecorder {
        command: subject.program,
        options: &options,
        strategy: subject.strategy,
        make_cold: MakeCold::Everything,
        without: setup.index().map(|index| index.in_use.directory()),
    })
}
