//! Whatever was recorded, in whatever order: no panic, and a trace that is in order.

use std::collections::{HashMap, HashSet};

use coldstart_analyse::{Analysed, LoaderState, NoteKind, Recorded, finish, join};
use coldstart_profile::trace::{EventKind, PagesSeen};
use coldstart_sys::fault_recorder::{Fault, PerfRecordKind};
use proptest::prelude::*;

use crate::support::*;

/// What to do next, in small numbers: who, what, and where.
type Step = (u8, u8, u8, u8);

fn process(number: u8) -> u32 {
    [FIRST, 200, 300][usize::from(number % 3)]
}

fn base(number: u8) -> u64 {
    (1 + u64::from(number % 8)) << 24
}

fn play(steps: &[Step], gaps: u64) -> Tape {
    let mut tape = Tape::default();
    let mut at = 0;
    for &(who, what, one, two) in steps {
        let number = process(who);
        // A second thread now and then.
        tape.by(number, if who >= 200 { number + 1 } else { number });
        at += gaps * u64::from(two % 3);
        let inode = 1 + u64::from(one % 8);
        let address = base(one) + u64::from(two) * 0x123;
        match what % 24 {
            0 | 1 => tape.record(at, PerfRecordKind::Executed { name: "x".into() }),
            2 => tape.record(at, PerfRecordKind::Began { parent: process(one), parent_thread: process(one) }),
            3 => tape.record(at, PerfRecordKind::Ended),
            4..=6 => tape.library(at, inode, base(two)),
            7 => {
                tape.map(at, inode, (address & !0xfff, u64::from(one) << 12), u64::from(two) << 12, u32::from(one % 8))
            }
            8 => tape.anonymous(at, (address & !0xfff, u64::from(two) << 12)),
            9..=11 => tape.fault(
                at,
                Fault {
                    address,
                    instruction: base(two) + 0x1010,
                    write: [None, Some(false), Some(true)][usize::from(one % 3)],
                    fetch: [None, Some(false), Some(true)][usize::from(two % 3)],
                    major: false,
                    by_kernel: one > 240,
                },
            ),
            12 => tape.forked(at, process(one), two > 127),
            13 => tape.note(at, NoteKind::ExecCalled),
            14 => tape.image(at, base(one) + 0x1000, base(two)),
            15 => tape.loader(at, LoaderState::Adding),
            16 => tape.loader(at, LoaderState::Deleting),
            17 | 18 => tape.linked(at, &[(inode, base(two))]).loader(at, LoaderState::Consistent),
            19 => tape.protected(at, base(one)),
            20 => tape.note(
                at,
                [NoteKind::ProgramEntry, NoteKind::LibcStart, NoteKind::Main, NoteKind::Ends { status: 0 }]
                    [usize::from(one % 4)]
                .clone(),
            ),
            21 => tape.initialisers(at, &[(at, base(one), 0x1100), (at + u64::from(two), base(two), 0x1200)]),
            22 => tape.note(at, NoteKind::Function { address }),
            _ => tape.note(at, NoteKind::Pages(PagesSeen::Each, None)),
        };
    }
    tape.until = at * 3 / 4;
    tape
}

fn check(analysed: &Analysed, until: u64) {
    assert!(analysed.events.is_sorted_by_key(|event| event.at));
    assert!(analysed.events.iter().all(|event| event.at.0 <= until && event.pages == 1));
    assert!(analysed.phases.is_sorted_by_key(|phase| phase.begin));
    assert!(analysed.loads.is_sorted_by_key(|load| load.at));
    assert!(analysed.processes.is_sorted_by_key(|process| process.began));
    let mut last_end = HashMap::new();
    for (number, phase) in analysed.phases.iter().enumerate() {
        assert!(phase.begin <= phase.end && phase.end.0 <= until, "{phase:?}");
        if let Some(parent) = phase.parent {
            assert!((parent.0 as usize) < number, "a phase stands behind the one that holds it");
            let parent = &analysed.phases[parent.0 as usize];
            assert!(parent.begin <= phase.begin && phase.end <= parent.end, "{phase:?} in {parent:?}");
            assert_eq!(parent.process, phase.process);
        }
        let siblings = last_end.entry((phase.process, phase.parent, phase.kind)).or_insert(phase.begin);
        assert!(*siblings <= phase.begin, "{phase:?} overlaps its elder sibling");
        *siblings = phase.end;
    }
    let mut kinds = HashSet::new();
    let mut first_of_run = HashSet::new();
    for event in &analysed.events {
        let EventKind::Touch(touch) = event.kind else { continue };
        let process = analysed.threads[event.thread.0 as usize].process;
        let page = (event.file, event.page, touch.zero_filled);
        let kind = if touch.execute { None } else { Some(touch.write) };
        assert!(kinds.insert((process, page, kind)), "twice: {event:?}");
        assert_eq!(first_of_run.insert(page), touch.first_of_run, "{event:?}");
    }
    for thread in &analysed.threads {
        assert!((thread.process.0 as usize) < analysed.processes.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_becomes_a_trace_in_order(steps in proptest::collection::vec(any::<Step>(), 0..120), gaps in 0_u64..50) {
        let tape = play(&steps, gaps);
        check(&tape.analysed(), tape.until);
    }

    /// Starts that are whole, with anything behind them.
    #[test]
    fn any_sequence_behind_a_start_becomes_a_trace_in_order(steps in proptest::collection::vec((0_u8..3, 9_u8..23, any::<u8>(), any::<u8>()), 0..120)) {
        let mut whole: Vec<Step> = vec![(0, 0, 0, 1), (0, 4, 0, 0), (0, 4, 1, 1), (0, 14, 0, 1), (0, 15, 0, 1), (0, 4, 2, 2), (0, 17, 2, 2), (0, 20, 0, 1), (0, 20, 2, 1)];
        whole.extend(steps);
        let tape = play(&whole, 10);
        check(&tape.analysed(), tape.until);
    }

    /// Lists that are not in order of time, and numbers at the ends of their ranges.
    #[test]
    fn disorder_and_extremes_do_no_harm(steps in proptest::collection::vec(any::<Step>(), 0..60), far in any::<u64>(), long in any::<u64>(), launched_at in any::<u64>()) {
        let mut tape = play(&steps, 10);
        tape.map(3, 1, (far, long), long, 7).read(4, far).anonymous(5, (far.wrapping_add(long), far)).read(6, u64::MAX);
        tape.linked(7, &[(1, far), (2, long)]).protected(8, far & 0xffff_ffff).note(9, NoteKind::Function { address: far });
        tape.records.reverse();
        let recorded = Recorded { records: &tape.records, notes: &tape.notes, launched_at, until: u64::MAX, first: FIRST };
        let joined = join(&recorded, &seen);
        let _ = joined.uses();
        let objects = objects(&joined);
        let analysed = finish(joined, &objects, &|_, _| Some(true));
        prop_assert!(analysed.events.is_sorted_by_key(|event| event.at));
        prop_assert!(analysed.phases.is_sorted_by_key(|phase| phase.begin));
    }
}
