//! Processes and threads, made in all ways that there are.

use coldstart_profile::trace::PhaseKind;

use super::support::{Bench, COLDSTART, lacks_breakpoints, living, notes};

const FORKS: &str = include_str!("forks.c");

#[test]
fn children_of_all_kinds_end_as_without_us_and_none_is_left() {
    let bench = Bench::new();
    let program = bench.build("forks", FORKS, &["gcc"]);
    let program = program.to_str().unwrap();
    let traced = bench.trace(&[], &[program]);
    // The daemon would still be there.
    assert_eq!(living(program), [""; 0]);
    let alone = bench.command(program, &[]).output().unwrap();
    assert_eq!(traced.stdout, alone.stdout);
    let trace = bench.read();
    assert!(trace.processes.len() >= 8, "{}", trace.processes.len());
    assert!(notes(&trace).contains("1 process was still running when the program ended"), "{}", notes(&trace));
}

const EXEC_FROM_THREAD: &str = r#"
#include <pthread.h>
#include <unistd.h>
static void *waits(void *x) { for (;;) pause(); }
static void *begins(void *x) { execl("/bin/echo", "echo", "from a thread", (char *)0); return 0; }
int main(void) { pthread_t t; for (int i = 0; i < 20; i++) pthread_create(&t, 0, waits, 0); pthread_create(&t, 0, begins, 0); pthread_exit(0); }"#;

#[test]
fn a_program_may_be_begun_by_another_thread_than_the_first() {
    let bench = Bench::new();
    bench.build("thread_exec", EXEC_FROM_THREAD, &["gcc"]);
    let trace = bench.same(&[], &["./thread_exec"]);
    assert!(trace.processes.iter().any(|process| process.program.ends_with("echo")), "{:?}", trace.processes);
}

const THREADS: &str = r#"
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; static int n;
static void *add(void *x) { pthread_mutex_lock(&m); n++; pthread_mutex_unlock(&m); return 0; }
int main(void) {
  static pthread_t t[500];
  for (int i = 0; i < 500; i++) if (pthread_create(&t[i], 0, add, 0)) return 2;
  for (int i = 0; i < 500; i++) pthread_join(t[i], 0);
  printf("%d\n", n); return 0;
}"#;

#[test]
fn five_hundred_threads() {
    let bench = Bench::new();
    bench.build("threads", THREADS, &["gcc"]);
    assert_eq!(bench.same(&[], &["./threads"]).processes.len(), 1);
}

#[test]
fn many_short_processes_under_a_low_limit_of_descriptors() {
    let bench = Bench::new();
    let script = "i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i+1)); done; echo done";
    let words = format!("ulimit -n 64; exec {COLDSTART} trace --time-limit 900 -o it.coldtrace -- sh -c '{script}'");
    let output = bench.command("sh", &["-c", &words]).output().unwrap();
    assert_eq!((output.stdout, output.status.code()), (b"done\n".to_vec(), Some(0)));
    let trace = bench.read();
    assert!(trace.processes.len() > 300);
    assert!(!notes(&trace).contains("Too many open files"), "{}", notes(&trace));
}

const INITIALISERS: &str = r#"
#include <stdexcept>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
#include <sys/wait.h>
static int caught, forked;
__attribute__((constructor)) static void a() { try { throw std::runtime_error("x"); } catch (const std::exception &) { caught = 1; } }
__attribute__((constructor)) static void b() { pid_t q = fork(); if (!q) { try { throw 1; } catch (int) { _exit(4); } } int s; waitpid(q, &s, 0); forked = WEXITSTATUS(s); }
__attribute__((constructor)) static void c() { if (getenv("EARLY")) { puts("early"); exit(caught * 10 + forked); } }
int main() { printf("%d %d\n", caught, forked); return 0; }"#;

#[test]
fn initialisers_may_throw_and_fork_and_exit() {
    if lacks_breakpoints() {
        return;
    }
    let bench = Bench::new();
    bench.build("initialisers", INITIALISERS, &["g++"]);
    let trace = bench.same(&[], &["./initialisers"]);
    assert!(trace.phases.iter().any(|phase| phase.kind == PhaseKind::Initialiser));
    bench.same(&[], &["env", "EARLY=1", "./initialisers"]);
}
