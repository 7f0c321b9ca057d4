//! The map as SVG.
//!
//! All of it is laid out here in points, from top to bottom: title, phases, the map with the names of sections at its
//! side, the axis of time, other files, legend, small print. What a newcomer would not guess: text is measured with
//! the widths of DejaVu Sans, the font that the PNG is drawn with; most browsers' fonts are narrower, so that what
//! fits here fits there.

mod bottom;
mod frame;
mod letters;
mod marks;
mod middle;
mod side;
mod top;

use svg::Document;
use svg::node::element::{Description, Group, Line, Rectangle, Style, Text, Title};

use super::ObjectMap;
use super::colours::Colours;
use super::words::{counted, duration, grouped};
use frame::Frame;
use marks::Marks;

/// The families, the one of the PNG first.
const FAMILIES: &str = "DejaVu Sans, Verdana, sans-serif";

impl ObjectMap {
    /// The picture: one SVG file that needs nothing else. The same map makes the same bytes.
    pub fn svg(&self) -> String {
        let colours = Colours::new(self.theme);
        let frame = Frame::of(self, colours);
        let marks: Vec<Marks> = self.layers.iter().map(|layer| Marks::of(layer, &frame)).collect();
        let drawn = marks.iter().map(Marks::count).sum();
        let (width, height) = (f64::from(self.width), f64::from(self.height));
        let mut document = Document::new()
            .set("viewBox", format!("0 0 {} {}", self.width, self.height))
            .set("width", self.width)
            .set("height", self.height)
            .set("role", "img")
            .set("font-family", FAMILIES)
            .set("font-size", decimal(letters::PLAIN))
            .add(crate::mark::comment())
            .add(Title::new(format!("Map of {}", self.title)))
            .add(Description::new().add(svg::node::Text::new(self.description(drawn))))
            .add(Style::new(style(colours)))
            .add(rectangle("page", 0.0, 0.0, width, height));
        let dots = marks.iter().enumerate().fold(Group::new().set("class", "dots"), |group, (place, marks)| {
            group.add(marks.draw(self.marks_factor(drawn), place > 0))
        });
        for part in [
            top::draw(self, &frame),
            middle::ground(self, &frame),
            side::draw(self, &frame),
            dots,
            middle::marks(self, &frame),
            bottom::draw(self, &frame),
        ] {
            document = document.add(part);
        }
        format!("{document}\n")
    }

    /// Many dots are drawn smaller, so that they do not become one blot.
    fn marks_factor(&self, drawn: usize) -> f64 {
        let area = f64::from(self.width) * f64::from(self.height);
        match drawn as f64 / area {
            density if density < 0.015 => 1.0,
            density if density < 0.06 => 0.8,
            _ => 0.6,
        }
    }

    /// What the picture shows, for those who cannot see it.
    fn description(&self, drawn: usize) -> String {
        let colours = Colours::new(self.theme);
        let counts = self.counts().into_iter().map(|(kind, counts)| {
            let counts: Vec<String> = counts.into_iter().map(grouped).collect();
            format!("{} {}", counts.join(" and "), colours.meaning(kind))
        });
        let counts: Vec<String> = counts.collect();
        let events: usize = self.layers.iter().map(|layer| layer.dots.len()).sum();
        let (from, to) = (duration(self.time.0), duration(self.time.1));
        let phases = self.phases.iter().flat_map(|row| &row.bars).take(20);
        let phases: Vec<String> =
            phases.map(|bar| format!("{} {} to {}", top::label(bar), duration(bar.begin), duration(bar.end))).collect();
        let ready: Vec<&str> = self.ready.iter().map(|(_, words)| words.as_str()).collect();
        let sentences = [
            self.facts.join(". "),
            format!("Time across, {from} to {to} since the launch; place in the file upwards"),
            format!(
                "{} of the object, drawn as {}: what falls on the same tenth of a point is drawn once",
                counted(events as u64, "event"),
                counted(drawn as u64, "mark")
            ),
            counts.join(", "),
            phases.join("; "),
            ready.join(", "),
        ];
        let sentences: Vec<String> = sentences.into_iter().filter(|sentence| !sentence.is_empty()).collect();
        format!("{}.", sentences.join(". "))
    }
}

/// The part of a line of text that its coordinates name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Begin,
    Middle,
    End,
}

/// How a class of text is drawn.
pub(super) struct TextStyle {
    /// In points.
    pub(super) size: f64,
    pub(super) anchor: Anchor,
    /// `#rrggbb`
    pub(super) colour: &'static str,
}

impl TextStyle {
    /// The rules of [`style`]: its later ones take precedence.
    pub(super) fn of_class(class: &str, colours: Colours) -> Self {
        let has = |name: &str| class.split_whitespace().any(|word| word == name);
        Self {
            size: match () {
                () if has("small") => letters::SMALL,
                () if has("title") => letters::TITLE,
                () => letters::PLAIN,
            },
            anchor: match () {
                () if has("centre") => Anchor::Middle,
                () if has("end") => Anchor::End,
                () => Anchor::Begin,
            },
            colour: match () {
                () if has("when") => colours.accent(),
                () if has("muted") => colours.muted(),
                () => colours.text(),
            },
        }
    }
}

/// Colours are defined in one part of the file, so that they are easy to change.
fn style(colours: Colours) -> String {
    let (text, muted, line, background) = (colours.text(), colours.muted(), colours.line(), colours.background());
    let (accent, elsewhere) = (colours.accent(), colours.elsewhere());
    let (title, small) = (letters::TITLE, letters::SMALL);
    let mut style = format!(
        ".page{{fill:{background}}}text{{fill:{text}}}.title{{font-size:{title}px}}.muted{{fill:{muted}}}.small{{font-size:{small}px}}\
         .grid{{stroke:{line};stroke-width:0.6}}.frame{{fill:none;stroke:{line};stroke-width:1}}.lead{{fill:none;stroke:{muted};stroke-width:0.6}}\
         .begin{{stroke:{muted};stroke-width:0.6;stroke-dasharray:1.5 3}}.ready{{stroke:{accent};stroke-width:1.4}}.when{{fill:{accent}}}\
         .elsewhere{{fill:{elsewhere}}}.track{{fill:{line};fill-opacity:0.35}}.edge{{stroke:{background};stroke-width:0.7}}\
         .end{{text-anchor:end}}.centre{{text-anchor:middle}}"
    );
    for kind in super::DotKind::ALL {
        let (id, colour) = (kind.id(), colours.dot(kind));
        style.push_str(&format!(".{id}{{fill:{colour};stroke:{colour}}}"));
    }
    // Behind the dots' own rules, as these are of the same weight.
    style.push_str(".stroked{fill:none}.solid{stroke:none}");
    style
}

/// A rectangle from its upper left corner.
fn rectangle(class: &str, x: f64, y: f64, width: f64, height: f64) -> Rectangle {
    let rectangle = Rectangle::new().set("class", class).set("x", decimal(x)).set("y", decimal(y));
    rectangle.set("width", decimal(width.max(0.0))).set("height", decimal(height.max(0.0)))
}

/// Text that begins there; with the classes `end` or `centre`, that ends or has its middle there.
fn text(class: &str, x: f64, y: f64, content: &str) -> Text {
    let text = Text::new(content);
    let text = if class.is_empty() { text } else { text.set("class", class) };
    text.set("x", decimal(x)).set("y", decimal(y))
}

fn line(class: &str, from: (f64, f64), to: (f64, f64)) -> Line {
    let line = Line::new().set("class", class).set("x1", decimal(from.0)).set("y1", decimal(from.1));
    line.set("x2", decimal(to.0)).set("y2", decimal(to.1))
}

/// A coordinate, to a tenth of a point. Not `-0.0`, which would be another text for the same place.
fn decimal(value: f64) -> String {
    format!("{:.1}", value + 0.0)
}
