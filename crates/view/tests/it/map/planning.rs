//! What stands on a map.

use coldstart_profile::trace::figures::Figures;
use coldstart_profile::trace::{Event, EventKind, FileCategory, FileId, Moment, PagesSeen, Phase, PhaseKind, Trace};
use coldstart_view::map::{DotKind, MapError, MapOptions, ObjectMap, Overlay, Place, Stretch};

use super::scene::{MS, READ, event, phase, scene, touch};
use super::{map, map_with};

#[test]
fn each_event_is_a_dot_of_its_kind() {
    let map = map(&scene());
    let counts: Vec<(DotKind, Vec<u64>)> = map.counts();
    assert_eq!(counts, DotKind::ALL.map(|kind| (kind, vec![if kind == DotKind::Write { 2 } else { 1 }])));
    assert_eq!((map.layers[0].touches(), map.layers[0].outside), (6, 0));
    assert_eq!((map.time, map.places.file_end, map.places.not_loaded), ((0, 100 * MS), 0x10_000, 0x1000));
    assert_eq!(map.places.zeros, Some((0x20_000, 0x24_800)));
    assert_eq!(map.ready, [(100 * MS, "ready 100 ms".to_owned())]);
    assert_eq!(map.title, "libbig.so.1");
    assert!(map.facts[1].contains("app --quick") && map.facts[1].contains("2026-11-22 00:47 UTC"), "{:?}", map.facts);
}

#[test]
fn sections_are_bands_with_their_pages() {
    let map = map(&scene());
    let bands: Vec<_> =
        map.bands.iter().map(|band| (band.name.as_str(), band.class, band.from, band.pages, band.touched)).collect();
    let expected = [
        (".text", "other", Place::File(0x1000), 3, Some(3)),
        (".rodata", "constants", Place::File(0x4000), 4, Some(1)),
        (".data", "data", Place::File(0x8000), 8, Some(1)),
        (".bss", "zeros", Place::Zeros(0x20_000), 5, Some(1)),
    ];
    // The class is another module's to decide.
    let places = |bands: &[(&str, &str, Place, u64, Option<u64>)]| {
        bands
            .iter()
            .map(|(name, _, from, pages, touched)| format!("{name} {from:?} {pages} {touched:?}"))
            .collect::<Vec<_>>()
    };
    assert_eq!(places(&bands), places(&expected));
}

#[test]
fn times_in_other_files_are_told_by_category() {
    let mut trace = scene();
    let of = |file: u32, event: Event| Event { file: Some(FileId(file)), ..event };
    trace.events = vec![
        of(1, touch(1, 0, READ)),
        of(1, touch(4, 1, READ)),
        of(2, event(5, 0, EventKind::Read)),
        touch(6, 1, READ),
        of(1, touch(7, 2, READ)),
        // A function of another file is no use of a page.
        of(2, event(8, 0, EventKind::Function)),
        of(1, touch(9, 3, READ)),
        // So long without a new page is nobody's time.
        of(1, touch(60, 3, READ)),
    ];
    let map = map(&trace);
    let stretch = |from: u64, to: u64| Stretch { from: from * MS, to: to * MS };
    let found: Vec<_> = map.elsewhere.iter().map(|row| (row.category, row.stretches.clone())).collect();
    let expected = [
        (FileCategory::System, vec![stretch(1, 4), stretch(7, 9), stretch(60, 60)]),
        (FileCategory::Profile, vec![stretch(5, 5)]),
    ];
    assert_eq!(found, expected);
}

#[test]
fn phases_are_those_of_the_process_and_of_the_object() {
    let mut trace = scene();
    let inside =
        |phase: Phase| Phase { parent: Some(coldstart_profile::trace::PhaseId(2)), file: Some(FileId(0)), ..phase };
    trace.phases.push(inside(phase(PhaseKind::Dlopen, 40, 50)));
    trace.phases.push(inside(phase(PhaseKind::Relocation, 41, 44)));
    trace.phases.push(inside(phase(PhaseKind::Initialiser, 45, 46)));
    trace.phases.push(Phase { process: coldstart_profile::trace::ProcessId(9), ..phase(PhaseKind::Exec, 0, 1) });
    let map = map(&trace);
    let rows: Vec<(&str, Vec<PhaseKind>)> =
        map.phases.iter().map(|row| (row.name.as_str(), row.bars.iter().map(|bar| bar.kind).collect())).collect();
    let expected = [
        ("app 7", vec![PhaseKind::Mapping, PhaseKind::Relocation, PhaseKind::Main]),
        ("dlopen, dlclose", vec![PhaseKind::Dlopen]),
        ("libbig.so.1", vec![PhaseKind::Relocation]),
    ];
    assert_eq!(rows, expected);
}

#[test]
fn the_small_print_says_what_is_missing() {
    let mut trace = scene();
    trace.run.pages = PagesSeen::FaultAround;
    trace.run.lost_events = 12;
    trace.run.complete = false;
    trace.events.push(touch(50, 99, READ));
    let map = map(&trace);
    let notes = map.notes.join(" ");
    for part in ["fault-around", "12 events were lost", "broke off", "1 event lies outside", "6.1.0", "coldstart "] {
        assert!(notes.contains(part), "{part} is not in {notes}");
    }
}

#[test]
fn a_stretch_of_time_shows_what_is_in_it() {
    let options = MapOptions { time: Some((Moment(20 * MS), Moment(22 * MS))), ..MapOptions::default() };
    let map = map_with(&scene(), &options);
    assert_eq!((map.time, map.layers[0].dots.len()), ((20 * MS, 22 * MS), 3));
    assert!(map.ready.is_empty());
    let none = MapOptions { time: Some((Moment(u64::MAX), Moment(0))), ..MapOptions::default() };
    let (from, to) = map_with(&scene(), &none).time;
    assert!(from < to);
}

#[test]
fn two_starts_are_told_apart() {
    let (first, mut second) = (scene(), scene());
    second.run.ready_at = Some(Moment(50 * MS));
    second.events.truncate(2);
    let other = Some(Overlay { trace: &second, file: FileId(0), label: Some("after.coldtrace") });
    let map = map_with(&first, &MapOptions { other, label: Some("before.coldtrace"), ..MapOptions::default() });
    let labels: Vec<Option<&str>> = map.layers.iter().map(|layer| layer.label.as_deref()).collect();
    assert_eq!(labels, [Some("A"), Some("B")]);
    assert_eq!(map.counts().last().unwrap(), &(DotKind::Major, vec![1, 0]));
    assert!(map.facts[1].starts_with("A: before.coldtrace") && map.facts[2].starts_with("B: after.coldtrace"));
    assert_eq!(
        map.ready.iter().map(|(_, words)| words.as_str()).collect::<Vec<_>>(),
        ["A ready 100 ms", "B ready 50.0 ms"]
    );
    // A nought of a start without root would say that nothing was read.
    let unread = "was read and what came from the disk was not recorded";
    let mut without_root = scene();
    let other = Some(Overlay { trace: &without_root, file: FileId(0), label: None });
    let alike = map_with(&first, &MapOptions { other, ..MapOptions::default() });
    assert!(!alike.notes.join(" ").contains(unread), "{:#?}", alike.notes);
    without_root.events.retain(|event| !matches!(event.kind, EventKind::Read | EventKind::Fill(_)));
    let other = Some(Overlay { trace: &without_root, file: FileId(0), label: None });
    let map = map_with(&first, &MapOptions { other, ..MapOptions::default() });
    assert!(map.notes.contains(&format!("B: What {unread}.")), "{:#?}", map.notes);
    let foreign = Some(Overlay { trace: &second, file: FileId(77), label: None });
    let options = MapOptions { other: foreign, ..MapOptions::default() };
    let error = ObjectMap::of(&first, &Figures::of(&first), FileId(0), &options).unwrap_err();
    assert!(matches!(error, MapError::Foreign { number: 77 }));
}

#[test]
fn a_file_that_is_not_there_is_an_error() {
    let trace = Trace::default();
    let error = ObjectMap::of(&trace, &Figures::of(&trace), FileId(3), &MapOptions::default()).unwrap_err();
    assert!(matches!(error, MapError::Foreign { number: 3 }), "{error}");
}
