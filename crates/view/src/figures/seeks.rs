//! Distances of consecutive touches, and of consecutive function calls, in their files.

use coldstart_profile::trace::figures::{Figures, Seeks, StagedSeeks};

use super::{FigureGroup, Group, Known, Unit};

/// Part of a key, a label, and what they stand for.
type FigureOfSeeks = (&'static str, &'static str, Unit, fn(&Seeks) -> u64);

/// Between touches.
pub(super) fn touches(figures: &Figures, known: &Known) -> FigureGroup {
    let note = format!("Distance in the file from one to the next, in each process. {}", known.seen());
    let mut group = Group::new("Jumps between page touches", known.note(&note));
    add(&mut group, "touches", &figures.total.touch_seeks, known.touches, known.phases);
    group.finish()
}

/// Between functions.
pub(super) fn functions(figures: &Figures, known: &Known) -> FigureGroup {
    let note = "Distance in the file from each watched function's first call to the next, in each process.";
    let mut group = Group::new("Jumps between functions", known.note(note));
    add(&mut group, "functions", &figures.total.function_seeks, known.functions, known.phases);
    group.finish()
}

fn add(group: &mut Group, what: &str, seeks: &StagedSeeks, is_known: bool, has_phases: bool) {
    let stages = [
        ("all", "", &seeks.all, is_known),
        ("before-main", ", before main", &seeks.before_main, is_known && has_phases),
        ("after-main", ", after main began", &seeks.after_main, is_known && has_phases),
    ];
    for (stage, when, seeks, is_known) in stages {
        let figures: [FigureOfSeeks; 5] = [
            ("forward-steps", "jumps forward", Unit::Count, |seeks| seeks.forward_steps),
            ("backward-steps", "jumps back", Unit::Count, |seeks| seeks.backward_steps),
            ("forward", "distance forward", Unit::Bytes, |seeks| seeks.forward),
            ("backward", "distance back", Unit::Bytes, |seeks| seeks.backward),
            ("total", "distance both ways", Unit::Bytes, Seeks::total),
        ];
        for (key, label, unit, value) in figures {
            let key = format!("seeks.{what}.{stage}.{key}");
            group.add(&key, &format!("{label}{when}"), unit, is_known.then(|| value(seeks)));
        }
    }
}
