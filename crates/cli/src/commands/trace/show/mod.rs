//! `coldstart trace show`: what a trace amounts to, as text or JSON.
//!
//! Nothing is computed here that [`Figures`] does not have; a file per part chooses, orders and words it.

mod files;
mod head;
mod initialisers;
mod json_form;
mod lookups;
mod objects;
mod phases;
mod processes;
mod sections;
mod seeks;
mod words;

use std::path::Path;

use coldstart_profile::trace::figures::{Figures, FileFigures};
use coldstart_profile::trace::{FileId, Layer, Trace};

use super::is_meant;
use crate::args::trace::{PartsArgs, ShowArgs};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::text::fact;
use crate::output::{self, json};

/// The schema of `--json`.
const SCHEMA: &str = "coldstart.trace-show/1";
/// Rows of each table, unless another number is asked for.
const SOME: usize = 10;

pub(super) fn run(args: &ShowArgs) -> Result<Exit, CliError> {
    let trace = super::read(&args.file)?;
    let figures = Figures::of(&trace);
    let view = View::new(&trace, &figures, args);
    if args.json {
        json::print(SCHEMA, &json_form::of(&view))?;
    } else {
        output::print(&in_words(&view, &args.parts))?;
    }
    Ok(Exit::Done)
}

/// The summary that is shown after recording.
pub(super) fn summary(trace: &Trace) -> String {
    let figures = Figures::of(trace);
    let view = View { trace, figures: &figures, names: &[], limit: SOME };
    head::run(&view) + &head::numbers(&view) + &phases::of_main_process(&view)
}

/// All of it as one JSON object, for recordings.
pub(super) fn print_json(trace: &Trace, schema: &str) -> Result<(), CliError> {
    let figures = Figures::of(trace);
    json::print(schema, &json_form::of(&View { trace, figures: &figures, names: &[], limit: usize::MAX }))
}

/// A trace with its figures, and what of it is asked for.
struct View<'a> {
    trace: &'a Trace,
    figures: &'a Figures,
    /// Patterns of `--object`.
    names: &'a [String],
    /// Rows of each table.
    limit: usize,
}

impl<'a> View<'a> {
    fn new(trace: &'a Trace, figures: &'a Figures, args: &'a ShowArgs) -> Self {
        let limit = args.limit.unwrap_or(if args.json { 0 } else { SOME });
        Self { trace, figures, names: &args.object, limit: if limit == 0 { usize::MAX } else { limit } }
    }

    /// Whether an object or file is asked for.
    fn wants(&self, file: FileId) -> bool {
        let soname = || self.trace.object(file).and_then(|object| object.soname.as_deref());
        self.names.is_empty() || is_meant(self.names, self.path(file), soname)
    }

    /// Whether a kind of recording was made: else what it would tell is not zero, but unknown.
    fn has(&self, layer: Layer) -> bool {
        self.figures.basis.layers.contains(&layer)
    }

    /// Figures of the files that are asked for.
    fn files(&self) -> Vec<&'a FileFigures> {
        self.figures.files.iter().filter(|file| self.wants(file.file)).collect()
    }

    fn path(&self, file: FileId) -> &'a Path {
        self.trace.file(file).map_or(Path::new("(unknown)"), |file| file.path.as_path())
    }
}

fn in_words(view: &View<'_>, parts: &PartsArgs) -> String {
    let mut text = head::run(view);
    if view.files().is_empty() && !view.names.is_empty() {
        text.push_str(&fact("object", "the start used no object or file of that name"));
    }
    let all = !parts.any();
    if all {
        text.push_str(&head::numbers(view));
        text.push_str(&phases::of_main_process(view));
    }
    if parts.phases {
        text.push_str(&phases::of_all_processes(view));
    }
    for (is_wanted, part) in [
        (parts.objects, objects::part as fn(&View<'_>) -> String),
        (parts.initialisers, initialisers::part),
        (parts.sections, sections::part),
        (parts.seeks, seeks::part),
        (parts.files, files::part),
        (parts.processes, processes::part),
        (parts.lookups, lookups::part),
    ] {
        if all || is_wanted {
            text.push_str(&part(view));
        }
    }
    text
}
