//! The figures of a trace as a list of named numbers, the same for pages, tables and comparisons.
//!
//! Nothing is counted here that [`Figures`] does not have. What a newcomer would not guess: what was not recorded is
//! not a zero, but unknown, so that a start traced without functions does not look like one that called none.

mod counts;
mod of_file;
mod pages;
mod seeks;
#[cfg(test)]
mod tests;
mod times;
mod touches;

use coldstart_profile::trace::figures::{Figures, FilesSeen, Half};
use coldstart_profile::trace::{Layer, Trace};
use serde::Serialize;

pub use of_file::FileNumbers;

/// Figures that belong together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FigureGroup {
    /// What they are about.
    pub title: String,
    /// What they rest on, or how to read them; may be empty.
    pub note: String,
    /// The same in all traces, and in the same order.
    pub figures: Vec<Figure>,
}

/// A named number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Figure {
    /// Stable name, the same in all traces: "touches.major".
    pub key: String,
    /// What it is, in words.
    pub label: String,
    /// `None`: not recorded.
    pub value: Option<u64>,
    /// Of what.
    pub unit: Unit,
    /// Whether less of it is better.
    pub less_is_better: bool,
}

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Things.
    Count,
    /// Bytes.
    Bytes,
    /// Nanoseconds.
    Nanoseconds,
    /// Pages of 4096 bytes.
    Pages,
}

/// All figures of a trace.
pub fn figure_groups(trace: &Trace, figures: &Figures) -> Vec<FigureGroup> {
    let known = Known::of(trace, figures);
    vec![
        times::start(trace, figures, &known),
        times::phases(trace, figures, &known),
        touches::touches(figures, &known),
        touches::functions(figures, &known),
        pages::pages(figures, &known),
        pages::disk(figures, &known),
        seeks::touches(figures, &known),
        seeks::functions(figures, &known),
        counts::names(figures, &known),
        counts::programs(figures, &known),
        counts::recording(trace),
    ]
}

/// What was recorded: else what it would tell is unknown.
struct Known {
    phases: bool,
    touches: bool,
    /// Each page's first touch, of all processes.
    each_page: bool,
    functions: bool,
    files: FilesSeen,
    /// Said where counts are too low.
    missing: &'static str,
}

impl Known {
    fn of(trace: &Trace, figures: &Figures) -> Self {
        use coldstart_profile::trace::PagesSeen;
        use coldstart_profile::trace::figures::SumOf;

        let basis = &figures.basis;
        Self {
            phases: basis.layers.contains(&Layer::Phases) && !trace.phases.is_empty(),
            touches: basis.has(SumOf::Touches),
            each_page: basis.pages == PagesSeen::Each,
            functions: basis.has(SumOf::Functions),
            files: figures.files_seen,
            missing: if basis.lost_events > 0 || !basis.complete {
                " Some events are missing, so these counts are too low."
            } else {
                ""
            },
        }
    }

    fn note(&self, text: &str) -> String {
        format!("{text}{}", self.missing).trim_start().to_owned()
    }

    fn seen(&self) -> &'static str {
        if self.each_page || !self.touches {
            "Each process's first use of a page of a file, and its first write to one it had read."
        } else {
            "Of each process's first uses of pages those that fault-around left over: the kernel maps up to 16 pages at a touch."
        }
    }
}

/// Collects the figures of a group.
struct Group {
    group: FigureGroup,
}

impl Group {
    fn new(title: &str, note: String) -> Self {
        Self { group: FigureGroup { title: title.to_owned(), note, figures: Vec::new() } }
    }

    /// A figure for which less is better.
    fn add(&mut self, key: &str, label: &str, unit: Unit, value: Option<u64>) {
        self.push(key, label, unit, value, true);
    }

    /// A figure that is neither good nor bad.
    fn neutral(&mut self, key: &str, label: &str, unit: Unit, value: Option<u64>) {
        self.push(key, label, unit, value, false);
    }

    fn push(&mut self, key: &str, label: &str, unit: Unit, value: Option<u64>, less_is_better: bool) {
        self.group.figures.push(Figure { key: key.to_owned(), label: label.to_owned(), value, unit, less_is_better });
    }

    fn finish(self) -> FigureGroup {
        self.group
    }
}

/// Before `main` and after, as part of keys and labels.
const HALVES: [(Half, &str, &str); 2] =
    [(Half::BeforeMain, "before-main", "before main"), (Half::AfterMain, "after-main", "after main began")];
