//! Signals: those that end the program, those it handles, and those that are meant for breakpoints.

use super::support::{Bench, FUNCTIONS, lacks_breakpoints, notes, skip, text};

const RAISE: &str = "#include <signal.h>\n#include <stdlib.h>\nint main(int n,char**v){raise(atoi(v[1]));return 9;}";

#[test]
fn a_program_ends_as_without_us() {
    let bench = Bench::new();
    bench.build("raise", RAISE, &["gcc"]);
    for signal in ["9", "11", "6", "5", "15", "10", "17"] {
        let trace = bench.same(&[], &["./raise", signal]);
        assert!(trace.run.complete && trace.processes.len() == 1, "{signal}");
    }
}

#[test]
fn what_cannot_be_started_is_told_and_leaves_no_trace() {
    let bench = Bench::new();
    std::fs::write(bench.path().join("plain"), "no program").unwrap();
    for words in ["./missing", "./plain", "."] {
        let output = bench.trace(&[], &[words]);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains(words) && !bench.path().join("it.coldtrace").exists());
    }
}

const HANDLES: &str = include_str!("handles.c");

#[test]
fn its_own_traps_and_faults_are_its_own() {
    if lacks_breakpoints() {
        return;
    }
    let bench = Bench::new();
    bench.build("handles", HANDLES, &["gcc"]);
    bench.same(&[], &["./handles"]);
    let options: Vec<&str> = FUNCTIONS.into_iter().chain(["--functions-of", "handles"]).collect();
    bench.same(&options, &["./handles"]);
    // Alone, traced, alone again, and twice traced.
    assert_eq!(std::fs::read_to_string(bench.path().join("told")).unwrap(), "30\n".repeat(5));
}

const ALARMS: &str = include_str!("alarms.c");

#[test]
fn alarms_get_through_while_calls_are_made_in_its_name() {
    let bench = Bench::new();
    bench.build("alarms", ALARMS, &["gcc"]);
    let trace = bench.same(&[], &["./alarms"]);
    assert!(trace.processes.len() >= 31, "{}", trace.processes.len());
}

#[test]
fn a_stopped_shell_goes_on_when_it_is_continued() {
    let bench = Bench::new();
    // Again and again: once may be before it has stopped. Who reads its output waits for no other's.
    let script = "(while sleep 0.2; do kill -CONT $$ || exit; done) >/dev/null 2>&1 & kill -STOP $$; echo on; exit 5";
    bench.same(&[], &["sh", "-c", script]);
}

const HOLDS_BACK: &str = r#"
#include <signal.h>
#include <unistd.h>
int main(int n, char **v) {
  sigset_t s; sigemptyset(&s); sigaddset(&s, SIGTRAP);
  if (v[1][0] == 'i') signal(SIGTRAP, SIG_IGN); else sigprocmask(SIG_BLOCK, &s, 0);
  execv(v[2], v + 2); return 3;
}"#;

#[test]
fn a_program_that_begins_with_traps_held_back_keeps_them_so() {
    if lacks_breakpoints() {
        return;
    }
    let bench = Bench::new();
    bench.build("raise", RAISE, &["gcc"]);
    bench.build("holds", HOLDS_BACK, &["gcc"]);
    for how in ["ignored", "blocked"] {
        let trace = bench.same(&[], &["./holds", how, "./raise", "5"]);
        assert!(notes(&trace).contains("ignores or blocks SIGTRAP"), "{}", notes(&trace));
    }
}

#[test]
fn the_first_process_of_a_namespace_is_ended_by_its_faults() {
    if lacks_breakpoints() {
        return;
    }
    let bench = Bench::new();
    let source = "#include <stdlib.h>\nint main(int n, char **v) { switch (v[1][0]) { case 's': *(volatile int *)0 = 1; case 'i': \
                  __asm__ volatile(\"int3\"); case 'u': __builtin_trap(); case 'a': abort(); } return 9; }";
    bench.build("faults", source, &["gcc"]);
    let may = bench.command("unshare", &["-rUpf", "true"]).output();
    if !may.is_ok_and(|output| output.status.success()) {
        skip("no PID namespace can be made");
        return;
    }
    for fault in ["s", "i", "u", "a"] {
        let trace = bench.same(&["--time-limit", "20"], &["unshare", "-rUpf", "./faults", fault]);
        assert!(notes(&trace).contains("it was the first process of a PID namespace"), "{fault}: {}", notes(&trace));
    }
}

const IGNORES: &str = r#"
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
static void *loads(void *x) { dlopen("libm.so.6", RTLD_NOW); return 0; }
int main(void) {
  pthread_t thread; signal(SIGTRAP, SIG_IGN); loads(0); pthread_create(&thread, 0, loads, 0); pthread_join(thread, 0);
  raise(SIGTRAP); puts("alive"); return 4;
}"#;

#[test]
fn a_program_may_ignore_the_signal_of_breakpoints() {
    if lacks_breakpoints() {
        return;
    }
    let bench = Bench::new();
    bench.build("ignores", IGNORES, &["gcc"]);
    let trace = bench.same(&[], &["./ignores"]);
    assert!(notes(&trace).contains("it ignores SIGTRAP, which breakpoints would undo"), "{}", notes(&trace));
}
