//! From stops and touches to phases: hand-made notes for each rule.

use coldstart_analyse::{LoaderState, NoteKind};
use coldstart_profile::trace::{Known, PhaseKind};
use coldstart_sys::fault_recorder::{Fault, PerfRecordKind};

use crate::support::*;

const PROGRAM: u64 = 0x40_0000;
const LOADER: u64 = 0x100_0000;
const LIBC: u64 = 0x200_0000;
const LIBRARY: u64 = 0x300_0000;

/// Files 1 (program), 2 (loader), 3 (libc), 4 (a library), up to the loader's last word at 300.
fn glibc() -> Tape {
    let mut tape = Tape::default();
    tape.note(5, NoteKind::ExecCalled).record(10, PerfRecordKind::Executed { name: "p".into() });
    tape.library(11, 1, PROGRAM);
    tape.fault(16, Fault { by_kernel: true, write: Some(true), ..fault(PROGRAM + 0x7000 - 8) });
    tape.library(20, 2, LOADER).image(30, PROGRAM + 0x1000, LOADER);
    tape.fetch(31, LOADER + 0x1000);
    tape.loader(100, LoaderState::Adding).library(110, 4, LIBRARY).library(150, 3, LIBC);
    tape.read(170, LIBRARY + 0x3000);
    tape.fault(200, Fault { instruction: LOADER + 0x1010, ..fault(LIBC) });
    tape.write(210, LIBC + 0x5008, LOADER + 0x1010).protected(220, LIBC);
    tape.protected(240, LIBRARY).protected(260, PROGRAM).protected(290, LOADER);
    tape.linked(300, &[(1, PROGRAM), (4, LIBRARY), (3, LIBC), (2, LOADER)]).loader(300, LoaderState::Consistent);
    tape
}

fn glibc_to_main() -> Tape {
    let mut tape = glibc();
    tape.note(400, NoteKind::ProgramEntry).note(450, NoteKind::LibcStart).note(500, NoteKind::Main);
    tape.until = 1000;
    tape
}

#[test]
fn a_start_from_execve_to_readiness() {
    let mut tape = glibc_to_main();
    tape.initialisers(
        310,
        &[(310, LIBC, 0x1100), (320, LIBRARY, 0x1200), (330, LIBRARY, 0x1300), (460, PROGRAM, 0x1400)],
    );
    assert_eq!(
        lines(&tape.analysed()),
        [
            "exec 5-30 exactly",
            ".zeroing 1 16-16 from-touches",
            "loader-start 30-100 exactly",
            "mapping 100-200 from-touches",
            ".mapping 4 110-150 end-at-most",
            ".mapping 3 150-200 end-at-most",
            "relocation 200-300 from-touches",
            ".relocation 3 200-220 exactly",
            ".relocation 4 220-240 exactly",
            ".relocation 1 240-260 exactly",
            ".relocation 2 260-290 exactly",
            "initialisers 300-400 exactly",
            ".initialisers 3 310-320 exactly",
            "..initialiser 3 0x1100 310-320 exactly",
            ".initialisers 4 320-400 exactly",
            "..initialiser 4 0x1200 320-330 exactly",
            "..initialiser 4 0x1300 330-400 exactly",
            "runtime 400-460 exactly",
            "initialisers 460-500 exactly",
            ".initialisers 1 460-500 exactly",
            "..initialiser 1 0x1400 460-500 exactly",
            "main 500-1000 exactly",
        ]
    );
}

#[test]
fn mapping_ends_with_the_first_protection_where_no_touch_tells() {
    let mut tape = glibc_to_main();
    tape.records.retain(|record| record.at < LAUNCHED + 170);
    let analysed = tape.analysed();
    let mapping = of_kind(&analysed, PhaseKind::Mapping)[0];
    assert_eq!((mapping.end.0, mapping.known), (220, Known::EndAtMost));
}

#[test]
fn objects_without_protection_are_known_by_touches() {
    let mut tape = glibc_to_main();
    tape.notes.retain(|note| note.what != NoteKind::Protected { address: LIBRARY + 0x4000, length: 0x1000 });
    tape.write(230, LIBRARY + 0x5000, LOADER + 0x1010).write(245, PROGRAM + 0x5000, LOADER + 0x1010);
    let lines = lines(&tape.analysed());
    let relocation: Vec<_> = lines.iter().filter(|line| line.starts_with(".relocation")).collect();
    assert_eq!(
        relocation,
        [
            ".relocation 3 200-220 exactly",
            ".relocation 4 220-245 from-touches",
            ".relocation 1 245-260 from-touches",
            ".relocation 2 260-290 exactly",
        ]
    );
}

#[test]
fn the_loader_clears_the_last_page_of_a_segment() {
    let mut tape = glibc_to_main();
    tape.write(115, LIBRARY + 0x6f80, LOADER + 0x1020).write(116, LIBRARY + 0x6f80, LIBRARY + 0x1020);
    let lines = lines(&tape.analysed());
    assert!(lines.contains(&"..zeroing 4 115-115 from-touches".to_owned()), "{lines:#?}");
    assert_eq!(lines.iter().filter(|line| line.contains("zeroing")).count(), 2);
}

#[test]
fn without_the_kernels_records_the_stops_tell_the_stages() {
    let mut tape = glibc_to_main();
    tape.records.clear();
    tape.initialisers(310, &[(310, LIBC, 0x1100)]);
    let lines = lines(&tape.analysed());
    assert_eq!(
        lines,
        [
            "exec 5-30 exactly",
            "loader-start 30-100 exactly",
            "mapping 100-220 end-at-most",
            "relocation 220-300 end-at-most",
            ".relocation 4 220-240 exactly",
            ".relocation 1 240-260 exactly",
            ".relocation 2 260-290 exactly",
            "initialisers 300-400 exactly",
            ".initialisers 3 310-400 exactly",
            "..initialiser 3 0x1100 310-400 exactly",
            "runtime 400-500 exactly",
            "main 500-1000 exactly",
        ]
    );
}

#[test]
fn without_the_followers_notes_there_are_touches_alone() {
    let mut tape = glibc_to_main();
    tape.notes.clear();
    let analysed = tape.analysed();
    assert!(analysed.phases.is_empty());
    assert_eq!(analysed.events.len(), 5);
}

#[test]
fn a_program_that_dies_in_the_loader_has_what_came_before() {
    let mut tape = glibc();
    tape.notes.retain(|note| note.at <= LAUNCHED + 100);
    tape.note(215, NoteKind::Ends { status: 139 });
    let lines = lines(&tape.analysed());
    assert_eq!(lines.first().map(String::as_str), Some("exec 5-30 exactly"));
    assert_eq!(lines.last().map(String::as_str), Some(".relocation 3 200-210 from-touches"));
    assert!(lines.contains(&"relocation 200-215 from-touches".to_owned()), "{lines:#?}");
}

#[test]
fn a_program_that_dies_in_an_initialiser_is_cut_there() {
    let mut tape = glibc();
    tape.initialisers(310, &[(310, LIBC, 0x1100)]).note(350, NoteKind::Ends { status: 139 });
    let lines = lines(&tape.analysed());
    assert_eq!(lines.last().map(String::as_str), Some("..initialiser 3 0x1100 310-350 exactly"));
}

#[test]
fn phases_are_cut_at_readiness() {
    let mut tape = glibc_to_main();
    tape.until = 210;
    let lines = lines(&tape.analysed());
    assert!(lines.iter().any(|line| line.starts_with("relocation 200-210")), "{lines:#?}");
    assert!(!lines.iter().any(|line| line.starts_with("main") || line.starts_with("initialisers")));
}

#[test]
fn a_static_program_has_no_loader() {
    let mut tape = Tape::default();
    tape.note(5, NoteKind::ExecCalled).record(10, PerfRecordKind::Executed { name: "p".into() });
    tape.library(11, 1, PROGRAM).image(30, PROGRAM + 0x1000, 0).note(100, NoteKind::Main);
    tape.initialisers(50, &[(50, PROGRAM, 0x1100)]).linked(40, &[(1, PROGRAM)]);
    tape.until = 200;
    assert_eq!(
        lines(&tape.analysed()),
        [
            "exec 5-30 exactly",
            "runtime 30-50 exactly",
            "initialisers 50-100 exactly",
            ".initialisers 1 50-100 exactly",
            "..initialiser 1 0x1100 50-100 exactly",
            "main 100-200 exactly",
        ]
    );
}

#[test]
fn musl_tells_once_when_all_is_done() {
    let mut tape = Tape::executed();
    tape.library(11, 1, PROGRAM).library(20, 2, LOADER).image(30, PROGRAM + 0x1000, LOADER).library(60, 4, LIBRARY);
    tape.write(80, LIBRARY + 0x5000, LOADER + 0x1000);
    tape.linked(100, &[(1, PROGRAM), (4, LIBRARY), (2, LOADER)]).loader(100, LoaderState::Consistent);
    tape.note(110, NoteKind::ProgramEntry).note(200, NoteKind::Main).initialisers(150, &[(150, LIBRARY, 0x1100)]);
    tape.until = 300;
    assert_eq!(
        lines(&tape.analysed()),
        [
            "loader-start 30-60 from-touches",
            "mapping 60-80 from-touches",
            ".mapping 4 60-80 end-at-most",
            "relocation 80-100 from-touches",
            "initialisers 100-110 exactly",
            "runtime 110-150 exactly",
            "initialisers 150-200 exactly",
            ".initialisers 4 150-200 exactly",
            "..initialiser 4 0x1100 150-200 exactly",
            "main 200-300 exactly",
        ]
    );
}

const PLUGIN: u64 = 0x500_0000;
const INNER: u64 = 0x600_0000;

/// One `dlopen` as glibc 2.36 tells of it: mapped, consistent, relocated, initialised.
fn dlopen(tape: &mut Tape, at: u64, inode: u64, base: u64) {
    tape.loader(at, LoaderState::Adding).library(at + 1, inode, base);
    tape.linked(at + 10, &[(inode, base)]).loader(at + 10, LoaderState::Consistent).protected(at + 20, base);
}

#[test]
fn a_dlopen_is_relocated_after_the_list_is_consistent() {
    let mut tape = glibc_to_main();
    dlopen(&mut tape, 600, 5, PLUGIN);
    tape.initialisers(630, &[(630, PLUGIN, 0x1100), (640, PLUGIN, 0x1200)]);
    tape.fetch(635, PLUGIN + 0x1000).fetch(645, LIBC + 0x1000).fetch(660, PROGRAM + 0x2000);
    let lines = lines(&tape.analysed());
    assert_eq!(
        lines.split(|line| line.starts_with("main")).nth(1).unwrap(),
        [
            ".dlopen 5 600-660 end-at-most",
            "..mapping 600-610 exactly",
            "...mapping 5 601-610 end-at-most",
            "..relocation 610-620 exactly",
            "...relocation 5 610-620 exactly",
            "..initialisers 630-660 end-at-most",
            "...initialisers 5 630-660 end-at-most",
            "....initialiser 5 0x1100 630-640 exactly",
            "....initialiser 5 0x1200 640-660 end-at-most",
        ]
    );
}

#[test]
fn a_dlopen_begins_with_what_was_mapped_before_the_loader_said_so() {
    let mut tape = glibc_to_main();
    dlopen(&mut tape, 600, 5, PLUGIN);
    tape.initialisers(630, &[(630, PLUGIN, 0x1100)]);
    tape.library(700, 6, INNER).loader(706, LoaderState::Adding);
    tape.linked(710, &[(6, INNER)]).loader(710, LoaderState::Consistent);
    let lines = lines(&tape.analysed());
    let expected = [".dlopen 6 700-710 exactly", "..mapping 700-710 exactly", "...mapping 6 700-710 end-at-most"];
    assert_eq!(lines.last_chunk(), Some(&expected.map(str::to_owned)), "{lines:#?}");
    assert!(lines.contains(&".dlopen 5 600-700 end-at-most".to_owned()), "{lines:#?}");
}

#[test]
fn a_dlopen_that_adds_nothing_is_none() {
    let mut tape = glibc_to_main();
    tape.loader(600, LoaderState::Adding).loader(610, LoaderState::Consistent);
    assert!(of_kind(&tape.analysed(), PhaseKind::Dlopen).is_empty());
}

#[test]
fn a_dlopen_without_initialisers_ends_with_relocation() {
    let mut tape = glibc_to_main();
    dlopen(&mut tape, 600, 5, PLUGIN);
    dlopen(&mut tape, 700, 6, INNER);
    let analysed = tape.analysed();
    let spans: Vec<_> =
        of_kind(&analysed, PhaseKind::Dlopen).iter().map(|phase| (phase.begin.0, phase.end.0, phase.known)).collect();
    assert_eq!(spans, [(600, 620, Known::Exactly), (700, 720, Known::Exactly)]);
}

#[test]
fn a_dlopen_inside_an_initialiser_nests() {
    let mut tape = glibc_to_main();
    dlopen(&mut tape, 600, 5, PLUGIN);
    dlopen(&mut tape, 650, 6, INNER);
    tape.initialisers(630, &[(630, PLUGIN, 0x1100), (680, INNER, 0x1100), (690, PLUGIN, 0x1200)]);
    tape.fetch(900, PROGRAM + 0x2000);
    let lines = lines(&tape.analysed());
    let expected = [
        "....initialiser 5 0x1100 630-690 exactly",
        ".....dlopen 6 650-690 end-at-most",
        "......mapping 650-660 exactly",
    ];
    let from = lines.iter().position(|line| line == expected[0]).unwrap_or_else(|| panic!("{lines:#?}"));
    assert_eq!(lines[from..from + 3], expected);
    assert_eq!(lines.last().map(String::as_str), Some("....initialiser 5 0x1200 690-900 end-at-most"));
}

#[test]
fn a_dlopen_inside_the_last_initialiser_nests_if_its_code_was_running() {
    let mut tape = glibc_to_main();
    dlopen(&mut tape, 600, 5, PLUGIN);
    dlopen(&mut tape, 650, 6, INNER);
    tape.initialisers(630, &[(630, PLUGIN, 0x1100)]).fetch(640, PLUGIN + 0x1000).fetch(645, LIBC + 0x1000);
    let lines_inside = lines(&tape.analysed());
    assert!(lines_inside.contains(&".....dlopen 6 650-670 exactly".to_owned()), "{lines_inside:#?}");
    tape.fetch(648, PROGRAM + 0x2000);
    let lines_outside = lines(&tape.analysed());
    assert!(lines_outside.contains(&".dlopen 5 600-648 end-at-most".to_owned()), "{lines_outside:#?}");
    assert!(lines_outside.contains(&".dlopen 6 650-670 exactly".to_owned()), "{lines_outside:#?}");
}

#[test]
fn another_threads_dlopen_comes_after() {
    let mut tape = glibc_to_main();
    dlopen(&mut tape, 600, 5, PLUGIN);
    tape.initialisers(630, &[(630, PLUGIN, 0x1100)]).fetch(640, PLUGIN + 0x1000);
    tape.by(FIRST, 101);
    dlopen(&mut tape, 700, 6, INNER);
    let lines = lines(&tape.analysed());
    assert!(lines.contains(&".dlopen 5 600-700 end-at-most".to_owned()), "{lines:#?}");
    assert!(lines.contains(&".dlopen 6 700-720 exactly".to_owned()), "{lines:#?}");
}

#[test]
fn a_dlclose_is_told_at_both_ends() {
    let mut tape = glibc_to_main();
    tape.loader(600, LoaderState::Deleting).loader(620, LoaderState::Consistent);
    assert_eq!(lines(&tape.analysed()).last().map(String::as_str), Some(".dlclose 600-620 exactly"));
}

#[test]
fn musl_opens_libraries_with_a_single_word() {
    let mut tape = glibc_to_main();
    tape.library(600, 5, PLUGIN).linked(650, &[(5, PLUGIN)]).loader(650, LoaderState::Consistent);
    let lines = lines(&tape.analysed());
    assert!(lines.contains(&".dlopen 5 600-650 from-touches".to_owned()), "{lines:#?}");
}

#[test]
fn a_forked_child_has_phases_of_its_own_only() {
    let mut tape = glibc_to_main();
    tape.by(200, 200)
        .record(600, PerfRecordKind::Began { parent: FIRST, parent_thread: FIRST })
        .forked(601, FIRST, false);
    dlopen(&mut tape, 700, 5, PLUGIN);
    let analysed = tape.analysed();
    let child: Vec<_> = analysed.phases.iter().filter(|phase| phase.process.0 == 1).map(|phase| phase.kind).collect();
    assert_eq!(child.first(), Some(&PhaseKind::Dlopen));
    assert!(!child.contains(&PhaseKind::Main));
}

#[test]
fn initialisers_told_at_the_very_end_belong_to_the_image_that_called_them() {
    let mut tape = glibc_to_main();
    tape.until = 3000;
    tape.note(1000, NoteKind::ExecCalled).record(1010, PerfRecordKind::Executed { name: "q".into() });
    tape.library(1011, 7, PROGRAM).library(1020, 2, LOADER).image(1030, PROGRAM + 0x1000, LOADER);
    tape.loader(1100, LoaderState::Adding).library(1110, 3, LIBC);
    tape.linked(1300, &[(7, PROGRAM), (3, LIBC), (2, LOADER)]).loader(1300, LoaderState::Consistent);
    tape.note(1400, NoteKind::ProgramEntry).note(1500, NoteKind::Main);
    // One note with the calls of both images, dated like the first.
    tape.initialisers(310, &[(310, LIBC, 0x1100), (1310, LIBC, 0x1200)]);
    let analysed = tape.analysed();
    let called: Vec<_> =
        of_kind(&analysed, PhaseKind::Initialiser).iter().map(|phase| (phase.process.0, phase.begin.0)).collect();
    assert_eq!(called, [(0, 310), (1, 1310)]);
}
