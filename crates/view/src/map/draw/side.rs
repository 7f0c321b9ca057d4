//! Section names next to their bands.

use svg::node::element::{Group, Path};

use super::super::bands::named;
use super::super::{Band, ObjectMap, Place};
use super::frame::{Frame, MARGIN, further};
use super::letters::{SMALL, cut, width};
use super::{decimal, text};

/// From one name to the next.
const PITCH: f64 = 13.5;
/// From the map to the names.
const LEAD: f64 = 18.0;

/// A name that has a place.
struct Name<'map> {
    band: &'map Band,
    /// The middle of its band.
    wanted: f64,
    /// Its position.
    at: f64,
}

pub(super) fn draw(map: &ObjectMap, frame: &Frame) -> Group {
    let x = frame.right + LEAD + 4.0;
    let mut group = Group::new();
    if map.bands.is_empty() {
        return group;
    }
    let room = f64::from(map.width) - MARGIN - x;
    let words = if map.pages_touched.is_some() { "section: pages touched" } else { "section: pages" };
    group = group.add(text("small muted", x, frame.top - 8.0, words));
    let (zeros, file): (Vec<&Band>, Vec<&Band>) =
        named(&map.bands).partition(|band| matches!(band.from, Place::Zeros(_)));
    let mut names = placed(&zeros, frame, frame.top + 4.0, frame.zeros_bottom());
    names.extend(placed(
        &file,
        frame,
        if frame.has_zeros() { frame.file + 6.0 } else { frame.top + 8.0 },
        frame.bottom,
    ));
    for name in names {
        let count = format!(": {}", name.band.count());
        let label = cut(&name.band.name, SMALL, room - width(&count, SMALL));
        let path = format!(
            "M{} {}h4L{} {}h4",
            decimal(frame.right),
            decimal(name.wanted),
            decimal(frame.right + LEAD - 4.0),
            decimal(name.at)
        );
        group = group.add(Path::new().set("class", "lead").set("d", path)).add(text(
            "small",
            x,
            name.at + 4.0,
            &format!("{label}{count}"),
        ));
    }
    group
}

/// As many names as there is room for, those of most touched pages first, moved apart so that none covers another.
fn placed<'map>(bands: &[&'map Band], frame: &Frame, top: f64, bottom: f64) -> Vec<Name<'map>> {
    let room = ((bottom - top) / PITCH).floor().max(0.0) as usize + 1;
    let mut chosen: Vec<(usize, &Band)> = bands.iter().copied().enumerate().collect();
    chosen.sort_by_key(|(place, band)| (std::cmp::Reverse((band.touched, band.size)), *place));
    chosen.truncate(room);
    chosen.sort_by_key(|(place, band)| (std::cmp::Reverse(band.from), *place));
    let mut names: Vec<Name<'map>> = chosen
        .into_iter()
        .map(|(_, band)| {
            let wanted = (frame.y(band.from) + frame.y(further(band.from, band.size))) / 2.0;
            Name { band, wanted, at: wanted }
        })
        .collect();
    // Down from the top, then up from the bottom: what remains too low makes those above it move.
    let mut free = top;
    for name in &mut names {
        name.at = name.at.max(free);
        free = name.at + PITCH;
    }
    let mut free = bottom - 2.0;
    for name in names.iter_mut().rev() {
        name.at = name.at.min(free);
        free = name.at - PITCH;
    }
    names
}
