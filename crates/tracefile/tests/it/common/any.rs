//! Any trace: what proptest thinks of, within what the data model promises (parents and order).

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use coldstart_profile::FileIdentity;
use coldstart_profile::trace::*;
use proptest::prelude::*;
use proptest::{collection::vec, option, sample::select};

/// Bytes as the system has them: anything but zeros.
fn words() -> impl Strategy<Value = OsString> {
    prop_oneof![
        "[a-z/. ]{0,12}".prop_map(OsString::from),
        "\\PC{0,6}".prop_map(OsString::from),
        vec(1_u8.., 0..12).prop_map(OsString::from_vec),
    ]
}

/// Text; with zeros and quotes, too.
fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z_.]{0,12}", "[\\x00-\\x7f]{0,8}", "\\PC{0,6}"]
}

/// Numbers of all sizes.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0_u64..3, 0_u64..100_000, 0_u64..200_000_000_000, any::<u64>(), Just(u64::MAX), Just(1 << 63)]
}

fn moment() -> impl Strategy<Value = Moment> {
    number().prop_map(Moment)
}

fn id() -> impl Strategy<Value = u32> {
    prop_oneof![0_u32..4, any::<u32>()]
}

fn pages_seen() -> impl Strategy<Value = PagesSeen> {
    select(vec![PagesSeen::Each, PagesSeen::FaultAround, PagesSeen::None])
}

fn run_end() -> impl Strategy<Value = RunEnd> {
    prop_oneof![
        any::<i32>().prop_map(RunEnd::Exited),
        any::<i32>().prop_map(RunEnd::Signalled),
        select(vec![RunEnd::EndedWhenReady, RunEnd::TimedOut, RunEnd::Interrupted]),
    ]
}

fn run() -> impl Strategy<Value = Run> {
    let what = (
        vec(words(), 0..4),
        any::<i64>(),
        vec(select(Layer::ALL.to_vec()), 0..5),
        pages_seen(),
        select(vec![StartState::AsIs, StartState::Cold, StartState::FilesEvicted]),
    );
    let how = (option::of(moment()), moment(), run_end(), text(), (number(), number(), number()));
    let on = (text(), any::<u32>(), any::<bool>(), vec(text(), 0..3));
    (what, how, on).prop_map(|(what, how, on)| Run {
        command: what.0,
        started: what.1,
        layers: what.2,
        pages: what.3,
        state: what.4,
        ready_at: how.0,
        ended_at: how.1,
        end: how.2,
        readiness: how.3,
        lost_events: how.4.0,
        stops: how.4.1,
        stopped: how.4.2,
        kernel: on.0,
        processors: on.1,
        complete: on.2,
        notes: on.3,
    })
}

fn processes() -> impl Strategy<Value = Vec<TracedProcess>> {
    let who = (any::<u32>(), option::of(id()), words(), vec(words(), 0..4));
    let process = (who, moment(), option::of(moment()), any::<bool>(), pages_seen(), vec(text(), 0..3));
    let process = process.prop_map(|(who, began, ended, executed, pages, notes)| TracedProcess {
        number: who.0,
        parent: who.1.map(ProcessId),
        program: who.2.into(),
        arguments: who.3,
        began,
        ended,
        executed,
        pages,
        notes,
    });
    vec(process, 0..5).prop_map(|mut processes| {
        for (number, process) in (0..).zip(&mut processes) {
            process.parent = process.parent.filter(|parent| parent.0 < number);
        }
        processes
    })
}

fn file() -> impl Strategy<Value = TracedFile> {
    let identity = option::of((number(), any::<i64>()).prop_map(|(size, modified)| FileIdentity { size, modified }));
    (words(), number(), number(), identity, select(FileCategory::ALL.to_vec())).prop_map(
        |(path, device, inode, identity, category)| TracedFile { path: path.into(), device, inode, identity, category },
    )
}

fn object() -> impl Strategy<Value = TracedObject> {
    let segment = (number(), number(), number(), number(), any::<u32>()).prop_map(
        |(address, offset, file_size, memory_size, flags)| ObjectSegment {
            address,
            offset,
            file_size,
            memory_size,
            flags,
        },
    );
    let section = (text(), number(), number(), number(), number(), any::<bool>()).prop_map(
        |(name, address, offset, size, entry_size, is_zero_filled)| ObjectSection {
            name,
            address,
            offset,
            size,
            entry_size,
            is_zero_filled,
        },
    );
    let symbol =
        (number(), number(), option::of(text()), any::<bool>()).prop_map(|(address, size, name, is_function)| {
            ObjectSymbol { address, size, name: name.unwrap_or_else(|| format!("fn_{address:x}")), is_function }
        });
    let run = (text(), number(), number(), text(), text(), number(), number()).prop_map(
        |(table, first, count, kind, section, from, to)| RelocationRun { table, first, count, kind, section, from, to },
    );
    let lists = (vec(segment, 0..3), vec(section, 0..4), vec(symbol, 0..6), vec(run, 0..4));
    let about = (id(), option::of(text()), option::of(text()), any::<u16>(), any::<bool>(), number());
    (about, lists).prop_map(|(about, (segments, sections, mut symbols, relocations))| {
        symbols.sort_by_key(|symbol| symbol.address);
        TracedObject {
            file: FileId(about.0),
            soname: about.1,
            build_id: about.2,
            machine: about.3,
            is_64_bit: about.4,
            entry: about.5,
            segments,
            sections,
            symbols,
            relocations,
        }
    })
}

fn phases() -> impl Strategy<Value = Vec<Phase>> {
    let known = select(vec![Known::Exactly, Known::EndAtMost, Known::FromTouches]);
    let what = (select(PhaseKind::ALL.to_vec()), option::of(id()), option::of(number()));
    let phase = (id(), what, moment(), moment(), option::of(id()), known).prop_map(
        |(process, (kind, file, address), begin, end, parent, known)| Phase {
            process: ProcessId(process),
            kind,
            file: file.map(FileId),
            address,
            begin,
            end,
            parent: parent.map(PhaseId),
            known,
        },
    );
    vec(phase, 0..6).prop_map(|mut phases| {
        for (number, phase) in (0..).zip(&mut phases) {
            phase.parent = phase.parent.filter(|parent| parent.0 < number);
        }
        phases
    })
}

fn kind() -> impl Strategy<Value = EventKind> {
    let touch = (option::of(any::<bool>()), any::<[bool; 5]>()).prop_map(
        |(write, [execute, major, by_kernel, zero_filled, first_of_run])| {
            EventKind::Touch(Touch { write, execute, major, by_kernel, zero_filled, first_of_run })
        },
    );
    let cause = select(vec![FillCause::Demand, FillCause::Readahead, FillCause::Other, FillCause::Unknown]);
    prop_oneof![touch, Just(EventKind::Function), Just(EventKind::Read), cause.prop_map(EventKind::Fill)]
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let code = option::of((id(), number()).prop_map(|(file, address)| CodeAddress { file: FileId(file), address }));
    // Hundreds within a few nanoseconds, and some in other centuries.
    let at = prop_oneof![10 => 0_u64..4, 1 => number()];
    let event = (at, id(), kind(), option::of(id()), number(), any::<u32>(), code).prop_map(
        |(at, thread, kind, file, page, pages, code)| Event {
            at: Moment(at),
            thread: ThreadId(thread),
            kind,
            file: file.map(FileId),
            page,
            pages,
            code,
        },
    );
    vec(event, 0..600).prop_map(|mut events| {
        events.sort_by_key(|event| event.at);
        events
    })
}

fn lookup() -> impl Strategy<Value = Lookup> {
    let kind = select(vec![LookupKind::Open, LookupKind::List, LookupKind::Ask]);
    (moment(), option::of(id()), words(), kind, option::of(id()), any::<bool>()).prop_map(
        |(at, process, path, kind, file, failed)| Lookup {
            at,
            process: process.map(ProcessId),
            path: path.into(),
            kind,
            file: file.map(FileId),
            failed,
        },
    )
}

pub(crate) fn trace() -> impl Strategy<Value = Trace> {
    let threads = vec((any::<u32>(), id()).prop_map(|(number, process)| (number, ProcessId(process))), 0..5);
    let load = (id(), id(), number(), moment()).prop_map(|(process, file, bias, at)| Load {
        process: ProcessId(process),
        file: FileId(file),
        bias,
        at,
    });
    let first = (run(), processes(), threads, vec(file(), 0..5), vec(object(), 0..4));
    (first, vec(load, 0..4), phases(), events(), vec(lookup(), 0..8)).prop_map(
        |((run, processes, threads, files, objects), loads, phases, events, mut lookups)| {
            lookups.sort_by_key(|lookup| lookup.at);
            let threads = threads.into_iter().map(|(number, process)| TracedThread { number, process }).collect();
            Trace { run, processes, threads, files, objects, loads, phases, events, lookups }
        },
    )
}
