//! Dots as marks: a shape for each kind, few bytes per dot.
//!
//! Dots of a kind share a path, whose coordinates are whole tenths of a point. What a newcomer would not guess: a
//! round or a square dot is a line without length, whose ends have caps (SVG 1.1, section 11.4), which takes a third
//! of the bytes of an outline.

use std::fmt::Write;

use svg::node::element::{Group, Path};

use super::super::{DotKind, DotLayer};
use super::frame::{Frame, further};

/// Marks of one path. Renderers go through a path's edges again and again; short paths keep that short.
const OF_PATH: usize = 1000;
/// The shortest bar, in tenths of a point.
const SHORTEST: i32 = 24;

/// Where marks stand, in tenths of a point: from the left, from above, and how far upwards they reach.
type Spot = (i32, i32, i32);

/// The marks of one trace, each once, by kind.
pub(super) struct Marks(Vec<(DotKind, Vec<Spot>)>);

impl Marks {
    pub(super) fn of(layer: &DotLayer, frame: &Frame) -> Self {
        let mut spots = DotKind::ALL.map(|kind| (kind, Vec::new()));
        for dot in &layer.dots {
            let Some((_, spots)) = spots.iter_mut().find(|(kind, _)| *kind == dot.kind) else { continue };
            let (begin, end) = (frame.y(dot.place), frame.y(further(dot.place, dot.length)));
            let x = tenths(frame.x(dot.at));
            spots.push(if is_bar(dot.kind) {
                (x, tenths(begin), tenths(begin - end).max(SHORTEST))
            } else {
                (x, tenths((begin + end) / 2.0), 0)
            });
        }
        let spots = spots.into_iter().filter(|(_, spots)| !spots.is_empty());
        Self(
            spots
                .map(|(kind, mut spots)| {
                    spots.sort_unstable();
                    spots.dedup();
                    (kind, spots)
                })
                .collect(),
        )
    }

    pub(super) fn count(&self) -> usize {
        self.0.iter().map(|(_, spots)| spots.len()).sum()
    }

    /// All marks; `factor` is of their size.
    pub(super) fn draw(&self, factor: f64, is_hollow: bool) -> Group {
        let mut group = Group::new().set("transform", "scale(0.1)");
        for (kind, spots) in &self.0 {
            for spots in spots.chunks(OF_PATH) {
                group = group.add(path(*kind, spots, factor, is_hollow));
            }
        }
        group
    }
}

/// What concerns several pages at once is as long as they are.
fn is_bar(kind: DotKind) -> bool {
    matches!(kind, DotKind::Call | DotKind::Fill)
}

fn tenths(points: f64) -> i32 {
    // A float becomes the nearest whole number that there is.
    (points * 10.0).round() as i32
}

/// One mark of a kind, for the legend: its middle is there, in points.
pub(super) fn sample(kind: DotKind, x: f64, y: f64, is_hollow: bool) -> Group {
    let (x, y) = (tenths(x), tenths(y));
    let spot = if is_bar(kind) { (x, y + 45, 90) } else { (x, y, 0) };
    Group::new().set("transform", "scale(0.1)").add(path(kind, &[spot], 1.35, is_hollow))
}

/// Marks of a kind as one path.
fn path(kind: DotKind, spots: &[Spot], factor: f64, is_hollow: bool) -> Path {
    let size = |tenths: f64| (tenths * factor).round() as i32;
    let mut data = String::with_capacity(spots.len() * 16);
    let mut each = |write: &dyn Fn(&mut String, Spot) -> std::fmt::Result| {
        // Writing into a string does not fail.
        spots.iter().for_each(|spot| write(&mut data, *spot).unwrap_or_default());
    };
    let path = Path::new();
    let stroked = |width: i32, caps: &str| {
        path.clone()
            .set("class", format!("{} stroked", kind.id()))
            .set("stroke-width", width)
            .set("stroke-linecap", caps)
    };
    let outline = || {
        let class = if is_hollow { "stroked" } else { "solid" };
        let path = path.clone().set("class", format!("{} {class}", kind.id()));
        if is_hollow { path.set("stroke-width", size(8.0)) } else { path }
    };
    let path = match kind {
        DotKind::Major => {
            let r = size(24.0);
            each(&|data, (x, y, _)| write!(data, "M{x} {}l{r} {r}-{r} {r}-{r}-{r}z", y - r));
            outline()
        }
        DotKind::Write => {
            let (r, up) = (size(20.0), size(34.0));
            each(&|data, (x, y, _)| write!(data, "M{} {}h{}l-{r}-{up}z", x - r, y + up / 2, 2 * r));
            outline()
        }
        DotKind::Function => {
            let r = size(14.0);
            each(&|data, (x, y, _)| write!(data, "M{} {}l{d} {d}m-{d} 0l{d}-{d}", x - r, y - r, d = 2 * r));
            stroked(size(if is_hollow { 5.0 } else { 8.0 }), "butt")
        }
        DotKind::Execute | DotKind::Other if is_hollow => {
            let r = size(15.0);
            each(&|data, (x, y, _)| write!(data, "M{} {y}a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0-{d} 0z", x - r, d = 2 * r));
            outline()
        }
        DotKind::Execute => {
            each(&|data, (x, y, _)| write!(data, "M{x} {y}h0"));
            stroked(size(32.0), "round")
        }
        // A plus, so that it is not taken for what was executed.
        DotKind::Other => {
            let r = size(16.0);
            each(&|data, (x, y, _)| write!(data, "M{} {y}h{d}m-{r}-{r}v{d}", x - r, d = 2 * r));
            stroked(size(8.0), "butt")
        }
        DotKind::Read if is_hollow => {
            let r = size(14.0);
            each(&|data, (x, y, _)| write!(data, "M{} {}h{d}v{d}h-{d}z", x - r, y - r, d = 2 * r));
            outline()
        }
        DotKind::Read => {
            each(&|data, (x, y, _)| write!(data, "M{x} {y}h0"));
            stroked(size(27.0), "square")
        }
        DotKind::Call => {
            each(&|data, (x, y, up)| write!(data, "M{x} {y}v-{up}"));
            let path = stroked(size(14.0), "butt");
            if is_hollow { path.set("stroke-dasharray", "20 15") } else { path }
        }
        DotKind::Fill => {
            let r = size(14.0);
            each(&|data, (x, y, up)| write!(data, "M{} {y}h{}v-{up}h-{}z", x - r, 2 * r, 2 * r));
            if is_hollow { outline() } else { outline().set("fill-opacity", "0.6") }
        }
    };
    path.set("d", data)
}
