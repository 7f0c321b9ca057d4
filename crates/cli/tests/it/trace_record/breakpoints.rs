//! Breakpoints over functions: the program computes what it computes without them, whatever becomes of the memory they stand in.

use coldstart_profile::trace::EventKind;

use super::support::{Bench, FUNCTIONS, lacks_breakpoints, notes};

const LIBRARY: &str = "__attribute__((noinline)) int work(int k) { return k + 5; }";

/// The library is mapped and called, mapped and not called; each time other code with a breakpoint of its own comes to stand there.
const STALE: &str = include_str!("stale.c");

#[test]
fn memory_that_was_unmapped_keeps_no_breakpoint() {
    if lacks_breakpoints() {
        return;
    }
    for trap in ["0x90", "0xcc"] {
        let bench = Bench::new();
        for library in ["libwork.so", "libidle.so"] {
            bench.build(library, LIBRARY, &["gcc", "-shared", "-fPIC"]);
        }
        bench.build("stale", STALE, &["gcc", &format!("-DTRAP={trap}")]);
        let of = ["--functions-of", "stale", "--functions-of", "lib*.so"];
        let options: Vec<&str> = FUNCTIONS.into_iter().chain(of).collect();
        let trace = bench.same(&options, &["./stale"]);
        let told = std::fs::read_to_string(bench.path().join("told")).unwrap();
        let lines: Vec<&str> = told.lines().collect();
        // Alone, and twice traced.
        assert_eq!(lines.len(), 3, "{told}{}", notes(&trace));
        assert!(lines.iter().all(|line| *line == lines[0]), "{told}");
        assert!(notes(&trace).contains("functions were first called"), "{}", notes(&trace));
    }
}

const RACE: &str = include_str!("race.c");

#[test]
fn threads_and_handlers_may_meet_one_at_once() {
    if lacks_breakpoints() {
        return;
    }
    let bench = Bench::new();
    bench.build("race", RACE, &["gcc"]);
    let options: Vec<&str> = FUNCTIONS.into_iter().chain(["--functions-of", "race"]).collect();
    let trace = bench.same(&options, &["./race"]);
    assert_eq!(std::fs::read_to_string(bench.path().join("told")).unwrap(), "14200\n".repeat(3));
    let calls = trace.events.iter().filter(|event| event.kind == coldstart_profile::trace::EventKind::Function);
    assert!(calls.count() >= 50, "{}", notes(&trace));
}

const PLUGIN: &str = r#"
#include <dlfcn.h>
#include <stdlib.h>
static int begun;
__attribute__((constructor)) static void first(void) { begun = 1; if (NEXT[0] && !dlopen(NEXT, RTLD_NOW)) abort(); }
__attribute__((constructor)) static void second(void) { begun += 2; }
int work(void) { return begun; }"#;

const PLUGINS: &str = include_str!("plugins.c");

#[test]
fn three_hundred_plugins_are_initialised_as_without_us() {
    let bench = Bench::new();
    bench.build("p0.so", PLUGIN, &["gcc", "-shared", "-fPIC", "-DNEXT=\"./p1.so\""]);
    bench.build("p1.so", PLUGIN, &["gcc", "-shared", "-fPIC", "-DNEXT=\"./p2.so\""]);
    bench.build("p2.so", PLUGIN, &["gcc", "-shared", "-fPIC", "-DNEXT=\"\""]);
    for number in 3..300 {
        std::fs::copy(bench.path().join("p2.so"), bench.path().join(format!("p{number}.so"))).unwrap();
    }
    bench.build("plugins", PLUGINS, &["gcc"]);
    let trace = bench.same(&[], &["./plugins"]);
    let plugins = trace.objects.iter().filter(|object| {
        trace.file(object.file).is_some_and(|file| file.path.extension().is_some_and(|end| end == "so"))
    });
    assert!(plugins.count() >= 300);
}

/// Memory of two processes: what one of them maps and we arm, the other one meets.
const SHARED: &str = include_str!("shared.c");

#[test]
fn processes_that_share_memory_share_breakpoints() {
    if lacks_breakpoints() {
        return;
    }
    let bench = Bench::new();
    bench.build("libwork.so", LIBRARY, &["gcc", "-shared", "-fPIC"]);
    bench.build("shared", SHARED, &["gcc"]);
    let of = ["--functions-of", "shared", "--functions-of", "libwork.so"];
    let options: Vec<&str> = FUNCTIONS.into_iter().chain(of).collect();
    let trace = bench.same(&options, &["./shared"]);
    let told = std::fs::read_to_string(bench.path().join("told")).unwrap();
    assert_eq!(told, "13 13 1280\n".repeat(3), "{}", notes(&trace));
}

const LEFT_ALONE: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) int late(int x) { __asm__ volatile(""); return x + 1; }
static void *run(void *unused) { usleep(200000); FILE *out = fopen("told", "a"); fprintf(out, "%d\n", late(1)); fclose(out); _exit(7); }
int main(void) { pthread_t thread; pthread_create(&thread, 0, run, 0); pthread_exit(0); }"#;

#[test]
fn functions_are_met_after_the_first_thread_has_ended() {
    if lacks_breakpoints() {
        return;
    }
    let bench = Bench::new();
    bench.build("left", LEFT_ALONE, &["gcc"]);
    let options: Vec<&str> = FUNCTIONS.into_iter().chain(["--functions-of", "left"]).collect();
    let trace = bench.same(&options, &["./left"]);
    assert_eq!(std::fs::read_to_string(bench.path().join("told")).unwrap(), "2\n2\n2\n", "{}", notes(&trace));
    let is_late = |event: &coldstart_profile::trace::Event| {
        let symbol = event.code.and_then(|code| trace.object(code.file)?.symbol_at(code.address));
        matches!(event.kind, EventKind::Function) && symbol.is_some_and(|symbol| symbol.name == "late")
    };
    assert!(trace.events.iter().any(is_late), "{}", notes(&trace));
}

#[test]
fn a_second_start_that_ends_otherwise_is_told() {
    if lacks_breakpoints() {
        return;
    }
    let bench = Bench::new();
    let source = "#include <unistd.h>\nint main(void) { return access(\"once\", 0) == 0 ? 3 : (symlink(\"x\", \"twice\") ? 5 : 4); }";
    bench.build("other", source, &["gcc"]);
    let options: Vec<&str> = FUNCTIONS.into_iter().chain(["--functions-of", "other"]).collect();
    let traced = bench.trace(&options, &["./other"]);
    assert_eq!(traced.status.code(), Some(4));
    let notes = notes(&bench.read());
    assert!(notes.contains("ended differently from the first (with exit code 5 and with exit code 4)"), "{notes}");
}

/// Parent and child, and a grandchild whose parent ends at once, call the same functions at the same time.
const BOTH_SIDES: &str = include_str!("both_sides.c");

#[test]
fn both_sides_of_a_fork_meet_their_own_breakpoints() {
    if lacks_breakpoints() {
        return;
    }
    let bench = Bench::new();
    bench.build("both", BOTH_SIDES, &["gcc"]);
    let options: Vec<&str> = FUNCTIONS.into_iter().chain(["--functions-of", "both"]).collect();
    for _ in 0..12 {
        bench.trace(&options, &["./both"]);
    }
    let told = std::fs::read_to_string(bench.path().join("told")).unwrap();
    assert_eq!(told, "0 1\n".repeat(24), "{}", notes(&bench.read()));
}
