//! A start as text.

use coldstart_profile::trace::figures::Figures;
use coldstart_profile::trace::{Event, Moment, PagesSeen, Touch, Trace};
use coldstart_view::map::MapError;
use coldstart_view::terminal::{Characters, TerminalOptions, text};
use unicode_width::UnicodeWidthStr;

use crate::map::scene::{HOSTILE, READ, hostile, scene, touch};

fn shown(trace: &Trace, options: &TerminalOptions<'_>) -> String {
    text("a.coldtrace", trace, &Figures::of(trace), options).unwrap()
}

#[test]
fn without_colour_nothing_is_missing() {
    let text = shown(&scene(), &TerminalOptions::default());
    let expected = [
        "a.coldtrace",
        "app --quick",
        "ready: after 100",
        "app 7",
        "mapping",
        "- main",
        "libbig.so.1",
        ".text",
        ".data",
        ".bss",
        "zeros",
        "D waited for the disk",
        "w written",
        "x executed",
        "r read in memory",
        "c read with read(2)",
        ". came from the disk",
        "+ touched, how is not known",
        "f function's first call",
        "Each dot is the first use of a page by a process.",
    ];
    for part in expected {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    assert!(!text.contains('\u{1b}'));
    assert!(text.chars().any(|character| ('\u{2801}'..='\u{28ff}').contains(&character)), "{text}");
}

#[test]
fn colours_only_repeat() {
    let plain = shown(&scene(), &TerminalOptions::default());
    let coloured = shown(&scene(), &TerminalOptions { colour: true, ..TerminalOptions::default() });
    assert!(coloured.contains("\u{1b}["));
    assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), plain);
}

#[test]
fn ascii_is_ascii_and_has_letters() {
    let options = TerminalOptions { characters: Characters::Ascii, width: 80, ..TerminalOptions::default() };
    let mut trace = scene();
    // Apart from the others, as a place has one letter only.
    trace.events.push(touch(80, 13, Touch { write: None, ..READ }));
    let text = shown(&trace, &options);
    assert!(text.is_ascii(), "{text}");
    let map: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.starts_with("Map of"))
        .take_while(|line| !line.starts_with("What"))
        .collect();
    for letter in ["D", "x", "w", "r", "+"] {
        assert!(
            map.iter().any(|line| line.split('|').nth(1).is_some_and(|dots| dots.contains(letter))),
            "{letter} in {map:#?}"
        );
    }
    assert!(shown(&hostile(), &options).is_ascii());
}

#[test]
fn lines_fit_all_widths() {
    let mut long = hostile();
    long.run.notes = vec!["x".repeat(500)];
    for trace in [scene(), long] {
        for width in [0, 60, 61, 79, 80, 99, 100, 133, 200, 400, u16::MAX] {
            for (characters, height) in
                [(Characters::Braille, 0), (Characters::Ascii, 50), (Characters::Braille, u16::MAX)]
            {
                let text = shown(&trace, &TerminalOptions { width, height, characters, ..TerminalOptions::default() });
                let room = usize::from(width.clamp(60, 400));
                for line in text.lines() {
                    assert!(line.width() <= room, "{width}: {} columns: {line}", line.width());
                    assert!(line.trim_end() == line, "{line:?}");
                }
            }
        }
    }
}

#[test]
fn the_map_takes_the_lines_that_are_left() {
    for height in [50u16, 70, 120] {
        let text = shown(&scene(), &TerminalOptions { height, ..TerminalOptions::default() });
        assert_eq!(text.lines().count(), usize::from(height), "{text}");
    }
    let lowest = shown(&scene(), &TerminalOptions { height: 5, ..TerminalOptions::default() });
    assert!(lowest.contains("Map of") && lowest.lines().count() < 50, "{lowest}");
}

#[test]
fn the_largest_and_the_narrowest_terminal_lose_nothing() {
    for (width, height) in [(400, 400), (40, 20)] {
        let text = shown(&scene(), &TerminalOptions { width, height, ..TerminalOptions::default() });
        assert!(text.contains("Drawn by coldstart"), "{text}");
        assert!(text.lines().all(|line| line.width() <= usize::from(width)), "{text}");
        assert!(text.contains("What happened, and when") && text.contains("█"), "{text}");
    }
}

#[test]
fn what_was_not_recorded_is_not_nothing() {
    let mut trace = scene();
    trace.run.pages = PagesSeen::None;
    let text = shown(&trace, &TerminalOptions { width: 120, ..TerminalOptions::default() });
    assert!(!text.contains(") touched") && !text.contains(" of 3") && !text.contains("Where it was touched"), "{text}");
    // What fault-around left over of the touches does not tell what was read for nothing.
    trace.run.pages = PagesSeen::FaultAround;
    assert!(!shown(&trace, &TerminalOptions::default()).contains("unused"));
}

#[test]
fn names_do_no_harm() {
    let text = text(HOSTILE, &hostile(), &Figures::of(&hostile()), &TerminalOptions::default()).unwrap();
    let is_harmful = |character: char| (character.is_control() && character != '\n') || character == '\u{202e}';
    assert!(!text.contains(is_harmful), "{text:?}");
    assert!(text.contains("\\u{1b}"));
}

#[test]
fn odd_traces_are_shown_too() {
    let nothing = Trace::default();
    let text = shown(&nothing, &TerminalOptions::default());
    assert!(text.contains("nothing to map") && text.contains("ready: never"), "{text}");
    let no_time = Trace { events: vec![Event { at: Moment(0), ..touch(0, 1, READ) }], phases: Vec::new(), ..scene() };
    assert!(shown(&no_time, &TerminalOptions::default()).contains("1 of "));
    let mut far = scene();
    far.run.ready_at = Some(Moment(u64::MAX));
    far.events.push(Event { at: Moment(u64::MAX), ..touch(0, u64::MAX, READ) });
    assert!(shown(&far, &TerminalOptions::default()).contains("1 event lies outside"));
}

#[test]
fn another_object_can_be_asked_for() {
    let trace = scene();
    let options = TerminalOptions { object: Some("libc.so*"), ..TerminalOptions::default() };
    assert!(shown(&trace, &options).contains("Map of libc.so.6"));
    let options = TerminalOptions { object: Some("nobody"), ..TerminalOptions::default() };
    let error = text("a", &trace, &Figures::of(&trace), &options).unwrap_err();
    assert!(matches!(error, MapError::NoSuchFile { .. }), "{error}");
}
