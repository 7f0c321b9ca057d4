//! From records to touches: hand-made records for each rule.

use coldstart_analyse::{NoteKind, finish};
use coldstart_profile::trace::{CodeAddress, EventKind, FileCategory, FileId, Moment, PagesSeen, ProcessId};
use coldstart_sys::fault_recorder::{Fault, PerfRecordKind};

use crate::support::*;

const BASE: u64 = 0x10000;

#[test]
fn a_fault_becomes_a_touch_of_a_page_of_a_file() {
    let mut tape = Tape::executed();
    tape.library(20, 2, BASE).read(30, BASE + 0x4000 + 0x1008).fetch(31, BASE + 0x2000);
    let analysed = tape.analysed();
    assert_eq!(pages(&analysed), [(2, 4), (2, 2)], "by place in the file, not in memory");
    let touches = touches(&analysed);
    assert_eq!(touches[0].0.at, Moment(30));
    assert_eq!(touches[0].1.write, Some(false));
    assert!(touches[1].1.execute);
    assert_eq!(touches[1].0.code, Some(CodeAddress { file: FileId(0), address: 0x2000 }));
    assert_eq!(analysed.loads.len(), 1);
    assert_eq!(analysed.loads[0].bias, BASE);
    assert_eq!(analysed.loads[0].at, Moment(20));
}

#[test]
fn memory_without_a_file_is_left_out() {
    let mut tape = Tape::executed();
    tape.anonymous(20, (0x5000, 0x1000)).map_named(21, "[stack]", 0, (0x8000, 0x1000), 0, 3);
    tape.map_named(22, "/dev/dri/card0", 5000, (0xa000, 0x1000), 0, 3);
    tape.read(30, 0x5000).read(31, 0x8000).read(32, 0xa000).read(33, 0xff_0000);
    let analysed = tape.analysed();
    assert!(analysed.events.is_empty());
    assert!(analysed.files.is_empty());
}

#[test]
fn memory_with_a_name_has_a_category_of_its_own() {
    let mut tape = Tape::executed();
    tape.map_named(20, "/memfd:jit (deleted)", 5000, (0x5000, 0x2000), 0, 7).read(30, 0x6000);
    let analysed = tape.analysed();
    assert_eq!(analysed.files[0].category, FileCategory::Memory);
    assert_eq!(analysed.files[0].path.to_str(), Some("/memfd:jit"));
    assert_eq!(pages(&analysed), [(5000, 1)]);
    assert!(analysed.loads.is_empty(), "executable, but nobody described it as an object");
}

#[test]
fn a_deleted_file_keeps_its_path() {
    let mut tape = Tape::executed();
    tape.map_named(20, "/opt/lib.so (deleted)", 2, (0x5000, 0x2000), 0, 5).read(30, 0x6000);
    let joined = tape.joined();
    assert_eq!(joined.files[0].path.to_str(), Some("/opt/lib.so"));
    assert_eq!(joined.deleted, [FileId(0)]);
}

#[test]
fn zero_filled_memory_belongs_to_its_object() {
    let mut tape = Tape::executed();
    tape.library(20, 2, BASE).anonymous(26, (BASE + 0x9000, 0x4000));
    tape.write(30, BASE + 0x7008, BASE + 0x1000).write(31, BASE + 0x9008, BASE + 0x1000).write(32, BASE + 0x8008, 0);
    let analysed = tape.analysed();
    assert_eq!(pages(&analysed), [(2, 7), (2, 8)], "named by address; what follows is the heap");
    assert!(touches(&analysed).iter().all(|(_, touch)| touch.zero_filled && touch.first_of_run));
}

#[test]
fn each_kind_of_touch_counts_once_for_a_process() {
    let mut tape = Tape::executed();
    tape.library(20, 2, BASE);
    let data = BASE + 0x5000;
    tape.read(30, data).read(31, data).write(32, data, 0).write(33, data + 8, 0).read(34, data);
    let analysed = tape.analysed();
    let seen: Vec<_> = touches(&analysed).iter().map(|(e, t)| (e.at.0, t.write, t.first_of_run)).collect();
    assert_eq!(seen, [(30, Some(false), true), (32, Some(true), false)]);
}

#[test]
fn unknown_touches_are_decoded() {
    let mut tape = Tape::executed();
    tape.library(20, 2, BASE);
    let unknown = |instruction| Fault { write: None, fetch: None, instruction, ..fault(BASE + 0x5000) };
    tape.fault(30, unknown(BASE + 0x1010)).fault(31, unknown(BASE + 0x1020)).fault(32, unknown(BASE + 0x1020));
    let joined = tape.joined();
    let objects = objects(&joined);
    let writes = |analysed: &coldstart_analyse::Analysed| {
        touches(analysed).iter().map(|(_, touch)| touch.write).collect::<Vec<_>>()
    };
    let decoded = finish(joined.clone(), &objects, &|_, address| Some(address == 0x1020));
    assert_eq!(writes(&decoded), [Some(false), Some(true)]);
    let both_read = finish(joined.clone(), &objects, &|_, _| Some(false));
    assert_eq!(writes(&both_read), [Some(false)]);
    assert_eq!(writes(&finish(joined, &objects, &|_, _| None)), [None]);
}

#[test]
fn a_change_of_protection_changes_nothing_else() {
    let mut tape = Tape::executed();
    tape.library(20, 2, BASE)
        .map(25, 2, (BASE + 0x4000, 0x1000), 0x3000, 1)
        .read(30, BASE + 0x4000)
        .read(31, BASE + 0x5000);
    let analysed = tape.analysed();
    assert_eq!(pages(&analysed), [(2, 3), (2, 4)]);
    assert_eq!(analysed.loads.len(), 1);
}

#[test]
fn a_forked_child_has_a_copy_and_its_own_firsts() {
    let mut tape = Tape::executed();
    tape.library(20, 2, BASE).read(21, BASE);
    tape.by(200, 200).record(30, PerfRecordKind::Began { parent: FIRST, parent_thread: FIRST });
    tape.read(31, BASE).map(32, 4, (BASE, 0x1000), 0, 1).read(33, BASE);
    tape.by(FIRST, FIRST).read(34, BASE + 0x1000);
    let analysed = tape.analysed();
    assert_eq!(pages(&analysed), [(2, 0), (2, 0), (4, 0), (2, 1)], "what the child maps is not its parent's");
    let firsts: Vec<_> = touches(&analysed).iter().map(|(_, touch)| touch.first_of_run).collect();
    assert_eq!(firsts, [true, false, true, true]);
    let child = &analysed.processes[1];
    assert_eq!((child.number, child.parent, child.executed), (200, Some(ProcessId(0)), false));
    assert_eq!(analysed.loads.len(), 1, "what a fork gives is not told again");
}

#[test]
fn a_child_of_vfork_shares_memory_until_it_executes() {
    let mut tape = Tape::executed();
    tape.by(200, 200).record(30, PerfRecordKind::Began { parent: FIRST, parent_thread: FIRST }).forked(31, FIRST, true);
    tape.library(32, 2, BASE);
    tape.by(FIRST, FIRST).read(40, BASE);
    tape.by(200, 200)
        .record(50, PerfRecordKind::Executed { name: "b".into() })
        .read(51, BASE)
        .library(52, 4, BASE)
        .read(60, BASE);
    tape.by(FIRST, FIRST).read(70, BASE + 0x1000);
    let analysed = tape.analysed();
    assert_eq!(pages(&analysed), [(2, 0), (4, 0), (2, 1)]);
    let numbers: Vec<_> = analysed.processes.iter().map(|p| (p.number, p.parent.map(|id| id.0), p.executed)).collect();
    assert_eq!(numbers, [(FIRST, None, true), (200, Some(0), false), (200, Some(1), true)]);
    assert_eq!(analysed.processes[1].ended, Some(Moment(50)));
}

#[test]
fn what_comes_before_the_program_is_ours() {
    let mut tape = Tape::default();
    tape.library(1, 9, BASE).read(2, BASE).note(3, NoteKind::ExecCalled);
    tape.record(10, PerfRecordKind::Executed { name: "p".into() })
        .library(11, 2, BASE)
        .image(19, 0x5000, 0)
        .read(20, BASE);
    let analysed = tape.analysed();
    assert_eq!(pages(&analysed), [(2, 0)]);
    assert_eq!(analysed.processes.len(), 1, "record and note tell of the same");
    assert_eq!(analysed.processes[0].program.to_str(), Some("/bin/program"));
    assert_eq!(analysed.processes[0].arguments.len(), 1);
}

#[test]
fn the_program_is_the_first_file_that_the_kernel_maps() {
    let mut tape = Tape::executed();
    tape.map_named(15, "[stack]", 0, (0x100, 0x100), 0, 3).library(20, 2, BASE);
    let analysed = tape.analysed();
    assert_eq!(analysed.processes[0].program.to_str(), Some("/lib/2"));
}

#[test]
fn numbers_of_processes_are_used_again() {
    let mut tape = Tape::executed();
    tape.library(20, 2, BASE);
    for begin in [30, 50] {
        tape.by(200, 200).record(begin, PerfRecordKind::Began { parent: FIRST, parent_thread: FIRST });
        tape.forked(begin + 1, FIRST, false).read(begin + 2, BASE).note(begin + 3, NoteKind::Ends { status: 0 });
        tape.read(begin + 4, BASE + 0x1000).record(begin + 5, PerfRecordKind::Ended);
    }
    let analysed = tape.analysed();
    let spans: Vec<_> = analysed.processes.iter().map(|p| (p.number, p.began.0, p.ended.map(|at| at.0))).collect();
    assert_eq!(spans, [(FIRST, 10, None), (200, 30, Some(35)), (200, 50, Some(55))]);
    let owners: Vec<_> = analysed.events.iter().map(|e| analysed.threads[e.thread.0 as usize].process.0).collect();
    assert_eq!(owners, [1, 1, 2, 2]);
}

#[test]
fn threads_share_memory_and_the_last_one_ends_the_process() {
    let mut tape = Tape::executed();
    tape.library(20, 2, BASE).read(21, BASE);
    tape.by(FIRST, 101)
        .record(30, PerfRecordKind::Began { parent: FIRST, parent_thread: FIRST })
        .read(31, BASE + 0x1000)
        .read(32, BASE);
    tape.by(FIRST, FIRST).record(40, PerfRecordKind::Ended);
    tape.by(FIRST, 101).read(41, BASE + 0x2000).record(50, PerfRecordKind::Ended);
    let analysed = tape.analysed();
    let seen: Vec<_> = analysed.events.iter().map(|e| (analysed.threads[e.thread.0 as usize].number, e.page)).collect();
    assert_eq!(seen, [(FIRST, 0), (101, 1), (101, 2)]);
    assert_eq!(analysed.processes[0].ended, Some(Moment(50)));
}

#[test]
fn what_comes_after_readiness_is_left_out() {
    let mut tape = Tape::executed();
    tape.until = 40;
    tape.library(20, 2, BASE).read(40, BASE).read(41, BASE + 0x1000).record(42, PerfRecordKind::Ended);
    let analysed = tape.analysed();
    assert_eq!(pages(&analysed), [(2, 0)]);
    assert_eq!(analysed.processes[0].ended, None);
}

#[test]
fn functions_are_events_with_or_without_mappings() {
    let function = |tape: &mut Tape| _ = tape.note(40, NoteKind::Function { address: BASE + 0x1234 });
    let mut mapped = Tape::executed();
    mapped.library(20, 2, BASE);
    function(&mut mapped);
    let mut unmapped = Tape::default();
    unmapped.image(10, 0x5000, 0).linked(20, &[(2, BASE)]);
    function(&mut unmapped);
    for tape in [mapped, unmapped] {
        let analysed = tape.analysed();
        let event = analysed.events.iter().find(|event| event.kind == EventKind::Function).unwrap();
        assert_eq!((event.page, event.code.unwrap().address), (1, 0x1234));
        assert_eq!(inode(&analysed, event.file.unwrap()), 2);
        let uses = tape.joined().uses();
        let used: Vec<_> = uses.values().flat_map(|it| it.instructions.iter().chain(&it.addresses)).collect();
        assert_eq!(used, [&0x1234]);
    }
}

#[test]
fn what_was_used_of_a_file_is_known_before_it_is_described() {
    let mut tape = Tape::executed();
    tape.library(20, 2, BASE).map(26, 3, (0x80000, 0x1000), 0, 1);
    tape.write(30, BASE + 0x5000, BASE + 0x1004).read(31, BASE).read(32, 0x80000);
    let uses = tape.joined().uses();
    let library = &uses[&FileId(0)];
    assert_eq!(library.pages.iter().copied().collect::<Vec<_>>(), [0, 4]);
    assert_eq!(library.instructions.iter().copied().collect::<Vec<_>>(), [0x1004]);
    assert!(library.as_object);
    assert!(!uses[&FileId(1)].as_object);
}

#[test]
fn how_completely_pages_were_seen() {
    let mut tape = Tape::executed();
    tape.note(20, NoteKind::Pages(PagesSeen::Each, None))
        .note(21, NoteKind::Pages(PagesSeen::FaultAround, Some("why".into())));
    tape.note(22, NoteKind::Obstacle("why".into()));
    tape.by(200, 200).record(30, PerfRecordKind::Began { parent: FIRST, parent_thread: FIRST });
    let analysed = tape.analysed();
    assert_eq!(analysed.processes[0].pages, PagesSeen::FaultAround);
    assert_eq!(analysed.processes[0].notes, ["why"]);
    assert_eq!(analysed.processes[1].pages, PagesSeen::FaultAround);
    tape.notes.remove(1);
    let child = |tape: &Tape| tape.analysed().processes[1].pages;
    assert_eq!(child(&tape), PagesSeen::FaultAround, "a fork gets memory of its own, in which nothing is switched off");
    tape.by(200, 200).forked(31, FIRST, true);
    assert_eq!(child(&tape), PagesSeen::Each);
    tape.records.clear();
    assert_eq!(tape.analysed().processes[0].pages, PagesSeen::None);
}

#[test]
fn load_biases_are_told_or_computed() {
    let mut tape = Tape::executed();
    tape.library(20, 2, BASE).library(30, 3, 0x50000).linked(40, &[(3, 0x50000)]);
    tape.map(50, 4, (0x400000, 0x1000), 0x1000, 5);
    let analysed = tape.analysed();
    let biases: Vec<_> = analysed.loads.iter().map(|load| (inode(&analysed, load.file), load.bias)).collect();
    assert_eq!(biases, [(2, BASE), (3, 0x50000), (4, 0x400000 - 0x1000)]);
}

#[test]
fn a_program_without_mappings_is_placed_by_its_entry() {
    let mut tape = Tape::default();
    tape.image(10, 0x7000_1000, 0);
    let analysed = tape.analysed();
    assert_eq!(analysed.loads.len(), 1);
    assert_eq!(analysed.loads[0].bias, 0x7000_0000);
}
