//! Programs that do what few do between their `execve` and readiness: the trace must stay true, or say what it lacks.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod start_support;

use std::path::Path;

use coldstart_profile::trace::{Layer, PhaseKind, ProcessId, Trace};
use start_support::{build, file_named, trace};

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

/// A child that borrows its parent's memory until its `execve` has not called what the parent called before.
#[test]
fn initialisers_belong_to_who_called_them_not_to_a_child_that_borrows_the_memory() {
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
