//! Programs that trace others themselves, and being traced already.

use super::support::{Bench, COLDSTART, notes, text};
use crate::filtered::{self, WITHOUT_FILES_IN_MEMORY};

const TRACER: &str = r#"
#include <errno.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
  int s; pid_t q = fork(); if (!q) { pause(); _exit(0); }
  long done = ptrace(PTRACE_SEIZE, q, 0, 0); printf("%d\n", done < 0 ? errno : 0); fflush(stdout);
  char line[64]; sprintf(line, "kill -9 %d", q); execl("/bin/sh", "sh", "-c", line, (char *)0); return 1;
}"#;

#[test]
fn a_program_that_traces_gets_its_own_error_and_the_trace_says_why() {
    let bench = Bench::new();
    bench.build("tracer", TRACER, &["gcc"]);
    let output = bench.trace(&[], &["./tracer"]);
    assert_eq!((text(&output.stdout), output.status.code()), ("1\n".to_owned(), Some(0)));
    assert!(notes(&bench.read()).contains("it traces programs"), "{}", notes(&bench.read()));
}

#[test]
fn a_tracer_that_cannot_be_started_is_told() {
    let bench = Bench::new();
    let output =
        filtered::coldstart(bench.path(), WITHOUT_FILES_IN_MEMORY, &["trace", "-o", "trace", "--", "/bin/true"]);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("cannot start the process that traces the program"), "{told}");
    assert!(!bench.path().join("trace").exists());
}

const OUTER: &str = include_str!("outer.c");

#[test]
fn who_traces_already_is_named() {
    let bench = Bench::new();
    bench.build("outer", OUTER, &["gcc"]);
    let words = [COLDSTART, "trace", "-o", "it.coldtrace", "--", "/bin/echo", "never"];
    let output = bench.command("./outer", &words).output().unwrap();
    let told = text(&output.stderr);
    assert_eq!((output.stdout, output.status.code()), (Vec::new(), Some(2)), "{told}");
    assert!(told.contains("which outer (process") && told.contains("already traces"), "{told}");
}

#[test]
fn a_trace_in_a_trace_is_refused_by_name() {
    let bench = Bench::new();
    for (options, reason) in
        [(vec![], "leave `files` out of the layers"), (vec!["--layers", "phases"], "already traces")]
    {
        let inner = [vec![COLDSTART, "trace", "-o", "inner.coldtrace"], options.clone(), vec!["--", "true"]].concat();
        let output = bench.trace(&options, &inner);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains(reason), "{}", text(&output.stderr));
        assert!(!bench.path().join("inner.coldtrace").exists());
    }
}
