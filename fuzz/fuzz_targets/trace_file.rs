//! Any bytes as a trace file: refused or read within a bounded number of steps, never a panic and never written.
//!
//! A database is kept together by its page headers, which a fuzzer hardly ever makes up. So the input is also taken as changes
//! to a trace that is whole: each three bytes, a place (two bytes, times 7 modulo the length) and what stands there.

#![no_main]

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use coldstart_profile::trace::{
    Event, EventKind, FileCategory, FileId, Lookup, LookupKind, Moment, ThreadId, Touch, Trace, TracedFile, TracedProcess,
};
use coldstart_tracefile::{TraceFile, write_trace};
use libfuzzer_sys::fuzz_target;

/// In memory, and another one for each process.
static PLACE: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = Path::new("/dev/shm");
    let folder = if folder.is_dir() { folder.to_owned() } else { std::env::temp_dir() };
    folder.join(format!("coldstart-fuzz-{}.coldtrace", std::process::id()))
});

static WHOLE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let touch = EventKind::Touch(Touch { major: true, ..Touch::default() });
    let event = |at| Event {
        at: Moment(at),
        thread: ThreadId(0),
        kind: touch,
        file: Some(FileId(0)),
        page: at,
        pages: 1,
        code: None,
    };
    let lookup = |at| Lookup {
        at: Moment(at),
        process: None,
        path: format!("/missing/{at}").into(),
        kind: LookupKind::Open,
        file: None,
        failed: true,
    };
    let trace = Trace {
        processes: vec![TracedProcess::default()],
        files: vec![TracedFile {
            path: "/a".into(),
            device: 1,
            inode: 2,
            identity: None,
            category: FileCategory::Program,
        }],
        events: (0..500).map(event).collect(),
        lookups: (0..200).map(lookup).collect(),
        ..Trace::default()
    };
    write_trace(&PLACE, &trace).expect("the trace is written");
    std::fs::read(&*PLACE).expect("the trace is there")
});

fuzz_target!(|bytes: &[u8]| {
    let whole = &*WHOLE;
    read(bytes);
    let mut changed = whole.clone();
    for change in bytes.chunks_exact(3) {
        let place = usize::from(u16::from_le_bytes([change[0], change[1]])) * 7 % changed.len();
        changed[place] = change[2];
    }
    read(&changed);
});

fn read(bytes: &[u8]) {
    std::fs::write(&*PLACE, bytes).expect("there is room");
    if let Ok(mut file) = TraceFile::open(&PLACE) {
        let _ = (file.read(), file.summary());
        let limit = Some(Duration::from_millis(100));
        for view in ["touches", "files", "symbols", "lookups"] {
            let _ = file.query(&format!("SELECT * FROM {view}"), limit, |_| ControlFlow::Continue(()));
        }
    }
    assert!(std::fs::read(&*PLACE).is_ok_and(|there| there == bytes), "reading wrote");
}
