//! Builds small programs, traces them, and reads traces in words.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use coldstart_launch::{CommandLine, LaunchOptions, Output};
use coldstart_profile::trace::{Event, EventKind, FileId, Layer, PagesSeen, StartState, Touch, Trace};
use coldstart_sys::tracing::Tracer;
use coldstart_testing::succeed;
use coldstart_trace::start::{PreparedTrace, TraceOptions};

/// Compiles `source` in the folder to `folder/name`: C++ with the flag `-xc++`, else C.
pub(crate) fn build(folder: &Path, name: &str, source: &str, flags: &[&str]) -> PathBuf {
    let (compiler, suffix) = if flags.contains(&"-xc++") { ("g++", "cc") } else { ("gcc", "c") };
    let (file, program) = (folder.join(format!("{name}.{suffix}")), folder.join(name));
    std::fs::write(&file, source).unwrap();
    let flags = flags.iter().filter(|flag| **flag != "-xc++");
    succeed(Command::new(compiler).current_dir(folder).arg(&file).args(["-w", "-o"]).arg(&program).args(flags));
    program
}

/// All layers without functions.
pub(crate) const SEEN: [Layer; 3] = [Layer::Phases, Layer::Pages, Layer::Files];

/// Traces a start. Functions, if they are wanted, everywhere in all objects.
pub(crate) fn trace<S: AsRef<OsStr>>(program: &Path, arguments: &[S], layers: &[Layer]) -> Trace {
    let command = CommandLine {
        program: program.into(),
        arguments: arguments.iter().map(|argument| argument.as_ref().to_owned()).collect(),
    };
    let options = TraceOptions {
        layers: layers.iter().copied().collect(),
        launch: LaunchOptions {
            output: Output::Null,
            time_limit: Some(Duration::from_secs(300)),
            ..LaunchOptions::default()
        },
        readiness: "exit".into(),
        state: StartState::AsIs,
        functions_everywhere: true,
    };
    PreparedTrace::new(&command, &options).unwrap().record(&|_, _| true).unwrap().trace
}

/// Says so where `trace` sets no breakpoints, so that phases, initialisers and first calls are not recorded.
pub(crate) fn lacks_breakpoints() -> bool {
    if !Tracer::HAS_BREAKPOINTS {
        coldstart_testing::skip("`trace` sets breakpoints on x86-64 only");
    }
    !Tracer::HAS_BREAKPOINTS
}

/// Says so where pages are seen up to 16 at a time: then those that were only mapped beside a touched one are not told from it.
pub(crate) fn lacks_single_pages(trace: &Trace) -> bool {
    let lacks = trace.run.pages != PagesSeen::Each;
    if lacks {
        coldstart_testing::skip(&format!("single pages are not seen here (before Linux 6.7): {:?}", trace.run.notes));
    }
    lacks
}

/// Says so where the kernel does not tell which parts of files were read, as these notes say.
pub(crate) fn lacks_reads(notes: &[String]) -> bool {
    let note = notes.iter().find(|note| note.contains("no tracepoint filemap:mm_filemap_get_pages"));
    if let Some(note) = note {
        coldstart_testing::skip(note);
    }
    note.is_some()
}

/// The file whose path ends like this.
pub(crate) fn file_named(trace: &Trace, end: &str) -> FileId {
    let place = trace.files.iter().position(|file| file.path.ends_with(end));
    FileId(u32::try_from(place.unwrap_or_else(|| panic!("{end} is not in the trace"))).unwrap())
}

/// Touches of a file, in order of time.
pub(crate) fn touches(trace: &Trace, file: FileId) -> Vec<(&Event, Touch)> {
    let of_file = trace.events.iter().filter(|event| event.file == Some(file));
    of_file
        .filter_map(|event| match event.kind {
            EventKind::Touch(touch) => Some((event, touch)),
            _ => None,
        })
        .collect()
}

/// The pages of a file that were touched, without zero-filled memory.
pub(crate) fn touched_pages(trace: &Trace, file: FileId) -> BTreeSet<u64> {
    touches(trace, file).iter().filter(|(_, touch)| !touch.zero_filled).map(|(event, _)| event.page).collect()
}
