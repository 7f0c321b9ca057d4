//! Figures of each file, and the walks through files that seeks are measured on.

use std::collections::HashMap;

use serde::Serialize;

use super::activity::{Activity, Deed};
use super::pages::{PageCounts, PageUse};
use super::sections::{self, SectionFigures};
use super::seeks::{Seeks, Walk};
use super::stage::Stage;
use crate::PAGE_SIZE;
use crate::trace::{Event, EventKind, FileId, ProcessId, Trace, TracedObject};

/// Of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileFigures {
    /// The file.
    pub file: FileId,
    /// What happened to it.
    pub activity: Activity,
    /// Its distinct pages.
    pub pages: PageCounts,
    /// Of an object: its sections, in their order.
    pub sections: Vec<SectionFigures>,
}

/// Collects figures of files while the events go by.
pub(super) struct Gathering<'trace> {
    /// Of each file in the trace: its place in `files`, once something happened to it.
    places: Vec<Option<usize>>,
    files: Vec<Gathered>,
    walks: HashMap<(ProcessId, FileId), Walks>,
    objects: HashMap<FileId, &'trace TracedObject>,
}

struct Gathered {
    file: FileId,
    activity: Activity,
    pages: PageUse,
}

/// Where a process is in a file.
#[derive(Default)]
struct Walks {
    touches: Walk,
    functions: Walk,
}

impl<'trace> Gathering<'trace> {
    pub(super) fn new(trace: &'trace Trace) -> Self {
        let mut gathering = Self {
            places: vec![None; trace.files.len()],
            files: Vec::new(),
            walks: HashMap::new(),
            objects: trace.objects.iter().rev().map(|object| (object.file, object)).collect(),
        };
        for object in &trace.objects {
            gathering.of(object.file);
        }
        gathering
    }

    fn of(&mut self, file: FileId) -> Option<&mut Gathered> {
        let place = self.places.get_mut(usize::try_from(file.0).ok()?)?;
        let known = *place.get_or_insert_with(|| {
            self.files.push(Gathered { file, activity: Activity::default(), pages: PageUse::default() });
            self.files.len() - 1
        });
        self.files.get_mut(known)
    }

    /// The step that an event makes from the one before it, and the stage of that; `None` if it makes none.
    pub(super) fn step(&mut self, event: &Event, process: Option<ProcessId>, stage: Stage) -> Option<(Seeks, Stage)> {
        let (file, process) = (event.file?, process?);
        let offset = self.offset(file, event)?;
        let walks = self.walks.entry((process, file)).or_default();
        let walk = if event.kind == EventKind::Function { &mut walks.functions } else { &mut walks.touches };
        walk.to(offset, stage)
    }

    /// Adds what an event did.
    pub(super) fn add(&mut self, event: &Event, deed: &Deed) {
        if let Some(gathered) = event.file.and_then(|file| self.of(file)) {
            gathered.activity.count(deed);
            gathered.pages.add(event);
        }
    }

    /// The place in the file of a touch or a function, in bytes; `None` for what has no place there or is neither.
    fn offset(&self, file: FileId, event: &Event) -> Option<u64> {
        let page = event.page.saturating_mul(PAGE_SIZE);
        match event.kind {
            EventKind::Touch(touch) => (!touch.zero_filled).then_some(page),
            EventKind::Function => {
                let address = event.code.filter(|code| code.file == file).map(|code| code.address);
                let exact = address.and_then(|address| offset_of(self.objects.get(&file)?, address));
                Some(exact.unwrap_or(page))
            }
            EventKind::Read | EventKind::Fill(_) => None,
        }
    }

    pub(super) fn finish(self, trace: &Trace) -> Vec<FileFigures> {
        let objects = self.objects;
        let figures = self.files.into_iter().map(|gathered| {
            let category = trace.file(gathered.file).map(|file| file.category);
            let (pages, used) = gathered.pages.finish(category);
            let sections = objects.get(&gathered.file).map(|object| sections::of_object(object, &used));
            FileFigures {
                file: gathered.file,
                activity: gathered.activity,
                pages,
                sections: sections.unwrap_or_default(),
            }
        });
        let mut figures: Vec<FileFigures> = figures.collect();
        figures.sort_by_key(|figures| figures.file);
        figures
    }
}

/// The place in the file that an address is loaded from.
fn offset_of(object: &TracedObject, address: u64) -> Option<u64> {
    object.segments.iter().find_map(|segment| {
        let inside = address.checked_sub(segment.address)?;
        (inside < segment.file_size).then(|| segment.offset.checked_add(inside))?
    })
}
