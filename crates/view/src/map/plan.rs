//! The contents of an object's map.

use coldstart_profile::trace::figures::{Figures, PageCounts};
use coldstart_profile::trace::{EventKind, FileId, PagesSeen, Run, Trace};

use super::bands::{self, Band};
use super::dots::{DotKind, DotLayer};
use super::elsewhere::{self, Elsewhere};
use super::phases::{self, PhaseRow};
use super::places::Places;
use super::words::{
    command, counted, date, duration, file_name, grouped, harmless_path, harmless_text, percent, size, state,
};
use super::{MapError, MapOptions, Theme};
use crate::figures::FileNumbers;

/// The shortest time that is shown, in nanoseconds: an axis needs a length.
const SHORTEST: u64 = 1_000;

/// The map of one object: everything on it, in nanoseconds and bytes, ready to be drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectMap {
    /// The object's file name, harmless, as all text here.
    pub title: String,
    /// Lines below the title: the file, then what was started and how, for each trace.
    pub facts: Vec<String>,
    /// First and last moment of the axis of time, nanoseconds since the launch; the last is greater.
    pub time: (u64, u64),
    /// The upright axis.
    pub places: Places,
    /// Sections, in the object's order.
    pub bands: Vec<Band>,
    /// Distinct pages of the file that the first trace's start touched; `None` if touches were not recorded.
    pub pages_touched: Option<u64>,
    /// The trace's dots, and those of the second trace.
    pub layers: Vec<DotLayer>,
    /// Times in other files, of the first trace.
    pub elsewhere: Vec<Elsewhere>,
    /// Phases, of the first trace.
    pub phases: Vec<PhaseRow>,
    /// When each trace was ready, with the words for it; those that are shown.
    pub ready: Vec<(u64, String)>,
    /// What a reader must know not to be misled, a sentence each.
    pub notes: Vec<String>,
    pub(super) theme: Theme,
    pub(super) width: u32,
    pub(super) height: u32,
}

impl ObjectMap {
    /// The map of a file of a trace; `figures` are those of the same trace.
    ///
    /// # Errors
    ///
    /// If a trace has no such file.
    pub fn of(trace: &Trace, figures: &Figures, file: FileId, options: &MapOptions<'_>) -> Result<Self, MapError> {
        let traced = trace.file(file).ok_or(MapError::Foreign { number: file.0 })?;
        let object = trace.object(file);
        let places = Places::of(trace, file, traced, object);
        let time = options.time.map_or_else(|| whole_time(trace, file, options), |(from, to)| (from.0, to.0));
        let time = (time.0.min(u64::MAX - SHORTEST), time.1.max(time.0.saturating_add(SHORTEST)));
        let mut layers = vec![DotLayer::of(trace, file, object, &places, time)];
        let mut ready: Vec<(u64, String)> = trace.run.ready_at.map(|at| ready_mark(at.0, "")).into_iter().collect();
        let mut facts = vec![about_file(trace, figures, file)];
        if let Some(other) = options.other {
            other.trace.file(other.file).ok_or(MapError::Foreign { number: other.file.0 })?;
            let label = |which: &str, label: Option<&str>| match label {
                Some(label) => format!("{which}: {}", harmless_text(label)),
                None => which.to_owned(),
            };
            let (first, second) = (label("A", options.label), label("B", other.label));
            facts.push(format!("{first} · {}", about_run(&trace.run)));
            facts.push(format!("{second} · {}", about_run(&other.trace.run)));
            let mut layer = DotLayer::of(other.trace, other.file, other.trace.object(other.file), &places, time);
            layer.label = Some("B".to_owned());
            layers.push(layer);
            layers.iter_mut().take(1).for_each(|layer| layer.label = Some("A".to_owned()));
            ready = trace.run.ready_at.map(|at| ready_mark(at.0, "A ")).into_iter().collect();
            ready.extend(other.trace.run.ready_at.map(|at| ready_mark(at.0, "B ")));
        } else {
            facts.push(about_run(&trace.run));
        }
        ready.retain(|(at, _)| (time.0..=time.1).contains(at));
        let bands = object.map(|object| bands::of_object(object, figures, &places)).unwrap_or_default();
        let notes = notes(trace, options, &places, &bands, &layers);
        Ok(Self {
            title: file_name(&traced.path),
            facts,
            time,
            places,
            bands,
            pages_touched: FileNumbers::of(file, figures).pages_touched,
            layers,
            elsewhere: elsewhere::of(trace, file, time),
            phases: phases::of(trace, file, time),
            ready,
            notes,
            theme: options.theme,
            width: options.width.clamp(MapOptions::WIDTHS.0, MapOptions::WIDTHS.1),
            height: options.height.clamp(MapOptions::HEIGHTS.0, MapOptions::HEIGHTS.1),
        })
    }

    /// How many events there are on the map, and of what kind, in order: those that occur, with their number in each
    /// layer.
    pub fn counts(&self) -> Vec<(DotKind, Vec<u64>)> {
        let counts =
            DotKind::ALL.map(|kind| (kind, self.layers.iter().map(|layer| layer.count(kind)).collect::<Vec<_>>()));
        counts.into_iter().filter(|(_, counts)| counts.iter().any(|count| *count > 0)).collect()
    }
}

/// From the launch to the last of what happened: the end, or when it was ready, or an event of the file.
fn whole_time(trace: &Trace, file: FileId, options: &MapOptions<'_>) -> (u64, u64) {
    let end = |trace: &Trace, file: FileId| {
        let events = trace.events.iter().filter(|event| event.file == Some(file));
        let last = events.map(|event| event.at.0).max().unwrap_or(0);
        last.max(trace.run.ready_at.unwrap_or(trace.run.ended_at).0)
    };
    let other = options.other.map_or(0, |other| end(other.trace, other.file));
    (0, end(trace, file).max(other))
}

fn ready_mark(at: u64, which: &str) -> (u64, String) {
    (at, format!("{which}ready {}", duration(at)))
}

/// Where the file is, and how much of it was used.
fn about_file(trace: &Trace, figures: &Figures, file: FileId) -> String {
    let mut facts = Vec::new();
    if let Some(traced) = trace.file(file) {
        facts.push(harmless_path(&traced.path));
        facts.extend(traced.identity.map(|identity| size(identity.size)));
    }
    let numbers = FileNumbers::of(file, figures);
    if let Some(pages) = numbers.pages_touched {
        facts.push(format!("{} ({}) touched", counted(pages, "page"), size(PageCounts::bytes(pages))));
    }
    let is_more_than_none = |count: &u64| *count > 0;
    if let Some(major) = numbers.major_touches.filter(is_more_than_none) {
        facts.push(format!("{} waited for the disk", grouped(major)));
    }
    if let Some(filled) = numbers.pages_filled.filter(is_more_than_none) {
        let wasted = numbers.pages_wasted.filter(is_more_than_none);
        let waste = wasted.map(|wasted| format!(", {} of that unused", percent(wasted, filled)));
        facts.push(format!("{} came from the disk{}", size(PageCounts::bytes(filled)), waste.unwrap_or_default()));
    }
    facts.join(" · ")
}

/// What was started, from which caches, when.
fn about_run(run: &Run) -> String {
    format!("{} · {} · {}", command(run), state(run.state), date(run.started))
}

/// The small print.
fn notes(trace: &Trace, options: &MapOptions<'_>, places: &Places, bands: &[Band], layers: &[DotLayer]) -> Vec<String> {
    let mut notes = Vec::new();
    let is_read = layers.iter().any(|layer| layer.count(DotKind::Call) + layer.count(DotKind::Fill) > 0);
    let traces = std::iter::once(trace).chain(options.other.map(|other| other.trace));
    for (trace, layer) in traces.zip(layers) {
        let of = layer.label.as_deref().map_or_else(String::new, |label| format!("{label}: "));
        notes.push(format!("{of}{}", pages_seen(trace.run.pages)));
        if trace.run.lost_events > 0 {
            notes.push(format!(
                "{of}{} were lost, because a buffer of the kernel was full.",
                counted(trace.run.lost_events, "event")
            ));
        }
        if !trace.run.complete {
            notes.push(format!("{of}The recording broke off; what came later is missing."));
        }
        if layer.outside > 0 {
            notes.push(format!("{of}{}", left_out(layer.outside)));
        }
        // Beside the other's numbers a nought in the legend would mean that nothing was read.
        let is_told =
            |trace: &Trace| trace.events.iter().any(|event| matches!(event.kind, EventKind::Read | EventKind::Fill(_)));
        if options.other.is_some() && is_read && !is_told(trace) {
            notes.push(format!("{of}What was read and what came from the disk was not recorded."));
        }
        notes.push(format!("{of}{}", recorded(&trace.run)));
    }
    if options.other.is_some() {
        notes.push("Bands, phases, other files and counts of pages are those of A.".to_owned());
    }
    if bands::are_many(bands) {
        notes.push(format!("Sections of less than {} pages are not named.", bands::NAMED));
    }
    if places.zeros.is_some() {
        notes.push(
            "Zero-filled memory has no place in the file: it stands above the file's end, in a scale of its own."
                .to_owned(),
        );
    }
    if places.not_loaded > 0 {
        notes.push(format!("The file goes on for {} that nothing loads.", size(places.not_loaded)));
    }
    notes.push(format!("Drawn by coldstart {}.", env!("CARGO_PKG_VERSION")));
    notes
}

fn left_out(count: u64) -> String {
    let (lie, are) = if count == 1 { ("lies", "is") } else { ("lie", "are") };
    format!("{} {lie} outside the file's loaded part and {are} not drawn.", counted(count, "event"))
}

fn pages_seen(pages: PagesSeen) -> &'static str {
    match pages {
        PagesSeen::Each => "Each dot is the first use of a page by a process.",
        PagesSeen::FaultAround => {
            "The kernel mapped up to 16 pages at once (fault-around), at times more: of these only the one that was asked for has a dot."
        }
        PagesSeen::None => "First uses of pages were not recorded.",
    }
}

/// What it was recorded on, and what that cost.
fn recorded(run: &Run) -> String {
    let cost = if run.stopped > 0 {
        format!(" held its threads for {} or more", duration(run.stopped))
    } else {
        " did not hold its threads".to_owned()
    };
    let processors = match run.processors {
        0 => String::new(),
        1 => ", 1 processor".to_owned(),
        many => format!(", {many} processors"),
    };
    let kernel = harmless_text(&run.kernel);
    format!("Recording{cost}; Linux {kernel}{processors}.")
}
