//! Measurements over time as a picture: one panel per series, in one self-contained SVG file.
//!
//! The library's types stay in this file. It escapes text but not the quotes of attributes: names go into text alone.
//! Measurements are at even distances and not by their dates: a change is between two measurements, and a pause of a
//! month would squeeze all others together.

use svg::Document;
use svg::node::element::{Circle, Group, Line, Polyline, Style, Title};

use coldstart_profile::escaped;
use coldstart_profile::measurement::{Point, Series, is_apart};

use crate::dates::minute;
use crate::drawing::{decimal, legal, rectangle, text};
use crate::numbers::{counted, seconds};
use crate::width;

/// Size of the picture and its parts, in the picture's own unit.
const WIDTH: f64 = 960.0;
const MARGIN: f64 = 20.0;
const LEFT: f64 = 80.0;
const PLOT: f64 = 180.0;
const LINE: f64 = 16.0;
/// Labels below the points take this much room each.
const LABEL_ROOM: f64 = 110.0;
/// Columns of a title.
const COLUMNS: usize = 120;
/// Points drawn, the newest.
const MOST: usize = 200;

const STYLE: &str = ":root{color-scheme:light dark}.page{fill:#ffffff}text{fill:#24292f}\
    .title{font-weight:bold;font-size:15px}.name{font-weight:bold}.note{fill:#57606a;font-size:11px}\
    .grid{stroke:#d0d7de;stroke-width:1}.times{fill:none;stroke:#0969da;stroke-width:1.5}\
    .whisker{stroke:#0969da;stroke-width:1}.point{fill:#0969da}.program{stroke:#bc4c00;stroke-width:1;\
    stroke-dasharray:4 3}.changed{fill:#bc4c00;font-size:11px}\
    @media(prefers-color-scheme:dark){.page{fill:#0d1117}text{fill:#e6edf3}.note{fill:#9198a1}\
    .grid{stroke:#3d444d}.times,.whisker{stroke:#58a6ff}.point{fill:#58a6ff}.program{stroke:#f0883e}\
    .changed{fill:#f0883e}}";

/// The picture of all rows.
pub fn svg(name: &str, all: &[Series]) -> String {
    let title = legal(&cut(&format!("Times to ready: {}", escaped(name)), COLUMNS));
    let mut y = MARGIN + LINE;
    let mut content = Group::new().add(text(MARGIN, y, "title", &title));
    y += LINE + 4.0;
    let how = "mean of each measurement with its 95 % interval; oldest left, at even distances; dates are UTC";
    content = content.add(text(MARGIN, y, "note", how));
    if is_apart(all) {
        y += LINE;
        let apart = "measurements on another machine or kernel, to another readiness, from another saved state or at a held frequency \
                     have a panel of their own";
        content = content.add(text(MARGIN, y, "note", apart));
    }
    for series in all {
        (content, y) = panel(content, series, y + 2.0 * LINE);
    }
    let height = y + MARGIN;
    let document = Document::new()
        .set("viewBox", format!("0 0 {WIDTH} {}", decimal(height)))
        .set("role", "img")
        .set("font-family", "system-ui, sans-serif")
        .set("font-size", "13")
        .add(crate::mark::comment())
        .add(Title::new(title))
        .add(Style::new(STYLE))
        .add(rectangle("page", 0.0, 0.0, WIDTH, height))
        .add(content);
    format!("{document}\n")
}

/// The text with its middle left out where it is too long, whatever letters a terminal has: a picture has all.
fn cut(text: &str, columns: usize) -> String {
    width::cut(text, columns, '…')
}

/// What else was done to get to the state, to be after its name.
fn condition(series: &Series) -> String {
    if series.condition.is_empty() { String::new() } else { format!(", {}", series.condition) }
}

/// Title, axes and points of one row.
fn panel(mut group: Group, series: &Series, y: f64) -> (Group, f64) {
    let ready = if series.readiness == "exit" { String::new() } else { format!(", ready at {}", series.readiness) };
    let name = escaped(&format!("{}: {}{ready}{}", series.state, series.command_line, condition(series)));
    let machine = &series.machine;
    let place = format!("{} x {}, Linux {}", machine.processor_count, machine.processor, machine.kernel);
    group = group.add(text(MARGIN, y, "name", &cut(&name, COLUMNS))).add(text(
        MARGIN,
        y + LINE,
        "note",
        &cut(&escaped(&place), COLUMNS),
    ));
    let top = y + 2.0 * LINE;
    let bottom = top + PLOT;
    let points = series.points.get(series.points.len().saturating_sub(MOST)..).unwrap_or_default();
    let scale = Scale::of(points);
    let height = |seconds: f64| bottom - PLOT * ((seconds - scale.low) / (scale.high - scale.low));
    for tick in scale.ticks() {
        let at = height(tick);
        let label = text(LEFT - 8.0, at + 4.0, "note", &scale.shown(tick)).set("text-anchor", "end");
        group = group.add(line("grid", LEFT, at, WIDTH - MARGIN, at)).add(label);
    }
    let step = (WIDTH - MARGIN - LEFT) / points.len().max(1) as f64;
    let place = |index: usize| LEFT + step * (index as f64 + 0.5);
    let path: Vec<String> = points
        .iter()
        .enumerate()
        .map(|(index, point)| format!("{:.1},{:.1}", place(index), height(point.mean)))
        .collect();
    group = group.add(Polyline::new().set("class", "times").set("points", path.join(" ")));
    let mut labelled_to = f64::NEG_INFINITY;
    for (index, point) in points.iter().enumerate() {
        let x = place(index);
        if point.is_other_program {
            let between = x - step / 2.0;
            group = group.add(line("program", between, top, between, bottom)).add(text(
                between + 3.0,
                top + 10.0,
                "changed",
                "other program",
            ));
        }
        if let Some(interval) = point.interval {
            let low = height(interval.low.max(scale.low));
            group = group.add(line("whisker", x, low, x, height(interval.high)));
        }
        let dot = Circle::new().set("class", "point").set("cx", decimal(x)).set("cy", decimal(height(point.mean)));
        group = group.add(dot.set("r", "3").add(Title::new(legal(&tip(point)))));
        if x - LABEL_ROOM / 2.0 >= labelled_to {
            labelled_to = x + LABEL_ROOM / 2.0;
            let what =
                point.label.as_deref().map_or_else(|| format!("#{}", point.number), |label| cut(&escaped(label), 16));
            let date = minute(point.measured_at);
            group = group
                .add(text(x, bottom + LINE, "note", &date).set("text-anchor", "middle"))
                .add(text(x, bottom + 2.0 * LINE - 2.0, "note", &what).set("text-anchor", "middle"));
        }
    }
    (group, bottom + 2.0 * LINE)
}

/// What a point says when it is pointed at.
fn tip(point: &Point) -> String {
    let label = point.label.as_deref().map_or_else(String::new, |label| format!(" {}", escaped(label)));
    let interval = point.interval.map(|interval| format!(" ({} to {})", seconds(interval.low), seconds(interval.high)));
    let (mean, interval) = (seconds(point.mean), interval.unwrap_or_default());
    let runs = counted(point.runs as u64, "run");
    format!("#{}{label}, {}: {mean}{interval}, {runs}", point.number, minute(point.measured_at))
}

/// The axis of times.
struct Scale {
    low: f64,
    high: f64,
    step: f64,
}

impl Scale {
    /// From below the lowest interval to above the highest, in steps of 1, 2 or 5 times a power of ten.
    fn of(points: &[Point]) -> Self {
        let ends = points.iter().flat_map(|point| {
            // An interval of three odd runs can reach far below zero; the axis ends there.
            let (low, high) = point.interval.map_or((point.mean, point.mean), |interval| (interval.low, interval.high));
            [low.max(0.0), high]
        });
        let (low, high) = ends.fold((f64::INFINITY, 0.0f64), |(low, high), end| (low.min(end), high.max(end)));
        let low = if low.is_finite() { low } else { 0.0 };
        let room = (high - low).max(high * 0.02).max(1e-6);
        let rough = room / 4.0;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|one| one * power).find(|step| *step >= rough);
        let step = step.unwrap_or(power * 10.0);
        let low = (low / step).floor() * step;
        Self { low, high: ((high / step).ceil() * step).max(low + step), step }
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        let count = ((self.high - self.low) / self.step).round().clamp(1.0, 20.0) as u32;
        (0..=count).map(|tick| self.low + f64::from(tick) * self.step)
    }

    /// With its unit, and as many digits as the steps need.
    fn shown(&self, seconds: f64) -> String {
        let (factor, unit) = if self.high < 1.0 { (1e3, "ms") } else { (1.0, "s") };
        let decimals = (-(self.step * factor).log10().floor()).clamp(0.0, 6.0) as usize;
        format!("{:.decimals$} {unit}", seconds * factor)
    }
}

fn line(class: &str, x1: f64, y1: f64, x2: f64, y2: f64) -> Line {
    let line = Line::new().set("class", class).set("x1", decimal(x1)).set("y1", decimal(y1));
    line.set("x2", decimal(x2)).set("y2", decimal(y2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_round_steps_with_units() {
        let scale = |low: f64, high: f64| {
            let step = Scale { low, high, step: (high - low) / 2.0 };
            step.ticks().map(|tick| step.shown(tick)).collect::<Vec<_>>()
        };
        assert_eq!(scale(0.1, 0.3), ["100 ms", "200 ms", "300 ms"]);
        assert_eq!(scale(0.010, 0.011), ["10.0 ms", "10.5 ms", "11.0 ms"]);
        assert_eq!(scale(2.0, 6.0), ["2 s", "4 s", "6 s"]);
        let none = Scale::of(&[]);
        assert!(none.high > none.low && none.ticks().count() < 25);
    }
}
