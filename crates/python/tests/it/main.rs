//! The Python package, imported by this machine's Python from the library that cargo built.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod spark;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use coldstart_app::measure::runs::COLUMNS;
use coldstart_history::History;
use coldstart_profile::FileIdentity;
use coldstart_profile::trace::{
    Event, EventKind, FileCategory, FileId, Moment, PagesSeen, ProcessId, Run, ThreadId, Touch, Trace, TracedFile,
    TracedProcess, TracedThread,
};
use coldstart_testing::{PythonPackages, is_there, skip, succeed};

/// A directory with the package; `None` without Python.
fn package() -> Option<tempfile::TempDir> {
    if !is_there("python3") {
        skip("needs python3");
        return None;
    }
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let package = directory.path().join("coldstart");
    let sources = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("python/coldstart");
    succeed(Command::new("cp").arg("-r").arg(sources).arg(&package));
    let deps = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    let library = ["lib_coldstart.so", "../lib_coldstart.so"].map(|name| deps.join(name));
    let library = library.iter().find(|path| path.exists()).expect("cargo builds the library before its tests");
    fs::copy(library, package.join("_coldstart.abi3.so")).unwrap();
    Some(directory)
}

/// Runs a script that checks for itself, and gives what it printed.
#[track_caller]
fn python(directory: &tempfile::TempDir, script: &str) -> String {
    let mut command = Command::new("python3");
    command.arg("-c").arg(script).current_dir(directory.path()).env("PYTHONDONTWRITEBYTECODE", "1");
    succeed(command.env("PYTHONPATH", directory.path()))
}

#[test]
fn results_are_tables() {
    let Some(directory) = package() else { return };
    let script = r#"
import coldstart, pathlib
program = pathlib.Path("/bin/sh").resolve()
by_path, by_bytes = coldstart.inspect(program), coldstart.inspect(program.read_bytes())
assert len(by_path.objects) == len(by_bytes.objects) == 1
assert "packing_saves_bytes" in by_path.objects.column_names, by_path.objects.column_names
assert by_path.objects.descriptions["bytes"] == "Size of the file in bytes."
assert len(by_path.needed) >= 1 and "rows" in repr(by_path.needed)
capsule = by_path.objects.__arrow_c_stream__()
assert '"arrow_array_stream"' in repr(capsule), capsule
del capsule
for _ in range(1000):
    by_path.findings.__arrow_c_stream__(None)
found = coldstart.resolve("sh")
assert len(found.objects) >= 2 and len(found.missing) == 0, found
print("checked", coldstart.__version__)
"#;
    assert_eq!(python(&directory, script), format!("checked {}\n", env!("CARGO_PKG_VERSION")));
}

/// What reads tables, on PYTHONPATH behind the package.
fn with_readers(directory: &tempfile::TempDir, script: &str) -> Option<String> {
    let readers = PythonPackages::Tables.directory()?;
    let mut command = Command::new("python3");
    command.arg("-c").arg(script).current_dir(directory.path()).env("PYTHONDONTWRITEBYTECODE", "1");
    let path = std::env::join_paths([directory.path(), &readers]).unwrap();
    Some(succeed(command.env("PYTHONPATH", path)))
}

#[test]
fn data_frames_and_engines_read_tables() {
    let Some(directory) = package() else { return };
    let script = r#"
import coldstart, duckdb, pandas, polars, pyarrow
table = coldstart.inspect("/bin/sh").needed
needed = pyarrow.table(table)
assert needed.schema.metadata[b"coldstart.schema"], needed.schema.metadata
expected = needed.to_pylist()
assert len(expected) == len(table) > 0
assert polars.DataFrame(table).to_dicts() == expected
assert pandas.DataFrame.from_arrow(table).equals(needed.to_pandas())
assert duckdb.sql("SELECT count(*) FROM needed").fetchall() == [(len(expected),)]
# Absent values stay absent, and the columns outlive the table.
objects = pyarrow.table(coldstart.inspect("/bin/sh").objects)
assert objects.column("package").to_pylist() == [None], objects
# No copy: the bytes of a column are where they were.
address = lambda table: pyarrow.table(table).column("bytes").chunk(0).buffers()[1].address
inspection = coldstart.inspect("/bin/sh").objects
assert address(inspection) == address(inspection)
print("checked")
"#;
    let Some(printed) = with_readers(&directory, script) else { return };
    assert_eq!(printed, "checked\n");
}

/// A measurement of one run.
fn kept() -> serde_json::Value {
    serde_json::json!({
        "id": "a", "measured_at": 1, "label": null, "coldstart_version": "0.1.0", "programs": [null],
        "machine": {"kernel": "6.1", "processor": "P", "processor_count": 2, "governor": null, "memory": 1 << 30, "devices": []},
        "commands": [{"label": "A", "command_line": "./server", "readiness": "exit", "file_count": 3}],
        "samples": [{
            "number": 1, "command": 0, "state": "hot", "round": 1, "attempt": 1, "seconds": 0.5,
            "end": {"how": "exited", "value": 0}, "residency": null, "bytes_read": 0, "major_faults": null, "minor_faults": 7,
            "user_seconds": 0.1, "system_seconds": 0.1, "devices": [], "used": {"use": "counted"}
        }],
        "summaries": [], "comparisons": [], "input_output": [], "launch_floor": null, "warnings": []
    })
}

#[test]
fn plans_and_measurements_are_tables() {
    let Some(directory) = package() else { return };
    let script = r#"
import coldstart, signal, sys
handler = signal.getsignal(signal.SIGINT)
plan = coldstart.pack.plan(["/bin/sh", "/etc/passwd"])
assert len(plan) == 2, plan
assert signal.getsignal(signal.SIGINT) is handler
try:
    coldstart.pack.plan(["/bin/sh"], passes="no-such-pass")
    raise SystemExit("no error")
except ValueError as error:
    assert "no-such-pass" in str(error), error
try:
    coldstart.history("none")
    raise SystemExit("no error")
except coldstart.Error as error:
    assert "none" in str(error) and "coldstart measure" in error.hint, (error, error.hint)
history = coldstart.history("history")
assert len(history) == 1, history
capsule = history.__arrow_c_stream__()
print(",".join(history.column_names))
"#;
    let path = directory.path().join("history");
    let mut history = History::open(&path).unwrap();
    history.add(&serde_json::from_value(kept()).unwrap()).unwrap();
    assert_eq!(python(&directory, script).trim_end(), COLUMNS.join(","));
}

#[test]
fn errors_say_what_to_do() {
    let Some(directory) = package() else { return };
    let script = r##"
import coldstart
def error(call):
    try:
        call()
    except coldstart.Error as error:
        return str(error), error.hint
    raise SystemExit("no error")
open("script", "w").write("#!/bin/sh\n")
message, hint = error(lambda: coldstart.inspect("script"))
assert "cannot inspect `script`" in message and "name the program" in hint, (message, hint)
message, hint = error(lambda: coldstart.inspect(b"\x7fELF"))
assert "ELF header" in message, message
message, hint = error(lambda: coldstart.inspect("/no/such"))
assert "/no/such" in message and hint is None, (message, hint)
message, hint = error(lambda: coldstart.read_trace("script"))
assert "script" in message, message
message, hint = error(lambda: coldstart.resolve("/no/such", sysroot="/"))
assert "/no/such" in message, message
for wrong in (0, 2), (3, 2):
    try:
        coldstart.survey(["script"], "out", shard=wrong)
        raise SystemExit("no error")
    except ValueError as error:
        assert "I/N" in str(error), error
print("checked")
"##;
    assert_eq!(python(&directory, script), "checked\n");
}

#[test]
fn a_survey_is_made_from_threads_side_by_side() {
    let Some(directory) = package() else { return };
    let script = r#"
import coldstart, concurrent.futures, os, shutil
os.mkdir("tree")
for number in range(20):
    shutil.copy("/bin/sh", f"tree/{number}")
with concurrent.futures.ThreadPoolExecutor() as pool:
    made = list(pool.map(lambda name: coldstart.survey(["tree"], name), ["one", "two"]))
assert all(outcome["objects"] == 20 for outcome in made), made
assert coldstart.survey(["tree"], "one")["kept"] == 1
print("checked")
"#;
    assert_eq!(python(&directory, script), "checked\n");
}

#[test]
fn a_trace_is_two_tables() {
    let Some(directory) = package() else { return };
    let file = |path: &str| TracedFile {
        path: path.into(),
        device: 1,
        inode: 2,
        identity: Some(FileIdentity { size: 8192, modified: 0 }),
        category: FileCategory::Program,
    };
    let touch = Event {
        at: Moment(5),
        thread: ThreadId(0),
        kind: EventKind::Touch(Touch::default()),
        file: Some(FileId(0)),
        page: 1,
        pages: 1,
        code: None,
    };
    let program = TracedProcess { number: 1, program: "/app".into(), executed: true, ..TracedProcess::default() };
    let trace = Trace {
        run: Run { pages: PagesSeen::Each, ended_at: Moment(9), complete: true, ..Run::default() },
        processes: vec![program],
        threads: vec![TracedThread { number: 1, process: ProcessId(0) }],
        files: vec![file("/app"), file("/lib/x")],
        events: vec![touch],
        ..Trace::default()
    };
    coldstart_tracefile::write_trace(&directory.path().join("web1.coldtrace"), &trace).unwrap();
    let script = r#"
import coldstart
tables = coldstart.read_trace("web1.coldtrace")
assert (len(tables.touches), len(tables.files)) == (1, 2), tables
assert tables.touches.column_names[:3] == ["host", "program", "program_build_id"], tables.touches.column_names
assert "web1" in repr(tables) and "1 page" in repr(tables), tables
coldstart.read_trace("web1.coldtrace", host="other", program="/lib/x")
try:
    coldstart.read_trace("web1.coldtrace", program="/no")
    raise SystemExit("no error")
except coldstart.Error as error:
    assert "/no" in str(error) and "--layers" not in error.hint, (error, error.hint)
print("checked")
"#;
    assert_eq!(python(&directory, script), "checked\n");
}

#[test]
fn the_examples_of_the_documentation_hold() {
    let Some(directory) = package() else { return };
    let script = "import coldstart, doctest, sys; sys.exit(doctest.testmod(coldstart).failed)";
    assert_eq!(python(&directory, script), "");
}
