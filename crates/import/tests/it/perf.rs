//! Recordings of the real perf: what becomes of them is held against `perf script`, and against the pages that a
//! program says it touches.

use std::collections::BTreeSet;
use std::path::Path;

use coldstart_import::{import, import_bytes};
use coldstart_profile::trace::{EventKind, Layer, PagesSeen, RunEnd, Trace};

use crate::support::{Recorded, TOUCHED, perf, script};

/// Pages of the data file that were touched, in order.
fn touched(trace: &Trace, file: &Path) -> Vec<u64> {
    let file = trace.files.iter().position(|known| known.path == file).map(|place| u32::try_from(place).unwrap());
    let of_file = |event: &&coldstart_profile::trace::Event| event.file.map(|file| file.0) == file;
    let is_touch = |event: &&coldstart_profile::trace::Event| matches!(event.kind, EventKind::Touch(_));
    trace.events.iter().filter(of_file).filter(is_touch).map(|event| event.page).collect()
}

/// Everything that holds of a whole recording of the program, however it was made.
fn holds(recorded: &Recorded, trace: &Trace) {
    assert_eq!(
        touched(trace, &recorded.data),
        TOUCHED,
        "in the order in which the program touches them; {} events of {} were lost: {:?}",
        trace.run.lost_events,
        recorded.recording.display(),
        trace.run.notes
    );
    assert_eq!(trace.run.command.first().map(|word| Path::new(word).to_owned()), Some(recorded.program.clone()));
    assert_eq!(trace.run.command.get(1).map(|word| Path::new(word).to_owned()), Some(recorded.data.clone()));
    assert_eq!((trace.run.pages, trace.run.complete), (PagesSeen::FaultAround, true));
    assert_eq!(trace.run.layers, [Layer::Pages]);
    let kernel = std::fs::read_to_string(coldstart_host::kernel::RELEASE).unwrap();
    assert_eq!(trace.run.kernel, kernel.trim());
    assert!(trace.run.processors > 0);
    assert_eq!(trace.run.lost_events, 0);
    let main = trace.processes.iter().find(|process| process.program == recorded.program).unwrap();
    assert!(main.executed && main.ended.is_some());
    assert_eq!(trace.run.ready_at, main.ended);
    let program = trace.objects.iter().find(|object| trace.file(object.file).unwrap().path == recorded.program);
    let program = program.expect("the program is described");
    assert!(program.sections.iter().any(|section| section.name == ".text"));
    assert!(program.symbols.iter().any(|symbol| symbol.name == "main"), "{:?}", program.symbols);
}

#[test]
fn page_faults_become_touches_of_the_pages_that_the_program_names() {
    let Some(recorded) = Recorded::make("plain", &["-e", "page-faults", "-c", "1", "-d"]) else { return };
    let trace = import(&recorded.recording).unwrap();
    holds(&recorded, &trace);
    assert_eq!(trace.processes.len(), 1);
    assert_eq!(trace.run.end, RunEnd::EndedWhenReady);
    assert!(trace.run.notes.iter().any(|note| note.contains("waited for the disk")), "{:?}", trace.run.notes);
}

#[test]
fn faults_are_those_of_perf_script() {
    let Some(recorded) = Recorded::make("script", &["-e", "page-faults", "-c", "1", "-d"]) else { return };
    let trace = import(&recorded.recording).unwrap();
    // Perf counts each fault, a trace each page once for each way in which it was used.
    let faults = script(&recorded.recording, "ip,addr,time");
    let mappings = script(&recorded.recording, "comm,pid,tid,time --show-mmap-events");
    let (mut from, mut until) = (0, 0);
    for line in mappings.iter().filter(|line| line.contains(recorded.data.to_str().unwrap())) {
        let bracket = line.split_once("[0x").unwrap().1;
        let (address, rest) = bracket.split_once("(0x").unwrap();
        from = u64::from_str_radix(address, 16).unwrap();
        until = from + u64::from_str_radix(rest.split_once(')').unwrap().0, 16).unwrap();
    }
    let address = |line: &String| u64::from_str_radix(line.split_whitespace().nth(1)?, 16).ok();
    let addresses: Vec<u64> = faults.iter().filter_map(address).collect();
    let pages: Vec<u64> =
        addresses.iter().filter(|&&it| (from..until).contains(&it)).map(|it| (it - from) / 4096).collect();
    assert_eq!(touched(&trace, &recorded.data), pages, "{mappings:?}");
    let touches = trace.events.iter().filter(|event| matches!(event.kind, EventKind::Touch(_))).count();
    assert!(touches > TOUCHED.len() && touches <= addresses.len(), "{touches} of {}", addresses.len());
}

#[test]
fn other_ways_of_recording_the_same() {
    for (name, options) in [
        ("clock", &["-e", "page-faults", "-c", "1", "-d", "-k", "CLOCK_MONOTONIC"][..]),
        ("split", &["-e", "minor-faults,major-faults", "-c", "1", "-d"]),
        ("both", &["-e", "page-faults,major-faults", "-c", "1", "-d"]),
        ("physical", &["-e", "page-faults", "-c", "1", "-d", "--phys-data"]),
        ("calls", &["-e", "page-faults", "-c", "1", "-d", "-g"]),
        ("build-ids", &["-e", "page-faults", "-c", "1", "-d", "--buildid-mmap"]),
        ("all-build-ids", &["-e", "page-faults", "-c", "1", "-d", "--buildid-all"]),
        ("whole-machine", &["-e", "page-faults", "-c", "1", "-d", "-a"]),
        ("tracepoints", &["-e", "exceptions:page_fault_user,exceptions:page_fault_kernel", "-d"]),
        ("tracepoint-calls", &["-e", "exceptions:page_fault_user", "-d", "-g"]),
        ("compressed", &["-e", "page-faults", "-c", "1", "-d", "-z"]),
    ] {
        let Some(recorded) = Recorded::make(name, options) else { continue };
        let trace = import(&recorded.recording).unwrap_or_else(|error| panic!("{name}: {error}"));
        eprintln!("{name}: {} events", trace.events.len());
        holds(&recorded, &trace);
    }
}

#[test]
fn a_recording_that_went_through_a_pipe() {
    let Some(recorded) = Recorded::piped("pipe") else { return };
    let trace = import(&recorded.recording).unwrap();
    holds(&recorded, &trace);
}

#[test]
fn what_was_lost_is_counted_once_though_perf_tells_it_twice() {
    let Some(recorded) = Recorded::piped("lost") else { return };
    // In a pipe records end with the file. Number of the event, count; count; count of what a filter left out.
    let record = |kind: u32, misc: u16, body: &[u64]| {
        let body: Vec<u8> = body.iter().chain(&[0; 3]).flat_map(|word| word.to_le_bytes()).collect();
        let size = u16::try_from(8 + body.len()).unwrap();
        [&kind.to_le_bytes()[..], &misc.to_le_bytes(), &size.to_le_bytes(), &body].concat()
    };
    let mut bytes = std::fs::read(&recorded.recording).unwrap();
    let mut lost_after = |added: Vec<u8>| {
        bytes.extend(added);
        import_bytes(&recorded.recording, &bytes).unwrap().run.lost_events
    };
    assert_eq!(lost_after([record(2, 0, &[1, 4]), record(2, 0, &[1, 3])].concat()), 7);
    assert_eq!(lost_after(record(13, 0, &[6])), 7, "the seventh was a mapping");
    assert_eq!(lost_after(record(13, 1 << 15, &[100])), 7, "nobody wanted them");
    assert_eq!(lost_after(record(13, 0, &[3])), 9, "the last two are told of by their event alone");
}

#[test]
fn of_a_whole_machine_the_named_program_is_the_first() {
    let Some(recorded) = Recorded::make("first", &["-e", "page-faults", "-c", "1", "-d", "-a"]) else { return };
    let trace = import(&recorded.recording).unwrap();
    let main = trace.processes.iter().find(|process| process.program == recorded.program).unwrap();
    assert_eq!(main.began.0, 0, "the launch is the beginning");
    let used: BTreeSet<_> = trace.events.iter().filter_map(|event| trace.process_of(event)).collect();
    assert!(!used.is_empty());
}

#[test]
fn what_cannot_be_a_trace_is_refused_with_a_reason() {
    if !perf() {
        return;
    }
    for (name, options, expected, advice) in [
        ("no-addresses", &["-e", "page-faults", "-c", "1"][..], "addresses of `page-faults`", "add `-d`"),
        (
            "no-faults",
            &["-e", "context-switches", "-c", "1", "-d"],
            "but `context-switches`",
            "perf record -e page-faults",
        ),
    ] {
        let Some(recorded) = Recorded::make(name, options) else { continue };
        let error = import(&recorded.recording).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert!(error.to_string().contains(recorded.recording.to_str().unwrap()), "{error}");
        assert!(error.hint().unwrap().contains(advice), "{:?}", error.hint());
    }
}

#[test]
fn samples_are_labelled() {
    let Some(recorded) = Recorded::make("sampled", &["-e", "page-faults", "-c", "3", "-d"]) else { return };
    let trace = import(&recorded.recording).unwrap();
    assert!(trace.run.notes.iter().any(|note| note.contains("one in 3 faults")), "{:?}", trace.run.notes);
    assert!(trace.events.len() < TOUCHED.len() + 40);
}

#[test]
fn a_file_that_changed_since_is_not_described() {
    let Some(recorded) = Recorded::make("changed", &["-e", "page-faults", "-c", "1", "-d", "--buildid-all"]) else {
        return;
    };
    recorded.build("int main(void) { return 7; }");
    let trace = import(&recorded.recording).unwrap();
    assert!(trace.objects.iter().all(|object| trace.file(object.file).unwrap().path != recorded.program));
    let told = trace.run.notes.iter().find(|note| note.contains(recorded.program.to_str().unwrap()));
    assert!(
        told.is_some_and(|note| note.contains("another file") && note.contains("recorded")),
        "{:?}",
        trace.run.notes
    );
    assert_eq!(touched(&trace, &recorded.data), TOUCHED, "pages stay");
    std::fs::remove_file(&recorded.program).unwrap();
    let trace = import(&recorded.recording).unwrap();
    assert!(trace.run.notes.iter().any(|note| note.contains("is not here")), "{:?}", trace.run.notes);
}

#[test]
fn the_same_file_with_another_inode_is_described() {
    let Some(recorded) = Recorded::make("copied", &["-e", "page-faults", "-c", "1", "-d", "--buildid-all"]) else {
        return;
    };
    let bytes = std::fs::read(&recorded.program).unwrap();
    std::fs::remove_file(&recorded.program).unwrap();
    std::fs::write(&recorded.program, bytes).unwrap();
    let trace = import(&recorded.recording).unwrap();
    assert!(trace.objects.iter().any(|object| trace.file(object.file).unwrap().path == recorded.program));
}

#[test]
fn of_a_recording_that_was_cut_off_there_is_what_there_is() {
    let Some(recorded) = Recorded::make("cut", &["-e", "page-faults", "-c", "1", "-d"]) else { return };
    let bytes = std::fs::read(&recorded.recording).unwrap();
    let whole = import(&recorded.recording).unwrap();
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let (from, size) = (usize::try_from(number(40)).unwrap(), usize::try_from(number(48)).unwrap());

    // As perf leaves it when it is killed: no length, and nothing behind the records.
    let mut killed = bytes[..from + size].to_vec();
    killed[48..56].fill(0);
    std::fs::write(&recorded.recording, &killed).unwrap();
    let trace = import(&recorded.recording).unwrap();
    assert!(!trace.run.complete);
    assert!(trace.run.notes.iter().any(|note| note.contains("perf did not finish it")), "{:?}", trace.run.notes);
    assert_eq!(trace.events.len(), whole.events.len());

    // In the middle of a record.
    std::fs::write(&recorded.recording, &bytes[..from + size / 2 + 3]).unwrap();
    let trace = import(&recorded.recording).unwrap();
    assert!(!trace.run.complete && trace.events.len() < whole.events.len());
    let note = trace.run.notes.iter().find(|note| note.contains("file offset")).unwrap();
    assert!(note.contains("truncated"), "{note}");

    // Before any record.
    std::fs::write(&recorded.recording, &bytes[..from + 4]).unwrap();
    let error = import(&recorded.recording).unwrap_err();
    assert!(error.to_string().contains(&format!("file offset {from:#x}")), "{error}");
    std::fs::write(&recorded.recording, &bytes[..50]).unwrap();
    assert!(import(&recorded.recording).unwrap_err().to_string().contains("truncated header"));
}
