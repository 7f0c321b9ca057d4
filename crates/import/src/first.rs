//! The process that the recording is about, and the time of its launch.
//!
//! Perf's own command line contains the program's, but not its position: an option may have a value or none. The
//! process name after `execve` tells: it is the file name, truncated to 15 bytes (`TASK_COMM_LEN` in the kernel).

use std::collections::{BTreeSet, HashSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use coldstart_sys::fault_recorder::{PerfRecord, PerfRecordKind};

/// Bytes of a thread's name.
const NAME: usize = 15;

/// The first process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct First {
    pub(super) process: u32,
    /// By the recording's clock, in nanoseconds.
    pub(super) launched_at: u64,
    /// Whether its `execve` was recorded; if not, it ran already.
    pub(super) executed: bool,
    /// The program and its arguments, from perf's command line; empty if it has none.
    pub(super) command: Vec<OsString>,
}

/// Finds it; `None` if there is no fault at all.
pub(super) fn first(records: &[PerfRecord], perf: &[OsString]) -> Option<First> {
    let fault = records.iter().find(|record| matches!(record.what, PerfRecordKind::Fault(_)))?;
    let executed: Vec<(&PerfRecord, &OsStr)> = records
        .iter()
        .filter_map(|record| match &record.what {
            PerfRecordKind::Executed { name } => Some((record, name.as_os_str())),
            _ => None,
        })
        .collect();
    let names: HashSet<&OsStr> = executed.iter().map(|&(_, name)| name).collect();
    let command = command(perf, &|name| names.contains(name));
    let wanted = command.first().map(|word| name_of(word));
    let named = executed.iter().find(|&&(_, name)| Some(name) == wanted).or(executed.first());
    Some(match named {
        Some((record, _)) => {
            First { process: record.process, launched_at: record.at, executed: true, command: command.to_vec() }
        }
        None => {
            let command = if perf.iter().any(|word| word == "--") { command.to_vec() } else { Vec::new() };
            First { process: fault.process, launched_at: fault.at, executed: false, command }
        }
    })
}

/// The program's part of perf's command line: after `--`, or from the first word on that is the name of what was
/// executed.
fn command<'a>(perf: &'a [OsString], was_executed: &dyn Fn(&OsStr) -> bool) -> &'a [OsString] {
    let begin = match perf.iter().position(|word| word == "--") {
        Some(dashes) => Some(dashes.saturating_add(1)),
        None => {
            let behind = perf.iter().position(|word| word == "record").map_or(1, |verb| verb.saturating_add(1));
            let words = perf.iter().enumerate().skip(behind);
            words.into_iter().find(|(_, word)| was_executed(name_of(word))).map(|(place, _)| place)
        }
    };
    begin.and_then(|begin| perf.get(begin..)).unwrap_or_default()
}

/// The name that a process has when it has executed this.
fn name_of(word: &OsStr) -> &OsStr {
    let name = Path::new(word).file_name().unwrap_or(word).as_bytes();
    OsStr::from_bytes(name.get(..NAME).unwrap_or(name))
}

/// Drops what is not of the start: of a whole machine, processes that did nothing since the launch; and faults from
/// before it. The number is that of the dropped faults.
pub(super) fn keep_start(records: &mut Vec<PerfRecord>, first: &First) -> usize {
    let before = |record: &PerfRecord| first.executed && record.at < first.launched_at;
    let is_fault = |record: &PerfRecord| matches!(record.what, PerfRecordKind::Fault(_));
    let all = records.len();
    records.retain(|record| !(is_fault(record) && before(record)));
    let dropped = all.saturating_sub(records.len());
    let acts = |record: &&PerfRecord| {
        is_fault(record) || matches!(record.what, PerfRecordKind::Executed { .. }) && !before(record)
    };
    let mut kept: BTreeSet<u32> = records.iter().filter(acts).map(|record| record.process).collect();
    // A child has the memory of its parent, so parents stay. They come before their children, in time: one pass from
    // the end.
    for record in records.iter().rev() {
        if let PerfRecordKind::Began { parent, .. } = record.what
            && kept.contains(&record.process)
            && record.process != first.process
        {
            kept.insert(parent);
        }
    }
    records.retain(|record| kept.contains(&record.process));
    dropped
}

#[cfg(test)]
mod tests {
    use coldstart_sys::fault_recorder::Fault;

    use super::*;

    fn fault(at: u64, process: u32) -> PerfRecord {
        let (address, instruction, write, fetch) = (0x1000, 0, None, None);
        let what = PerfRecordKind::Fault(Fault { address, instruction, write, fetch, major: false, by_kernel: false });
        PerfRecord { at, process, thread: process, what }
    }

    fn executed(at: u64, process: u32, name: &str) -> PerfRecord {
        PerfRecord { at, process, thread: process, what: PerfRecordKind::Executed { name: name.into() } }
    }

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn the_command_line_names_the_first_process() {
        let records = [fault(1, 5), executed(2, 6, "cron"), executed(3, 7, "a-very-long-pro"), fault(4, 7)];
        for line in
            ["perf record -e page-faults -a -- ./a-very-long-program x", "perf record -a -c 1 ./a-very-long-program x"]
        {
            let first = first(&records, &words(line)).unwrap();
            assert_eq!((first.process, first.launched_at, first.executed), (7, 3, true), "{line}");
            assert_eq!(first.command, words("./a-very-long-program x"), "{line}");
        }
        let unknown = first(&records, &words("perf record -a")).unwrap();
        assert_eq!((unknown.process, unknown.launched_at, unknown.command.len()), (6, 2, 0));
    }

    #[test]
    fn a_process_that_ran_already_begins_with_its_first_fault() {
        let first = first(&[fault(9, 5), fault(10, 6)], &words("perf record -p 5")).unwrap();
        assert_eq!(first, First { process: 5, launched_at: 9, executed: false, command: Vec::new() });
        assert_eq!(super::first(&[executed(1, 2, "x")], &[]), None);
    }

    #[test]
    fn idle_processes_go_and_parents_stay() {
        let began = |process, parent| PerfRecord {
            at: 0,
            process,
            thread: process,
            what: PerfRecordKind::Began { parent, parent_thread: parent },
        };
        let mut records =
            vec![began(1, 0), began(2, 1), began(3, 1), began(4, 2), fault(1, 3), executed(2, 5, "x"), fault(3, 4)];
        let first = first(&records, &[]).unwrap();
        assert_eq!(keep_start(&mut records, &first), 1);
        let processes: Vec<u32> = records.iter().map(|record| record.process).collect();
        assert_eq!(processes, [1, 2, 4, 5, 4]);
    }
}
