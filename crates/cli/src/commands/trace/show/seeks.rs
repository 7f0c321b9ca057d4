//! The file distance of consecutive touches and of consecutive functions.

use coldstart_profile::trace::figures::{Activity, FileFigures, Seeks, Stage, StagedSeeks, SumOf};
use coldstart_profile::trace::{Layer, PagesSeen};

use super::{View, words};
use crate::output::path::fitted;
use crate::output::size::{bytes, grouped};
use crate::output::table::{Align, Table};
use crate::output::text::{escaped, fit, heading, prose, table};

/// Both kinds of events, separately.
pub(super) fn part(view: &View<'_>) -> String {
    let basis = &view.figures.basis;
    let pages = match basis.pages {
        PagesSeen::Each => "each page's first touch",
        _ => "touches not hidden by fault-around",
    };
    let touches = of_kind(view, SumOf::Touches, pages, |activity| &activity.touch_seeks);
    touches
        + &of_kind(view, SumOf::Functions, "each watched function's first call", |activity| &activity.function_seeks)
}

fn of_kind(view: &View<'_>, of: SumOf, what: &str, seeks: fn(&Activity) -> &StagedSeeks) -> String {
    let files = view.files_with_jumps(seeks);
    if files.is_empty() || !view.figures.basis.has(of) {
        return String::new();
    }
    let title = match of {
        SumOf::Touches => "Jumps between page touches",
        SumOf::Functions => "Jumps between functions",
    };
    let mut sum = StagedSeeks::default();
    files.iter().for_each(|file| sum += *seeks(&file.activity));
    let mut text = heading(title, "distance in the file between consecutive ones, in each process");
    text.push_str(&table(&by_stage(&sum)));
    text.push_str(&by_file(view, &files, seeks));
    let lost = if view.figures.basis.lost_events > 0 || !view.figures.basis.complete {
        "; some events are missing"
    } else {
        ""
    };
    let advice = format!("from {what}{lost}: compare only with sums of traces recorded in the same way");
    text.push_str(&prose(&escaped(&advice), 2, 2));
    text
}

fn cells(seeks: &Seeks) -> Vec<String> {
    vec![grouped(seeks.steps), bytes(seeks.forward), bytes(seeks.backward), bytes(seeks.total())]
}

fn by_stage(seeks: &StagedSeeks) -> Table {
    let mut rows = Table::new(&[
        ("jumps", Align::Right),
        ("forward", Align::Right),
        ("back", Align::Right),
        ("both", Align::Right),
        ("when", Align::Left),
    ]);
    let mut row = |name: &str, seeks: &Seeks| {
        if seeks.steps > 0 {
            let mut cells = cells(seeks);
            cells.push(name.to_owned());
            rows.row(cells);
        }
    };
    row("always", &seeks.all);
    row("before main", &seeks.before_main);
    row("after main began", &seeks.after_main);
    for stage in Stage::ALL {
        let name = match stage {
            Stage::Main => "  main, without dlopen",
            Stage::Loading => "  loading",
            Stage::Relocation => "  relocation",
            Stage::Initialisers => "  initialisers",
            Stage::Runtime => "  runtime, up to main",
            Stage::Dlopen => "  dlopen",
            Stage::Other => "  in no phase",
        };
        row(name, &seeks.stages[stage]);
    }
    row("  from one to another of these", &seeks.across);
    rows
}

fn by_file(view: &View<'_>, files: &[&FileFigures], seeks: fn(&Activity) -> &StagedSeeks) -> String {
    let mut rows = Table::new(&[
        ("jumps", Align::Right),
        ("forward", Align::Right),
        ("back", Align::Right),
        ("before main", Align::Right),
        ("after", Align::Right),
        ("file", Align::Left),
    ]);
    let has_phases = view.has(Layer::Phases);
    let shown = files.len().min(view.limit);
    for file in files.iter().take(shown) {
        let seeks = seeks(&file.activity);
        rows.row(vec![
            grouped(seeks.all.steps),
            bytes(seeks.all.forward),
            bytes(seeks.all.backward),
            words::if_known(has_phases, || bytes(seeks.before_main.total())),
            words::if_known(has_phases, || bytes(seeks.after_main.total())),
            String::new(),
        ]);
    }
    fit(&mut rows, |row, room| files.get(row).map_or_else(String::new, |file| fitted(view.path(file.file), room)));
    table(&rows) + &words::omitted(shown, files.len())
}
