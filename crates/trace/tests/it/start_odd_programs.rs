//! Programs that do what few do between their `execve` and readiness: the trace must stay true, or say what it lacks.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use coldstart_profile::trace::{EventKind, Layer, PhaseKind, ProcessId, Trace};
use coldstart_testing::skip;

use crate::start_support::{SEEN, build, file_named, lacks_breakpoints, lacks_single_pages, touched_pages, trace};

/// A library that counts in its initialiser.
const PLUGIN: &str = "int count; __attribute__((constructor)) static void counts(void) { count++; }\n";

fn plugin(folder: &Path) {
    build(folder, "libplugin.so", PLUGIN, &["-shared", "-fPIC", "-O1"]);
}

/// The processes in which the plugin's initialiser was called.
fn callers(trace: &Trace) -> Vec<ProcessId> {
    let file = file_named(trace, "libplugin.so");
    let is_named = |address: u64| {
        let symbol = trace.object(file).and_then(|object| object.symbol_at(address));
        symbol.is_some_and(|symbol| symbol.name == "counts")
    };
    let of_plugin =
        trace.phases.iter().filter(|phase| phase.kind == PhaseKind::Initialiser && phase.file == Some(file));
    of_plugin.filter(|phase| phase.address.is_some_and(is_named)).map(|phase| phase.process).collect()
}

fn names_called(trace: &Trace) -> Vec<&str> {
    let calls = trace.events.iter().filter(|event| matches!(event.kind, EventKind::Function));
    let code = calls.filter_map(|event| event.code);
    code.filter_map(|code| Some(trace.object(code.file)?.symbol_at(code.address)?.name.as_str())).collect()
}

/// Functions long enough that the object is armed: little of its code may be unknown, and padding is.
fn long_function(name: &str) -> String {
    format!(
        "__attribute__((noinline, noipa)) int {name}(int x) {{ asm volatile(\".skip 1800, 0x90\"); return x + 1; }}\n"
    )
}

/// A child that borrows its parent's memory until its `execve` has not called what the parent called before.
#[test]
fn initialisers_belong_to_who_called_them_not_to_a_child_that_borrows_the_memory() {
    if lacks_breakpoints() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    plugin(folder.path());
    let source = r#"
        #include <dlfcn.h>
        #include <spawn.h>
        #include <sys/wait.h>
        extern char **environ;
        int main(int count, char **arguments) {
            if (!dlopen(arguments[1], RTLD_NOW)) return 2;
            char *child[] = {"/bin/true", 0};
            int number, status;
            if (posix_spawn(&number, child[0], 0, 0, child, environ)) return 3;
            return waitpid(number, &status, 0) != number;
        }"#;
    let program = build(folder.path(), "spawns", source, &["-O1", "-ldl"]);
    let trace = trace(&program, &[folder.path().join("libplugin.so")], &[Layer::Phases]);
    assert!(trace.processes.len() > 1, "{:?}", trace.processes);
    assert_eq!(callers(&trace), [ProcessId(0)]);
}

/// The follower reads the table of a library that says where its initialisers are. What stands behind the table is the program's own
/// to touch first.
#[test]
fn reading_the_dynamic_table_leaves_the_page_behind_it_alone() {
    let folder = tempfile::tempdir().unwrap();
    let library = r#"
        __attribute__((aligned(4096), visibility("hidden"))) volatile char data[8192] = {1};
        __attribute__((constructor)) static void begins(void) {}
        int first_of_data(void) { return data[0]; }"#;
    let flags = ["-shared", "-fPIC", "-O1", "-nostdlib", "-Wl,-z,now", "-Wl,-z,relro", "-Wl,-soname,libdata.so"];
    build(folder.path(), "libdata.so", library, &flags);
    let rpath = format!("-Wl,-rpath,{}", folder.path().display());
    let source = "int first_of_data(void); int main(void) { return first_of_data() != 1; }";
    let program = build(folder.path(), "reads", source, &["-O1", "-L.", "-ldata", &rpath]);
    let trace = trace::<&str>(&program, &[], &[Layer::Phases, Layer::Pages]);
    if lacks_single_pages(&trace) {
        return;
    }
    let file = file_named(&trace, "libdata.so");
    let sections = &trace.object(file).unwrap().sections;
    let named = |name: &str| sections.iter().find(|section| section.name == name).unwrap();
    // Otherwise nothing is tested.
    let (table, data) = (named(".dynamic"), named(".data"));
    assert!(data.address - table.address < 1024, "{sections:?}");
    assert!(touched_pages(&trace, file).contains(&(data.offset / 4096)), "{:?}", touched_pages(&trace, file));
}

/// No call is made in a program that filters calls itself: that its initialisers are not timed stands in the trace, once.
#[test]
fn a_filter_of_its_own_is_why_initialisers_are_not_timed() {
    if lacks_breakpoints() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    plugin(folder.path());
    let source = include_str!("start_odd_programs/filters.c");
    let program = build(folder.path(), "filters", source, &["-O1", "-ldl"]);
    let trace = trace(&program, &[folder.path().join("libplugin.so")], &[Layer::Phases]);
    let told: Vec<usize> = trace
        .processes
        .iter()
        .map(|process| process.notes.iter().filter(|note| note.contains("initialisers")).count())
        .collect();
    assert_eq!(told, [0, 1], "{:?}", trace.processes);
    assert!(callers(&trace).is_empty());
}

/// Shells and launchers set all signals back to what they do by default: that is no handler.
#[test]
fn functions_are_seen_behind_a_return_to_the_default_action() {
    if lacks_breakpoints() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let source = format!(
        "#include <signal.h>\n{}{}int main(void) {{ int x = before(1); signal(SIGTRAP, SIG_DFL); return behind(x) != 3; }}\n",
        long_function("before"),
        long_function("behind"),
    );
    let program = build(folder.path(), "resets", &source, &["-O1"]);
    let trace = trace::<&str>(&program, &[], &[Layer::Phases, Layer::Pages, Layer::Functions]);
    let called = names_called(&trace);
    assert!(called.contains(&"before") && called.contains(&"behind"), "{called:?} {:?}", trace.run.notes);
}

/// Breakpoints would come between the program and its own traps; a list made of such a trace is short.
#[test]
fn a_program_that_handles_traps_says_which_functions_are_missing() {
    if lacks_breakpoints() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let source = format!(
        "#include <signal.h>\n{}{}static void handles(int s) {{ (void)s; }}\nint main(void) {{ int x = before(1); signal(SIGTRAP, handles); return behind(x) != 3; }}\n",
        long_function("before"),
        long_function("behind"),
    );
    let program = build(folder.path(), "handles", &source, &["-O1"]);
    let trace = trace::<&str>(&program, &[], &[Layer::Phases, Layer::Pages, Layer::Functions]);
    let called = names_called(&trace);
    assert!(called.contains(&"before") && !called.contains(&"behind"), "{called:?}");
    let notes = &trace.processes[0].notes;
    assert!(notes.iter().any(|note| note.contains("it handles SIGTRAP itself")), "{notes:?}");
}

/// The second start, for functions, cannot be: what the first one told is kept.
#[test]
fn a_program_that_removes_itself_keeps_its_first_start() {
    if lacks_breakpoints() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let source = format!(
        "#include <unistd.h>\n{}int main(int count, char **arguments) {{ return one(count) != 2 || unlink(arguments[0]); }}\n",
        long_function("one")
    );
    let program = build(folder.path(), "removes", &source, &["-O1"]);
    let trace = trace::<&str>(&program, &[], &[Layer::Phases, Layer::Pages, Layer::Functions]);
    assert!(trace.phases.iter().any(|phase| phase.kind == PhaseKind::Main));
    assert!(trace.run.notes.iter().any(|note| note.contains("second start")), "{:?}", trace.run.notes);
}

/// Snaps, flatpaks and containers have a loader and a C library of their own, under names that mean others outside.
#[test]
fn a_loader_is_looked_at_where_the_program_sees_it() {
    if lacks_breakpoints() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let loader = folder.path().join("loader");
    std::fs::write(&loader, "no loader, seen from outside").unwrap();
    let interpreter = format!("-Wl,--dynamic-linker={}", loader.display());
    let program = build(folder.path(), "inside", "int main(void) { return 0; }", &["-O1", &interpreter]);
    let script = format!(
        "mount --bind $(realpath /lib64/ld-linux-x86-64.so.2) {} && exec {}",
        loader.display(),
        program.display()
    );
    let unshare = Path::new("/usr/bin/unshare");
    let may = std::process::Command::new(unshare).args(["-m", "true"]).status();
    if !may.is_ok_and(|status| status.success()) {
        return skip("a mount namespace of one's own needs root");
    }
    let trace = trace(unshare, &["-m", "sh", "-c", &script], &[Layer::Phases]);
    let inside = trace.processes.iter().find(|process| process.program == program).unwrap();
    assert!(inside.notes.is_empty(), "{inside:?}");
}

/// Names are bytes.
#[test]
fn a_program_whose_name_is_not_utf_8_is_traced() {
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join(OsStr::from_bytes(b"caf\xe9"));
    std::fs::create_dir(&inside).unwrap();
    plugin(&inside);
    let source = "extern int count; int main(void) { return count != 1; }";
    let built = build(&inside, "plain", source, &["libplugin.so", "-Wl,-rpath,$ORIGIN"]);
    let program = inside.join(OsStr::from_bytes(b"na\xefve"));
    std::fs::rename(built, &program).unwrap();
    let argument = OsStr::from_bytes(b"\xff");
    let trace = trace(&program, &[argument], &SEEN);
    assert_eq!(trace.processes[0].program, program);
    assert_eq!(trace.processes[0].arguments[1], argument);
    assert!(trace.files.iter().any(|file| file.path == program));
    if !lacks_breakpoints() {
        assert_eq!(callers(&trace), [ProcessId(0)]);
    }
}
