//! A plan as the recording it was made from.

use std::collections::BTreeMap;
use std::path::Path;

use coldstart_profile::PAGE_SIZE;
use coldstart_profile::plan::{PlanView, TargetKind};

/// One plan, its steps collected by file and name.
pub(super) struct Recording<'bytes> {
    /// By path. A path listed twice counts as its first kind.
    pub(super) files: BTreeMap<&'bytes Path, RecordedFile>,
    /// Names and directories, with the place of their first use.
    pub(super) names: BTreeMap<(&'bytes Path, bool), u64>,
}

/// A file's part of a recording.
pub(super) struct RecordedFile {
    pub(super) kind: TargetKind,
    /// Ascending, disjoint.
    pub(super) pieces: Vec<RecordedPages>,
}

/// Pages that one step reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordedPages {
    pub(super) start: u64,
    pub(super) end: u64,
    /// First use as a part of the recorded start, in units of [`WHOLE_START`]: starts take longer on slower disks, and
    /// with the same order.
    pub(super) at: u64,
    /// Device offset of the file's first byte if the whole file were as contiguous as these pages, modulo 2^64.
    pub(super) origin: Option<u64>,
}

/// A whole recorded start, in units of [`RecordedPages::at`].
pub(super) const WHOLE_START: u64 = 1 << 20;
/// What is used after the end of the start, much later.
const LATEST: u64 = WHOLE_START << 4;

impl<'bytes> Recording<'bytes> {
    pub(super) fn of(plan: &PlanView<'bytes>) -> Self {
        let whole = plan.summary().recorded_start.as_micros().max(1);
        let place = |at: u128| u64::try_from(at * u128::from(WHOLE_START) / whole).unwrap_or(LATEST).min(LATEST);
        let mut recording = Self { files: BTreeMap::new(), names: BTreeMap::new() };
        for step in plan.steps() {
            let Some((path, kind)) = plan.target(step.target) else { continue };
            let at = place(step.first_use.as_micros());
            let Some(pages) = step.pages else {
                let first = recording.names.entry((path, kind == TargetKind::Directory)).or_insert(at);
                *first = at.min(*first);
                continue;
            };
            // Beyond the largest file offset no disk has anything.
            let on_disk =
                |&physical: &u64| physical.checked_add(pages.length()).is_some_and(|end| i64::try_from(end).is_ok());
            let origin = step.physical.filter(on_disk).map(|physical| physical.wrapping_sub(pages.offset()));
            let file = recording.files.entry(path).or_insert_with(|| RecordedFile { kind, pieces: Vec::new() });
            file.pieces.push(RecordedPages { start: pages.start.0, end: pages.end().0, at, origin });
        }
        recording.files.values_mut().for_each(RecordedFile::tidy);
        recording
    }
}

impl RecordedFile {
    /// Sorts the pieces and cuts overlaps, of which the first piece keeps its pages.
    fn tidy(&mut self) {
        self.pieces.sort_by_key(|piece| (piece.start, piece.at, piece.end, piece.origin));
        let mut end = 0;
        self.pieces.retain_mut(|piece| {
            piece.start = piece.start.max(end);
            end = end.max(piece.end);
            piece.start < piece.end
        });
    }

    /// The device offset of the file's beginning, as far as its first located pages tell.
    pub(super) fn origin(&self) -> Option<u64> {
        self.pieces.iter().find_map(|piece| piece.origin)
    }
}

/// The device offset of a page.
pub(super) fn offset_of(origin: u64, page: u64) -> u64 {
    origin.wrapping_add(page.wrapping_mul(PAGE_SIZE))
}
