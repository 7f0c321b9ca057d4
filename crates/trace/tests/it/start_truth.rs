//! Touches of known pages in a known order: the trace has to tell exactly them.
//!
//! The program writes down what it does: reads and writes of its own arrays and of a mapped file, in a shuffled order, in two threads
//! at once and then in a child. The lists are compared entry by entry.

use std::collections::HashMap;
use std::fs;

use coldstart_profile::trace::{ProcessId, ThreadId, Trace};

use crate::start_support::{SEEN, build, file_named, lacks_single_pages, touches, trace};

const PAGES: usize = 64;

const SOURCE: &str = include_str!("start_truth/arrays.c");

/// A touch in words: array, page in it, whether it was written to.
type Told = (String, u64, bool);

/// Whether touches of a thread are meant.
type IsWanted<'a> = dyn Fn(&(ProcessId, ThreadId)) -> bool + 'a;

/// What the program told: each page is read first, if at all, then written to.
fn truth(text: &str) -> Vec<Told> {
    text.lines()
        .map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            (words[0].to_owned(), words[1].parse().unwrap(), words[2] == "1")
        })
        .collect()
}

/// Touches of the arrays and the file by process and thread; their sections are checked.
fn seen(trace: &Trace) -> HashMap<(ProcessId, ThreadId), Vec<Told>> {
    let mut seen: HashMap<(ProcessId, ThreadId), Vec<Told>> = HashMap::new();
    let program = file_named(trace, "arrays");
    let object = trace.object(program).unwrap();
    for (event, touch) in touches(trace, program) {
        let address = match touch.zero_filled {
            true => event.page * 4096,
            // A segment that begins within the page, as segments may where larger pages exist, holds none of the arrays.
            false => match object.address_of(event.page * 4096) {
                Some(address) => address,
                None => continue,
            },
        };
        let Some(symbol) = object.symbol_at(address).filter(|symbol| symbol.name.starts_with("in_")) else { continue };
        if symbol.name == "in_file" {
            continue;
        }
        let section = object.section_at(address).unwrap();
        assert_eq!(section.name, format!(".{}", &symbol.name[3..]), "at {address:x}");
        assert_eq!(touch.zero_filled, symbol.name == "in_bss");
        assert!(!touch.execute && !touch.by_kernel, "{event:?}");
        let page = (address - symbol.address) / 4096;
        let who = (trace.process_of(event).unwrap(), event.thread);
        seen.entry(who).or_default().push((symbol.name.clone(), page, touch.write.unwrap()));
    }
    seen
}

fn seen_of_file(trace: &Trace, name: &str) -> HashMap<(ProcessId, ThreadId), Vec<Told>> {
    let mut seen: HashMap<(ProcessId, ThreadId), Vec<Told>> = HashMap::new();
    for (event, touch) in touches(trace, file_named(trace, name)) {
        let who = (trace.process_of(event).unwrap(), event.thread);
        seen.entry(who).or_default().push(("in_file".to_owned(), event.page, touch.write.unwrap()));
    }
    seen
}

#[test]
fn touches_are_the_truth() {
    let folder = tempfile::tempdir().unwrap();
    let program = build(folder.path(), "arrays", SOURCE, &["-O1", "-pthread"]);
    let data = folder.path().join("data.bin");
    fs::write(&data, vec![3_u8; PAGES * 4096]).unwrap();
    let trace = trace(&program, &[folder.path(), &data], &SEEN);
    if lacks_single_pages(&trace) {
        return;
    }
    assert_eq!(trace.run.lost_events, 0);
    let arrays = seen(&trace);
    let file = seen_of_file(&trace, "data.bin");
    let told = |name: &str| truth(&fs::read_to_string(folder.path().join(name)).unwrap());
    let mut of_main = told("main");
    of_main.extend(told("later"));
    let main = (ProcessId(0), trace.threads.iter().position(|thread| thread.number == trace.processes[0].number));
    let main = (main.0, ThreadId(u32::try_from(main.1.unwrap()).unwrap()));
    let child = ProcessId(1);
    assert_eq!(trace.processes.len(), 2, "{:?}", trace.processes);
    assert_eq!((trace.processes[1].parent, trace.processes[1].executed), (Some(ProcessId(0)), false));
    let only = |lists: &HashMap<(ProcessId, ThreadId), Vec<Told>>, is: &IsWanted<'_>| {
        let found: Vec<_> = lists.iter().filter(|(who, _)| is(who)).collect();
        assert_eq!(found.len(), 1, "{:?}", lists.keys());
        found[0].1.clone()
    };
    let is_main = |who: &(ProcessId, ThreadId)| *who == main;
    let is_thread = |who: &(ProcessId, ThreadId)| who.0 == ProcessId(0) && *who != main;
    let is_child = |who: &(ProcessId, ThreadId)| who.0 == child;
    let split =
        |list: &[Told]| -> (Vec<Told>, Vec<Told>) { list.iter().cloned().partition(|told| told.0 == "in_file") };
    let lists: [(&str, &IsWanted<'_>, Vec<Told>); 3] =
        [("main", &is_main, of_main), ("thread", &is_thread, told("thread")), ("child", &is_child, told("child"))];
    for (name, is, expected) in lists {
        let (in_file, in_arrays) = split(&expected);
        assert!(in_file.len() >= PAGES / 4 && in_arrays.len() >= PAGES / 4 * 3);
        assert_eq!(only(&arrays, is), in_arrays, "arrays of {name}");
        assert_eq!(only(&file, is), in_file, "the file of {name}");
    }
}
