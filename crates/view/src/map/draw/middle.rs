//! The map itself: bands, grid, and overlays.

use svg::node::element::Group;

use super::super::colours::Colours;
use super::super::scale::{size_tick, ticks, time_tick};
use super::super::words::size;
use super::super::{ObjectMap, Place};
use super::frame::{Frame, further};
use super::letters::{SMALL, width};
use super::{line, rectangle, text, top};

/// Bands that are lower than that, in points, are not seen.
const LOWEST: f64 = 0.1;

/// What is below the dots.
pub(super) fn ground(map: &ObjectMap, frame: &Frame) -> Group {
    let colours = Colours::new(map.theme);
    let (left, across) = (frame.left, frame.right - frame.left);
    let mut group = Group::new();
    for band in &map.bands {
        let (lower, upper) = (frame.y(band.from), frame.y(further(band.from, band.size)));
        if lower - upper >= LOWEST {
            group = group
                .add(rectangle("band", left, upper, across, lower - upper).set("fill", colours.section(band.class)));
        }
    }
    let (marks, step) = ticks(0, map.places.file_end, tick_room(frame.bottom - frame.file, 44.0));
    for at in marks {
        let y = frame.y(Place::File(at));
        group = group.add(line("grid", (left, y), (frame.right, y)));
        group = group.add(text("small end", left - 8.0, y + 4.0, &size_tick(at, step, map.places.file_end)));
    }
    let (from, to) = map.time;
    let (marks, step) = ticks(from, to, tick_room(across, 92.0));
    for at in marks {
        let x = frame.x(at);
        group = group.add(line("grid", (x, frame.top), (x, frame.bottom)));
        group = group.add(text("small centre", x, frame.bottom + 16.0, &time_tick(at, step, to)));
    }
    group = group.add(text("small muted end", left - 8.0, frame.bottom + 16.0, "since the launch"));
    if let Some((from, to)) = map.places.zeros {
        let middle = (frame.top + frame.zeros_bottom()) / 2.0 + 4.0;
        let words = format!("zeros, {}", size(to.saturating_sub(from)));
        group = group.add(text("small end", left - 8.0, middle, &words));
        group = group.add(rectangle("frame", left, frame.top, across, frame.zeros_bottom() - frame.top));
    }
    group.add(rectangle("frame", left, frame.file, across, frame.bottom - frame.file)).add(top::beginnings(map, frame))
}

/// What is above the dots.
pub(super) fn marks(map: &ObjectMap, frame: &Frame) -> Group {
    let mut group = Group::new();
    for (place, (at, words)) in map.ready.iter().enumerate() {
        let x = frame.x(*at);
        let y = frame.file + 14.0 + 14.0 * place as f64;
        let is_left = x - width(words, SMALL) - 6.0 >= frame.left;
        let (class, beside) = if is_left { ("small when end", x - 5.0) } else { ("small when", x + 5.0) };
        group = group.add(line("ready", (x, frame.top), (x, frame.bottom + 4.0))).add(text(class, beside, y, words));
    }
    group
}

/// How many ticks there is room for.
fn tick_room(length: f64, each: f64) -> u32 {
    // With one alone an axis may have nothing but its beginning.
    (length / each).floor().clamp(2.0, 40.0) as u32
}
