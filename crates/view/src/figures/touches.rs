//! Touches of pages and calls of functions, by kind and by stage.

use coldstart_profile::trace::figures::{Figures, Stage, TouchCounts};

use super::{FigureGroup, Group, HALVES, Known, Unit};

/// Part of a key, a label, and what they stand for.
type KindOfTouch = (&'static str, &'static str, fn(&TouchCounts) -> u64);

/// First touches of pages.
pub(super) fn touches(figures: &Figures, known: &Known) -> FigureGroup {
    let mut group = Group::new("Page touches", known.note(known.seen()));
    let (by_stage, all) = (&figures.total.touches, figures.total.touches.total());
    let if_known = |count: u64| known.touches.then_some(count);
    group.add("touches.all", "first touches", Unit::Count, if_known(all.all));
    for (half, key, label) in HALVES {
        let value = if_known(by_stage.of_half(half).all).filter(|_| known.phases);
        group.add(&format!("touches.{key}"), label, Unit::Count, value);
    }
    let kinds: [KindOfTouch; 4] = [
        ("major", "waited for the disk", |touches| touches.major),
        ("written", "wrote", |touches| touches.written),
        ("executed", "executed", |touches| touches.executed),
        ("zero-filled", "of zero-filled memory", |touches| touches.zero_filled),
    ];
    for (key, label, count) in kinds {
        group.add(&format!("touches.{key}"), label, Unit::Count, if_known(count(&all)));
        for (half, half_key, half_label) in HALVES {
            let value = if_known(count(&by_stage.of_half(half))).filter(|_| known.phases);
            group.add(&format!("touches.{key}.{half_key}"), &format!("{label}, {half_label}"), Unit::Count, value);
        }
    }
    group.neutral("touches.by-kernel", "by the kernel for the program", Unit::Count, if_known(all.by_kernel));
    group.add("touches.first-of-run", "of pages new to the whole run", Unit::Count, if_known(all.first_of_run));
    for stage in Stage::ALL {
        let value = if_known(by_stage[stage].all).filter(|_| known.phases);
        group.add(&format!("touches.stage.{}", stage.name()), &in_stage(stage), Unit::Count, value);
    }
    group.finish()
}

/// First calls of functions.
pub(super) fn functions(figures: &Figures, known: &Known) -> FigureGroup {
    let note = "First calls of functions, of those whose calls were watched.";
    let mut group = Group::new("Functions", known.note(note));
    let functions = &figures.total.functions;
    let if_known = |count: u64| known.functions.then_some(count);
    group.add("functions.all", "functions called", Unit::Count, if_known(functions.total()));
    for (half, key, label) in HALVES {
        let value = if_known(functions.of_half(half)).filter(|_| known.phases);
        group.add(&format!("functions.{key}"), label, Unit::Count, value);
    }
    for stage in Stage::ALL {
        let value = if_known(functions[stage]).filter(|_| known.phases);
        group.add(&format!("functions.stage.{}", stage.name()), &in_stage(stage), Unit::Count, value);
    }
    group.finish()
}

/// A stage, as where something happened.
pub(super) fn in_stage(stage: Stage) -> String {
    let words = match stage {
        Stage::Loading => "while loading",
        Stage::Relocation => "in relocation",
        Stage::Initialisers => "in initialisers",
        Stage::Runtime => "in the runtime, up to main",
        Stage::Main => "in main, without dlopen",
        Stage::Dlopen => "in dlopen",
        Stage::Other => "in no phase",
    };
    words.to_owned()
}
