//! The picture: it is legal, everything is in it, and it is the same each time.

use coldstart_profile::trace::{
    Event, EventKind, FileId, FillCause, Moment, ObjectSection, ObjectSegment, Phase, PhaseKind, ThreadId, Touch, Trace,
};
use coldstart_view::map::{DotKind, MapOptions, ObjectMap, Overlay, Theme};
use proptest::prelude::*;
use resvg::tiny_skia::Pixmap;
use resvg::usvg::roxmltree::Document;

use super::scene::{HOSTILE, MS, READ, hostile, phase, scene, section, touch};
use super::{map, map_with};

/// The picture as XML, its elements counted.
fn elements(svg: &str, name: &str) -> usize {
    let document = Document::parse(svg).unwrap_or_else(|error| panic!("{error} in {svg}"));
    document.descendants().filter(|node| node.has_tag_name(("http://www.w3.org/2000/svg", name))).count()
}

/// All that can be read in it.
fn words(svg: &str) -> Vec<String> {
    let document = Document::parse(svg).unwrap();
    let texts = document.descendants().filter(|node| matches!(node.tag_name().name(), "text" | "title" | "desc"));
    texts.filter_map(|node| node.text().map(str::to_owned)).collect()
}

fn has_path(svg: &str, kind: DotKind) -> bool {
    let document = Document::parse(svg).unwrap();
    let of_kind = |class: &str| class.split(' ').any(|class| class == kind.id());
    let paths = document.descendants().filter(|node| node.tag_name().name() == "path");
    paths.filter_map(|node| node.attribute("class")).any(of_kind)
}

/// No text is outside the picture: in points, as the renderer lays it out.
fn assert_text_is_inside(map: &ObjectMap) {
    let svg = map.svg();
    let document = Document::parse(&svg).unwrap();
    let view: Vec<f64> =
        document.root_element().attribute("viewBox").unwrap().split(' ').map(|part| part.parse().unwrap()).collect();
    for node in document.descendants().filter(|node| node.tag_name().name() == "text") {
        let at = |name| node.attribute(name).unwrap().parse::<f64>().unwrap();
        assert!((0.0..=view[2]).contains(&at("x")) && (0.0..=view[3]).contains(&at("y")), "{:?}", node.text());
    }
}

#[test]
fn everything_is_said_in_words() {
    let svg = map(&scene()).svg();
    for kind in DotKind::ALL {
        assert!(has_path(&svg, kind), "{kind:?}");
    }
    let words = words(&svg).join("\n");
    let expected = [
        "libbig.so.1",
        ".text: 3 of 3",
        ".bss: 1 of 5",
        "waited for the disk: 1",
        "written: 2",
        "mapping 19.0 ms",
        "ready 100 ms",
        "50 ms",
        "zeros, ",
        "9 events",
        "9 marks",
        "cold: all caches dropped",
    ];
    for part in expected {
        assert!(words.contains(part), "{part} is not in {words}");
    }
    assert_eq!((elements(&svg, "title"), elements(&svg, "desc")), (1, 1));
}

#[test]
fn names_are_shown_and_not_run() {
    let trace = hostile();
    let map = map(&trace);
    let svg = map.svg();
    assert_eq!((elements(&svg, "script"), elements(&svg, "title")), (0, 1));
    let text = words(&svg).join("\n");
    assert!(
        text.contains("<script>")
            && text.contains("\\u{1b}")
            && text.contains("\\u{202e}")
            && text.contains("\\u{fffe}"),
        "{text}"
    );
    assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{fffe}', '\u{ffff}']));
    assert!(!svg.contains("<script") && HOSTILE.contains("<script"));
    assert_text_is_inside(&map);
    map.png().unwrap();
}

#[test]
fn the_same_map_makes_the_same_bytes() {
    let (light, dark) = (MapOptions { width: 720, height: 480, ..MapOptions::default() }, Theme::Dark);
    let dark = MapOptions { theme: dark, ..light };
    let (first, second) = (map_with(&scene(), &light), map_with(&scene(), &light));
    assert_eq!(first, second);
    assert_eq!(first.svg(), second.svg());
    assert_ne!(first.svg(), map_with(&scene(), &dark).svg());
    let (first, second) = (first.png().unwrap(), second.png().unwrap());
    assert!(first == second && first.starts_with(b"\x89PNG"));
    let pixels = Pixmap::decode_png(&first).unwrap();
    assert_eq!((pixels.width(), pixels.height()), (1440, 960));
}

/// A path that holds one line without length is easily lost by a renderer.
#[test]
fn a_single_dot_is_seen() {
    for (touch_of, kind) in [(READ, DotKind::Read), (Touch { execute: true, ..READ }, DotKind::Execute)] {
        let mut trace = scene();
        trace.events = vec![touch(50, 5, touch_of)];
        // Without sections there are no bands below it.
        trace.objects[0].sections.clear();
        let map = map(&trace);
        let palette = coldstart_view::palette::Palette::get();
        let colour = &palette.dot(kind.id()).unwrap().colour.light;
        let channel = |from: usize| u8::from_str_radix(&colour[from..from + 2], 16).unwrap();
        let wanted = (channel(1), channel(3), channel(5));
        let pixels = Pixmap::decode_png(&map.png().unwrap()).unwrap();
        let found = pixels.pixels().iter().filter(|pixel| (pixel.red(), pixel.green(), pixel.blue()) == wanted).count();
        // The legend has a larger one, of less than 100 pixels.
        assert!(found > 100 / 4, "{kind:?}: {found} pixels");
        let upper = pixels.pixels().iter().take(1440 * 700);
        let in_map = upper.filter(|pixel| (pixel.red(), pixel.green(), pixel.blue()) == wanted).count();
        assert!(in_map > 8, "{kind:?}: {in_map} pixels in the map");
    }
}

#[test]
fn dots_that_cover_one_another_are_drawn_once() {
    let mut trace = scene();
    trace.events = (0..200_000).map(|_| touch(50, 5, READ)).collect();
    let svg = map(&trace).svg();
    assert!(
        words(&svg).join("\n").contains("200 000 events of the object, drawn as 1 mark:"),
        "{}",
        words(&svg).join("\n")
    );
    assert!(svg.len() < 30_000, "{} bytes", svg.len());
    trace.events =
        (0..200_000).map(|step| Event { at: Moment(step * 500), ..touch(0, step * 7919 % 16, READ) }).collect();
    let svg = map(&trace).svg();
    assert!(svg.len() < 4_000_000, "{} bytes", svg.len());
    Document::parse(&svg).unwrap();
}

#[test]
fn odd_traces_make_pictures_too() {
    let nothing = Trace { files: scene().files, ..Trace::default() };
    let no_sections = {
        let mut trace = scene();
        trace.objects[0].sections.clear();
        trace.objects[0].segments.clear();
        trace
    };
    let no_object = Trace { objects: Vec::new(), ..scene() };
    let no_size = {
        let mut trace = no_object.clone();
        trace.files[0].identity = None;
        trace
    };
    let no_time = {
        let mut trace = scene();
        trace.run.ready_at = Some(Moment(0));
        trace.events.iter_mut().for_each(|event| event.at = Moment(0));
        trace.phases.iter_mut().for_each(|phase| (phase.begin, phase.end) = (Moment(0), Moment(0)));
        trace
    };
    let one_event = Trace { events: scene().events.into_iter().take(1).collect(), ..scene() };
    let extremes = {
        let mut trace = scene();
        trace.files[0].identity = None;
        trace.objects[0].segments.push(ObjectSegment {
            address: u64::MAX - 10,
            offset: u64::MAX - 10,
            file_size: u64::MAX,
            memory_size: u64::MAX,
            flags: u32::MAX,
        });
        trace.objects[0].segments.push(ObjectSegment {
            address: 1,
            offset: 1,
            file_size: 0,
            memory_size: u64::MAX,
            flags: 6,
        });
        trace.objects[0].sections.push(section("far", u64::MAX, u64::MAX, u64::MAX));
        trace.objects[0].sections.push(ObjectSection { is_zero_filled: true, ..section("zeros", 1, 1, u64::MAX) });
        trace.events.push(Event { pages: u32::MAX, ..touch(99, u64::MAX, READ) });
        trace.events.push(Event { at: Moment(u64::MAX), ..touch(0, u64::MAX, Touch { zero_filled: true, ..READ }) });
        trace.phases.push(Phase { begin: Moment(u64::MAX), end: Moment(0), ..phase(PhaseKind::Exec, 0, 0) });
        trace
    };
    for (name, trace) in [
        ("nothing", nothing),
        ("no sections", no_sections),
        ("no object", no_object),
        ("no size", no_size),
        ("no time", no_time),
        ("one event", one_event),
        ("extremes", extremes),
    ] {
        let map = map(&trace);
        let svg = map.svg();
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{name}: {svg}");
        assert_eq!(elements(&svg, "svg"), 1, "{name}");
        assert_text_is_inside(&map);
    }
}

#[test]
fn the_second_start_is_hollow() {
    let (first, second) = (scene(), scene());
    let other = Some(Overlay { trace: &second, file: FileId(0), label: Some(HOSTILE) });
    let map =
        map_with(&first, &MapOptions { other, label: Some(HOSTILE), width: 720, height: 480, ..MapOptions::default() });
    let svg = map.svg();
    assert!(svg.contains("major solid") && svg.contains("major stroked"));
    assert!(words(&svg).join("\n").contains("waited for the disk: 1 | 1"));
    map.png().unwrap();
}

#[test]
fn many_sections_keep_their_names_apart() {
    let mut trace = scene();
    trace.objects[0].sections =
        (0..5000).map(|place| section(&format!(".text.part{place}"), place * 16, place * 16, 16)).collect();
    let svg = map(&trace).svg();
    assert!(svg.len() < 1_000_000, "{}", svg.len());
    Document::parse(&svg).unwrap();
}

fn some_event() -> impl Strategy<Value = Event> {
    let number = || prop_oneof![4 => 0u64..40, 1 => any::<u64>()];
    let kind = prop_oneof![
        (any::<Option<bool>>(), any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
            |(write, execute, major, zero_filled)| {
                EventKind::Touch(Touch { write, execute, major, zero_filled, ..READ })
            }
        ),
        Just(EventKind::Function),
        Just(EventKind::Read),
        Just(EventKind::Fill(FillCause::Readahead)),
    ];
    (number(), number(), any::<u32>(), 0u32..4, 0u32..3, kind).prop_map(|(at, page, pages, file, thread, kind)| Event {
        at: Moment(at.saturating_mul(MS / 7)),
        thread: ThreadId(thread),
        kind,
        file: (file < 4).then_some(FileId(file)),
        page,
        pages,
        code: None,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_events_make_a_legal_picture(mut events in prop::collection::vec(some_event(), 0..40), width in any::<u32>(), height in any::<u32>()) {
        events.sort_by_key(|event| event.at);
        let trace = Trace { events, ..scene() };
        let map = map_with(&trace, &MapOptions { width, height, ..MapOptions::default() });
        let svg = map.svg();
        prop_assert!(Document::parse(&svg).is_ok() && !svg.contains("NaN"));
        prop_assert_eq!(svg, map_with(&trace, &MapOptions { width, height, ..MapOptions::default() }).svg());
    }
}
