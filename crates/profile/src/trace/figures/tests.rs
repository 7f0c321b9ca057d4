//! The figures of whole traces: made by hand, and by chance.

use proptest::prelude::*;

use super::testing::{Builder, event, object, phase, touch};
use super::*;
use crate::trace::{
    CodeAddress, Event, EventKind, FileCategory, FileId, FillCause, Moment, Phase, PhaseId, PhaseKind, ThreadId, Touch,
};

/// Two processes, two files, and phases from relocation to `main`.
fn scene() -> Trace {
    let builder = Builder::default().process().process();
    let builder = builder.file("/app", FileCategory::Program).file("/lib", FileCategory::System);
    let mut trace = builder.trace;
    trace.phases = vec![
        phase(PhaseKind::Relocation, 10, 20),
        phase(PhaseKind::Initialisers, 20, 30),
        phase(PhaseKind::Main, 30, 90),
        Phase { parent: Some(PhaseId(2)), ..phase(PhaseKind::Dlopen, 50, 60) },
    ];
    trace
}

fn in_file(file: u32, event: Event) -> Event {
    Event { file: Some(FileId(file)), ..event }
}

fn by(thread: u32, event: Event) -> Event {
    Event { thread: ThreadId(thread), ..event }
}

#[test]
fn seeks_are_measured_for_each_process_and_file() {
    let mut trace = scene();
    trace.events = vec![
        touch(11, 0),
        in_file(1, touch(12, 100)),
        touch(13, 4),
        by(1, touch(14, 1000)),
        touch(21, 1),
        touch(35, 3),
        by(1, touch(36, 999)),
        touch(55, 2),
        touch(61, 2),
    ];
    let figures = Figures::of(&trace);
    let seeks = figures.file(FileId(0)).unwrap().activity.touch_seeks;
    let page = crate::PAGE_SIZE;
    assert_eq!((seeks.all.steps, seeks.all.forward, seeks.all.backward), (6, 6 * page, 5 * page));
    assert_eq!(seeks.stages[Stage::Relocation].forward, 4 * page);
    assert_eq!((seeks.before_main.forward, seeks.before_main.backward), (4 * page, 3 * page));
    assert_eq!((seeks.after_main.steps, seeks.after_main.backward), (2, page));
    // Into the initialisers, into main, into dlopen, and out of it.
    assert_eq!((seeks.across.steps, seeks.across.total()), (4, 6 * page));
    assert_eq!(seeks.stages[Stage::Other].backward, page);
    assert_eq!(figures.file(FileId(1)).unwrap().activity.touch_seeks.all.steps, 0);
    assert_eq!(figures.processes[1].activity.touch_seeks.all.total(), page);
    let touches = figures.total.touches;
    assert_eq!((touches.of_half(Half::BeforeMain).all, touches.of_half(Half::AfterMain).all), (4, 3));
}

#[test]
fn functions_and_touches_are_never_mixed() {
    let mut trace = scene();
    trace.objects = vec![object(0)];
    let called = |at, address: u64| Event {
        code: Some(CodeAddress { file: FileId(0), address }),
        ..event(at, address / crate::PAGE_SIZE, EventKind::Function)
    };
    trace.events = vec![touch(31, 0), called(32, 0x10_010), touch(33, 1), called(34, 0x10_050), called(35, 0x10_000)];
    let activity = Figures::of(&trace).total;
    assert_eq!((activity.touch_seeks.all.steps, activity.touch_seeks.all.total()), (1, 4096));
    assert_eq!((activity.function_seeks.all.forward, activity.function_seeks.all.backward), (0x40, 0x50));
    assert_eq!((activity.functions[Stage::Main], activity.touches[Stage::Main].all), (3, 2));
}

#[test]
fn requests_to_the_disk_are_counted_and_their_pages_are_not() {
    let mut trace = scene();
    let fill = |at, cause| Event { pages: 8, ..event(at, 4, EventKind::Fill(cause)) };
    let unnamed = Event { file: None, ..fill(3, FillCause::Unknown) };
    trace.events = vec![fill(1, FillCause::Demand), fill(2, FillCause::Readahead), unnamed];
    let figures = Figures::of(&trace);
    assert_eq!((figures.total.disk_requests, figures.file(FileId(0)).unwrap().activity.disk_requests), (3, 2));
}

#[test]
fn a_launcher_is_not_what_the_start_is_about() {
    let mut trace = scene();
    assert_eq!(Figures::of(&trace).main_process(), ProcessId(0));
    let touches = |of_second: u64| (0..10).map(|at| touch(at, at)).chain((0..of_second).map(|at| by(1, touch(at, at))));
    trace.events = touches(20).collect();
    assert_eq!(Figures::of(&trace).main_process(), ProcessId(0));
    trace.events = touches(21).collect();
    assert_eq!(Figures::of(&trace).main_process(), ProcessId(1));
    assert_eq!(Figures::of(&Trace::default()).main_process(), ProcessId(0));
}

#[test]
fn zero_filled_memory_has_no_place_in_a_file() {
    let mut trace = scene();
    let zeros = EventKind::Touch(Touch { zero_filled: true, ..Touch::default() });
    trace.events = vec![touch(31, 5), event(32, 900, zeros), touch(33, 6)];
    let figures = Figures::of(&trace);
    assert_eq!((figures.total.touch_seeks.all.steps, figures.total.touch_seeks.all.forward), (1, 4096));
    assert_eq!((figures.pages.touched, figures.pages.zero_filled), (2, 1));
    assert_eq!(figures.total.touches.total().zero_filled, 1);
}

#[test]
fn files_that_are_not_there_and_events_of_nobody_do_no_harm() {
    let mut trace = scene();
    trace.objects = vec![object(70)];
    trace.events = vec![
        in_file(99, touch(1, 1)),
        by(77, touch(2, u64::MAX)),
        Event { file: None, pages: u32::MAX, ..event(3, 1, EventKind::Fill(FillCause::Demand)) },
        Event { pages: 0, ..event(4, 1, EventKind::Read) },
    ];
    let figures = Figures::of(&trace);
    assert_eq!((figures.total.touches.total().all, figures.total.reads), (2, 1));
    assert_eq!((figures.files.len(), figures.pages.touched), (1, 0));
}

fn some_event() -> impl Strategy<Value = Event> {
    let kind = prop_oneof![
        4 => (any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(write, execute, zero_filled)| {
            EventKind::Touch(Touch { write: Some(write), execute, zero_filled, ..Touch::default() })
        }),
        2 => Just(EventKind::Function),
        1 => Just(EventKind::Read),
        1 => Just(EventKind::Fill(FillCause::Readahead)),
    ];
    (0u64..100, 0u32..3, 0u32..3, 0u64..64, 1u32..5, kind).prop_map(|(at, thread, file, page, pages, kind)| Event {
        at: Moment(at),
        thread: ThreadId(thread),
        kind,
        file: Some(FileId(file)),
        page,
        pages,
        code: None,
    })
}

fn some_phase() -> impl Strategy<Value = Phase> {
    let kind = proptest::sample::select(PhaseKind::ALL.as_slice());
    (kind, 0u64..100, 0u64..40, proptest::option::of(0u32..12), proptest::option::of(0u32..3), 0u32..2).prop_map(
        |(kind, begin, length, parent, file, process)| Phase {
            process: ProcessId(process),
            file: file.map(FileId),
            parent: parent.map(PhaseId),
            ..phase(kind, begin, begin + length)
        },
    )
}

proptest! {
    #[test]
    fn sums_add_up(
        mut events in prop::collection::vec(some_event(), 0..200),
        mut phases in prop::collection::vec(some_phase(), 0..12),
    ) {
        events.sort_by_key(|event| event.at);
        phases.sort_by_key(|phase| phase.begin);
        let trace = Trace { events, phases, ..scene() };
        let figures = Figures::of(&trace);

        // Stages and the steps between them make up all steps, halves are no more than that.
        let activities = figures.files.iter().map(|file| &file.activity);
        let activities = activities.chain(figures.processes.iter().map(|process| &process.activity));
        for activity in activities.chain([&figures.total]) {
            for seeks in [&activity.touch_seeks, &activity.function_seeks] {
                let mut parts = seeks.stages.total();
                parts += seeks.across;
                prop_assert_eq!(parts, seeks.all);
                prop_assert!(seeks.before_main.total() + seeks.after_main.total() <= seeks.all.total());
                let inside = seeks.stages.of_half(Half::BeforeMain);
                prop_assert!(inside.total() <= seeks.before_main.total() && inside.steps <= seeks.before_main.steps);
            }
        }
        // Files that are known make up all, and so do processes that are.
        let known = |event: &&Event| event.file.is_some_and(|file| file.0 < 2);
        let mut by_file = Activity::default();
        figures.files.iter().for_each(|file| by_file += file.activity);
        let touches = trace.events.iter().filter(known).filter(|event| matches!(event.kind, EventKind::Touch(_)));
        prop_assert_eq!(by_file.touches.total().all, touches.count() as u64);
        let mut by_process = Activity::default();
        figures.processes.iter().for_each(|process| by_process += process.activity);
        let by_known = trace.events.iter().filter(|event| event.thread.0 < 2);
        let functions = by_known.filter(|event| event.kind == EventKind::Function).count() as u64;
        prop_assert_eq!(by_process.functions.total(), functions);

        // Pages are no more than the events that tell of them, and the same when asked page by page.
        for file in &figures.files {
            let of_file = || trace.events.iter().filter(|event| event.file == Some(file.file));
            let pages = |is_meant: fn(&EventKind) -> bool| {
                let ranges = of_file().filter(|event| is_meant(&event.kind));
                let pages = ranges.flat_map(|event| event.page..event.page + u64::from(event.pages));
                pages.collect::<std::collections::BTreeSet<u64>>()
            };
            let touched = pages(|kind| matches!(kind, EventKind::Touch(touch) if !touch.zero_filled));
            let (read, filled) = (pages(|kind| *kind == EventKind::Read), pages(|kind| matches!(kind, EventKind::Fill(_))));
            let used = touched.union(&read).copied().collect();
            prop_assert_eq!(file.pages.touched, touched.len() as u64);
            prop_assert_eq!(file.pages.read, read.len() as u64);
            prop_assert_eq!(file.pages.filled, filled.len() as u64);
            prop_assert_eq!(file.pages.wasted, filled.difference(&used).count() as u64);
        }
        // Own times of kinds and of phases are the same sum.
        let by_kind: u64 = figures.times.kinds.iter().map(|time| time.own).sum();
        prop_assert_eq!(by_kind, figures.times.own.iter().sum::<u64>());
        let counted: u64 = figures.times.kinds.iter().map(|time| time.count).sum();
        prop_assert_eq!(counted, trace.phases.len() as u64);
    }
}

/// Not a measurement: a million events must not take a number of steps that grows with their square.
#[test]
fn a_million_events_are_no_matter() {
    let mut trace = scene();
    trace.objects = vec![object(0), object(1)];
    let events = (0..1_000_000u64).map(|number| {
        let page = number.wrapping_mul(2_654_435_761) % 50_000;
        by((number % 2) as u32, in_file((number % 2) as u32, touch(number, page)))
    });
    trace.events = events.collect();
    let figures = Figures::of(&trace);
    assert_eq!(figures.total.touches.total().all, 1_000_000);
    assert_eq!(figures.total.touch_seeks.all.steps, 999_998);
}
