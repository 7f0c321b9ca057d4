//! The fix "image": the program started from an image whose blocks lie in the order of its start.

use std::path::Path;

use super::fix::{Fix, Prospect};
use super::setup::Setup;
use super::subject::Subject;
use crate::error::AppError;
use crate::fix_kind::FixKind;
use crate::prefetch::{MakeCold, PlanRecorder, RecordedPlan};
use crate::text::size;

/// Each original is looked at before the start, with so many others at the same time where that helps.
const LOOKS_AT_ONCE: f64 = 16.0;
/// On a disk that seeks, so many looks are answered by one read: inodes of a package lie together.
const LOOKS_OF_A_READ: f64 = 8.0;

/// An image as a fix.
pub(super) struct ImageFix<'args> {
    /// Directory on whose file system the image lies.
    pub(super) beside: &'args Path,
}

impl ImageFix<'_> {
    fn recorded<'s>(&self, subject: &'s Subject<'_>) -> &'s RecordedPlan {
        subject.exact.as_ref().unwrap_or(&subject.cached)
    }
}

impl Fix for ImageFix<'_> {
    fn kind(&self) -> FixKind {
        FixKind::Image
    }

    fn name(&self) -> &'static str {
        "image"
    }

    fn predict(&mut self, subject: &Subject<'_>) -> Result<Prospect, AppError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(Prospect::not(self, "only root can mount an image"));
        }
        let set = &self.recorded(subject).working_set;
        let bytes = set.bytes();
        if bytes == 0 {
            return Ok(Prospect::not(self, "a start reads nothing from a disk"));
        }
        let device = subject.device();
        let looks = set.files.len() as f64 / if device.seeks { LOOKS_OF_A_READ } else { LOOKS_AT_ONCE };
        let looking = looks * device.latency.as_secs_f64();
        let reading = if device.bandwidth > 0 { bytes as f64 / device.bandwidth as f64 } else { 0.0 };
        let hot = subject.cached.plan.summary.hot_start.as_secs_f64();
        let why = format!("{} in one range, beside the program", size(bytes));
        Ok(Prospect::of(self, Some(looking + hot.max(reading)), why))
    }

    fn add_to(&self, setup: &mut Setup, subject: &Subject<'_>) -> Result<(), AppError> {
        if !setup.overlays().is_empty() {
            return Err(AppError::new("an image is made of the program's files as they are, not of changed copies"));
        }
        let Some(without) = setup.index().map(|index| index.in_use.directory().to_owned()) else {
            return setup.start_from_image(&self.recorded(subject).working_set, subject, self.beside);
        };
        // With an index, other files are read.
        let options = setup.recording_options(subject.launch)?;
        let recorder = PlanRecorder {
            command: subject.program,
            options: &options,
            strategy: subject.strategy,
            make_cold: MakeCold::Everything,
            without: Some(&without),
        };
        setup.start_from_image(&recorder.used()?.working_set, subject, self.beside)
    }
}
