//! Title, facts, and the rows of phases.

use std::cmp::Reverse;

use coldstart_profile::trace::PhaseKind;
use svg::node::element::Group;

use super::super::colours::Colours;
use super::super::words::duration;
use super::super::{ObjectMap, PhaseBar, PhaseRow};
use super::frame::{BAR, FACT, FIRST_FACT, Frame, MARGIN, ROW, TITLE};
use super::letters::{self, PLAIN, SMALL, cut, width};
use super::{line, rectangle, text};

/// Room between two labels.
const APART: f64 = 12.0;
/// Of the square in the phase's colour before a label, with the room after it.
const SQUARE: f64 = 11.0;
/// Maximal distance of a label from its subject.
const FARTHEST: f64 = 260.0;

/// What a phase is called: `dlopen libfoo.so`.
pub(super) fn label(bar: &PhaseBar) -> String {
    let kind = crate::palette::Palette::get().phase(bar.kind.name()).map_or(bar.kind.name(), |swatch| &swatch.label);
    match (&bar.of, bar.kind) {
        (Some(file), PhaseKind::Dlopen | PhaseKind::Dlclose) => format!("{kind} {file}"),
        _ => kind.to_owned(),
    }
}

pub(super) fn draw(map: &ObjectMap, frame: &Frame) -> Group {
    let room = f64::from(map.width) - 2.0 * MARGIN;
    let mut group = Group::new().add(text("title", MARGIN, TITLE, &cut(&map.title, letters::TITLE, room)));
    for (place, fact) in map.facts.iter().enumerate() {
        let y = FIRST_FACT + FACT * place as f64;
        group = group.add(text("muted", MARGIN, y, &cut(fact, PLAIN, room)));
    }
    let colours = Colours::new(map.theme);
    for (place, row) in map.phases.iter().enumerate() {
        let y = frame.phases + ROW * place as f64;
        let name = cut(&row.name, SMALL, frame.left - MARGIN - 8.0);
        group = group.add(text("small muted end", frame.left - 8.0, y + BAR - 3.5, &name));
        group = group.add(rectangle("track", frame.left, y, frame.right - frame.left, BAR));
        for bar in &row.bars {
            let (begin, end) = (frame.x(bar.begin), frame.x(bar.end));
            let shape =
                rectangle("edge", begin, y, (end - begin).max(0.8), BAR).set("fill", colours.phase(bar.kind.name()));
            // An edge in the colour of the ground would leave nothing of a thin bar.
            group = group.add(if end - begin < 3.0 { shape.set("class", "thin") } else { shape });
        }
        group = group.add(labels(row, frame, colours, y, place == 0));
    }
    group
}

/// Names of the bars of a row: inside, where there is room. Others of the first row are above it; others of the last
/// ones behind the last bar.
fn labels(row: &PhaseRow, frame: &Frame, colours: Colours, y: f64, is_first: bool) -> Group {
    let mut group = Group::new();
    let last = row.bars.iter().map(|bar| frame.x(bar.end)).fold(frame.left, f64::max);
    let mut free_from = if is_first { frame.left } else { last + 6.0 };
    let mut bars: Vec<&PhaseBar> = row.bars.iter().collect();
    if !is_first {
        // There is not room for all: the longest matter most.
        bars.sort_by_key(|bar| (Reverse(bar.end.saturating_sub(bar.begin)), bar.begin));
    }
    for bar in bars {
        let (begin, end) = (frame.x(bar.begin), frame.x(bar.end));
        let words = format!("{} {}", label(bar), duration(bar.end.saturating_sub(bar.begin)));
        if width(&words, SMALL) + 6.0 <= end - begin {
            group = group.add(text("small", begin + 4.0, y + BAR - 3.5, &words));
            continue;
        }
        let at = if is_first { begin.max(free_from) } else { free_from };
        let needed = SQUARE + width(&words, SMALL);
        if at + needed > frame.right || (is_first && at - begin > FARTHEST) {
            continue;
        }
        free_from = at + needed + APART;
        let baseline = if is_first { y - 7.0 } else { y + BAR - 3.5 };
        let colour = colours.phase(bar.kind.name());
        group = group.add(rectangle("thin", at, baseline - 7.5, 7.5, 7.5).set("fill", colour)).add(text(
            "small muted",
            at + SQUARE,
            baseline,
            &words,
        ));
    }
    group
}

/// A dotted line through the map where each phase of the process begins.
pub(super) fn beginnings(map: &ObjectMap, frame: &Frame) -> Group {
    let bars = map.phases.first().map_or(&[][..], |row| &row.bars);
    let mut last = frame.left;
    let mut group = Group::new();
    for bar in bars {
        let x = frame.x(bar.begin);
        // Too close together they would be a wall.
        if x - last >= 4.0 && x < frame.right - 1.0 {
            group = group.add(line("begin", (x, frame.top), (x, frame.bottom)));
            last = x;
        }
    }
    group
}
