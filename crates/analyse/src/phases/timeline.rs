//! The data of one process, in order of time.

use std::collections::HashSet;

use coldstart_profile::trace::{Event, EventKind, FileId, Moment, ProcessId, ThreadId};

use super::super::joined::{Joined, Stop, StopKind};
use super::super::loads::{LoadedObject, LoadedObjects, Objects};
use super::super::placement::PlacementId;
use super::relocated_pages::RelocatedPages;
use crate::note::Image;

/// An initialiser's call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Called {
    pub(super) at: Moment,
    pub(super) object: PlacementId,
    pub(super) file: FileId,
    /// Without load bias.
    pub(super) address: u64,
}

/// The end of an object's relocation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Protected {
    pub(super) at: Moment,
    pub(super) object: PlacementId,
    pub(super) file: FileId,
}

/// One process.
pub(super) struct Timeline<'all> {
    pub(super) process: ProcessId,
    /// Its end, or readiness.
    pub(super) end: Moment,
    pub(super) stops: Vec<&'all Stop>,
    /// Touches and functions' first calls.
    pub(super) events: Vec<&'all Event>,
    pub(super) called: Vec<Called>,
    pub(super) protected: Vec<Protected>,
    /// Objects that it mapped itself, and whose mapping was seen, without program and loader.
    pub(super) libraries: Vec<LoadedObject>,
    pub(super) image: Option<&'all Image>,
    pub(super) program: Option<FileId>,
    pub(super) loader: Option<FileId>,
    pub(super) objects: &'all Objects<'all>,
    pub(super) places: &'all LoadedObjects,
    pub(super) relocated: &'all RelocatedPages,
}

/// The data shared by all processes.
pub(super) struct Shared<'all> {
    pub(super) joined: &'all Joined,
    pub(super) objects: &'all Objects<'all>,
    pub(super) places: &'all LoadedObjects,
    pub(super) relocated: &'all RelocatedPages,
}

/// One for each process, in their order.
pub(super) fn timelines<'all>(shared: &Shared<'all>, events: &'all [Event]) -> Vec<Timeline<'all>> {
    let joined = shared.joined;
    let numbers = (0..joined.processes.len()).filter_map(|number| u32::try_from(number).ok());
    let mut timelines: Vec<Timeline<'all>> = numbers.map(|number| empty(shared, ProcessId(number))).collect();
    let place = |id: ProcessId| usize::try_from(id.0).unwrap_or(usize::MAX);
    for stop in &joined.stops {
        if let Some(timeline) = timelines.get_mut(place(stop.process)) {
            timeline.stops.push(stop);
        }
    }
    for event in events {
        let process = joined.threads.get(event.thread.0 as usize).map(|thread| thread.process);
        if let Some(timeline) = process.and_then(|process| timelines.get_mut(place(process))) {
            timeline.events.push(event);
        }
    }
    for called in &joined.initialisers {
        let object = shared.places.with_bias(called.process, called.bias, called.at);
        if let (Some(object), Some(timeline)) = (object, timelines.get_mut(place(called.process))) {
            let address = called.address.wrapping_sub(object.bias);
            timeline.called.push(Called { at: called.at, object: object.id, file: object.file, address });
        }
    }
    for timeline in &mut timelines {
        timeline.look_at_stops(shared);
    }
    timelines
}

fn empty<'all>(shared: &Shared<'all>, process: ProcessId) -> Timeline<'all> {
    let Shared { joined, objects, places, relocated } = *shared;
    let ended = joined.processes.get(process.0 as usize).and_then(|process| process.ended);
    Timeline {
        process,
        end: ended.unwrap_or(joined.until).min(joined.until),
        stops: Vec::new(),
        events: Vec::new(),
        called: Vec::new(),
        protected: Vec::new(),
        libraries: Vec::new(),
        image: None,
        program: None,
        loader: None,
        objects,
        places,
        relocated,
    }
}

impl Timeline<'_> {
    fn look_at_stops(&mut self, shared: &Shared<'_>) {
        self.image = self.stops.iter().find_map(|stop| match &stop.what {
            StopKind::Executed { image, .. } => Some(&**image),
            _ => None,
        });
        let own = shared.places.of(self.process);
        let placement = |place: &LoadedObject| shared.joined.placement(place.id);
        let is_program = |place: &&LoadedObject| placement(place).is_some_and(|placement| placement.entry.is_some());
        self.program = own.iter().find(is_program).map(|place| place.file);
        let base = self.image.map(|image| image.loader_base).filter(|&base| base != 0);
        self.loader = base.and_then(|base| own.iter().find(|place| place.bias == base)).map(|place| place.file);
        let known = [self.program, self.loader];
        let was_mapped = |place: &&LoadedObject| place.was_mapped && !known.contains(&Some(place.file));
        self.libraries = own.iter().filter(was_mapped).copied().collect();
        let protected = self.stops.iter().filter_map(|stop| match stop.what {
            StopKind::Protected { address } => {
                let object = shared.places.holding(self.process, address, stop.at)?;
                Some(Protected { at: stop.at, object: object.id, file: object.file })
            }
            _ => None,
        });
        self.protected = protected.collect();
    }

    /// When something of a kind was noted first, from a moment on.
    pub(super) fn first(&self, from: Moment, wanted: impl Fn(&StopKind) -> bool) -> Option<Moment> {
        self.stops.iter().find(|stop| stop.at >= from && wanted(&stop.what)).map(|stop| stop.at)
    }

    /// Events of a stretch of time, its end left out.
    pub(super) fn events_in(&self, begin: Moment, end: Moment) -> &[&Event] {
        let first = self.events.partition_point(|event| event.at < begin);
        let behind = self.events.partition_point(|event| event.at < end);
        self.events.get(first..behind).unwrap_or_default()
    }

    /// Ends of relocations in a stretch of time, its end taken in.
    pub(super) fn protected_in(&self, begin: Moment, end: Moment) -> &[Protected] {
        let first = self.protected.partition_point(|protected| protected.at < begin);
        let behind = self.protected.partition_point(|protected| protected.at <= end);
        self.protected.get(first..behind).unwrap_or_default()
    }

    /// The libraries whose first mapping was seen in a stretch of time, its end left out.
    pub(super) fn libraries_in(&self, begin: Moment, end: Moment) -> &[LoadedObject] {
        let first = self.libraries.partition_point(|place| place.at < begin);
        let behind = self.libraries.partition_point(|place| place.at < end);
        self.libraries.get(first..behind).unwrap_or_default()
    }

    /// The object whose relocation a touch is a part of: the loader reads its table, or changes a word that the table
    /// names.
    pub(super) fn relocates(&self, event: &Event) -> Option<FileId> {
        let EventKind::Touch(touch) = event.kind else { return None };
        let by_loader = match (self.loader, event.code) {
            (Some(loader), Some(code)) => code.file == loader,
            _ => true,
        };
        if !by_loader || touch.by_kernel || touch.execute || touch.zero_filled {
            return None;
        }
        let file = event.file?;
        let pages = self.relocated.get(file)?;
        let relocates = match touch.write {
            Some(true) => pages.written(event.page),
            Some(false) => pages.table(event.page),
            None => pages.written(event.page) || pages.table(event.page),
        };
        relocates.then_some(file)
    }

    /// Whether a thread is known to have left a library's initialiser by this event: it executes what initialisers do
    /// not call. Those of the libraries themselves, the loader and the language's own libraries they do call.
    pub(super) fn is_outside(&self, event: &Event, thread: ThreadId, libraries: &HashSet<FileId>) -> bool {
        event.thread == thread
            && event.code.is_some_and(|code| {
                !libraries.contains(&code.file) && Some(code.file) != self.loader && !self.is_runtime(code.file)
            })
    }

    /// Whether a library belongs to the language, so that everything calls it.
    pub(super) fn is_runtime(&self, file: FileId) -> bool {
        const RUNTIME: [&str; 9] =
            ["libc.", "libm.", "libpthread.", "libdl.", "librt.", "libstdc++.", "libc++", "libgcc_s.", "ld-"];
        let soname = self.objects.get(file).and_then(|object| object.soname.as_deref());
        soname.is_some_and(|soname| RUNTIME.iter().any(|prefix| soname.starts_with(prefix)))
    }
}
