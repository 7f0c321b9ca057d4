//! Breakpoints over functions: the program computes what it computes without them, whatever becomes of the memory they stand in.

use coldstart_profile::trace::EventKind;

use super::support::{Bench, FUNCTIONS, notes};

const LIBRARY: &str = "__attribute__((noinline)) int work(int k) { return k + 5; }";

/// The library is mapped and called, mapped and not called; each time other code with a breakpoint of its own comes to stand there.
const STALE: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static unsigned char *place(unsigned long at, int value) {
  unsigned char *page = mmap((void *)(at & ~4095ul), 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  unsigned char code[] = {TRAP, 0xb8, value, 0, 0, 0, 0xc3};
  memset(page, 0x90, 4096); memcpy((void *)at, code, sizeof code); return page;
}
static volatile int traps; static void handler(int s) { traps++; }
int main(void) {
  int s, sum = 0;
  if (TRAP == 0xcc) signal(SIGTRAP, handler);
  void *p = dlopen("./libwork.so", RTLD_NOW); int (*work)(int) = dlsym(p, "work"); unsigned long at = (unsigned long)work;
  int first = work(1) + work(1); dlclose(p);
  unsigned char *page = place(at, 77); int other = ((int (*)(void))at)() + ((int (*)(void))at)(); munmap(page, 4096);
  for (int i = 0; i < 5; i++) {
    p = dlopen("./libwork.so", RTLD_NOW); work = dlsym(p, "work");
    pid_t q = fork(); if (!q) _exit(work(1)); waitpid(q, &s, 0); sum += WEXITSTATUS(s) + work(1); dlclose(p);
  }
  p = dlopen("./libidle.so", RTLD_NOW); work = dlsym(p, "work"); at = (unsigned long)work; dlclose(p);
  page = place(at, 33); int third = ((int (*)(void))at)();
  FILE *out = fopen("told", "a"); fprintf(out, "%d %d %d %d %x traps %d\n", first, other, sum, third, page[at & 4095], traps); fclose(out);
  return 0;
}"#;

#[test]
fn memory_that_was_unmapped_keeps_no_breakpoint() {
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

const RACE: &str = r#"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#define F(n) __attribute__((noinline)) int f##n(int x) { __asm__ volatile(""); return x + n; }
#define R(a) F(a##0) F(a##1) F(a##2) F(a##3) F(a##4) F(a##5) F(a##6) F(a##7) F(a##8) F(a##9)
R(1) R(2) R(3) R(4) R(5)
#define L(a) f##a##0, f##a##1, f##a##2, f##a##3, f##a##4, f##a##5, f##a##6, f##a##7, f##a##8, f##a##9
static int (*all[])(int) = {L(1), L(2), L(3), L(4), L(5)};
static pthread_barrier_t barrier;
static void handler(int s) { for (int i = 0; i < 50; i += 7) all[i](1); }
static void *run(void *x) { long sum = 0; for (int i = 0; i < 50; i++) { pthread_barrier_wait(&barrier); sum += all[i](1); } return (void *)sum; }
int main(void) {
  struct sigaction a = {0}; a.sa_handler = handler; a.sa_flags = SA_RESTART; sigaction(SIGALRM, &a, 0);
  struct itimerval v = {{0, 1000}, {0, 1000}}; setitimer(ITIMER_REAL, &v, 0);
  pthread_t t[8]; pthread_barrier_init(&barrier, 0, 8); long sum = 0;
  for (int i = 0; i < 8; i++) pthread_create(&t[i], 0, run, 0);
  for (int i = 0; i < 8; i++) { void *r; pthread_join(t[i], &r); sum += (long)r; }
  FILE *out = fopen("told", "a"); fprintf(out, "%ld\n", sum); fclose(out); return 0;
}"#;

#[test]
fn threads_and_handlers_may_meet_one_at_once() {
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

const PLUGINS: &str = r#"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
static int sum;
static void load(int i) {
  char name[32]; sprintf(name, "./p%d.so", i); void *p = dlopen(name, RTLD_NOW); if (!p) { puts(dlerror()); return; }
  int (*work)(void) = dlsym(p, "work"); sum += work(); if (i % 2) dlclose(p);
}
static void *other(void *x) { for (int i = 150; i < 300; i++) load(i); return 0; }
int main(void) {
  for (int i = 0; i < 150; i++) load(i);
  pthread_t t; pthread_create(&t, 0, other, 0); pthread_join(t, 0);
  for (int i = 0; i < 100; i++) load(i);
  printf("%d\n", sum); return 0;
}"#;

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
const SHARED: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static int (*volatile found)(int); static volatile int sum; static char stack[131072];
__attribute__((noinline)) static int mine(int k) { __asm__ volatile(""); return k * 2; }
__attribute__((noinline)) static int other(int k) { __asm__ volatile(""); return k * 3; }
static int child(void *x) { while (!found) usleep(1000); sum += found(1) + other(1); return 5; }
int main(void) {
  int s; pid_t q = vfork(); if (!q) { sum += mine(1); _exit(0); } waitpid(q, &s, 0); sum += mine(1);
  q = clone(child, stack + sizeof stack, CLONE_VM | SIGCHLD, 0);
  found = dlsym(dlopen("./libwork.so", RTLD_NOW), "work"); waitpid(q, &s, 0);
  FILE *out = fopen("told", "a"); fprintf(out, "%d %d %d\n", sum, found(2) + other(2), s); fclose(out); return 0;
}"#;

#[test]
fn processes_that_share_memory_share_breakpoints() {
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
    let bench = Bench::new();
    let source = "#include <unistd.h>\nint main(void) { return access(\"once\", 0) == 0 ? 3 : (symlink(\"x\", \"twice\") ? 5 : 4); }";
    bench.build("other", source, &["gcc"]);
    let options: Vec<&str> = FUNCTIONS.into_iter().chain(["--functions-of", "other"]).collect();
    let traced = bench.trace(&options, &["./other"]);
    assert_eq!(traced.status.code(), Some(4));
    let notes = notes(&bench.read());
    assert!(notes.contains("ended otherwise than the first (with exit code 5 and with exit code 4)"), "{notes}");
}

/// Parent and child, and a grandchild whose parent ends at once, call the same functions at the same time.
const BOTH_SIDES: &str = r#"
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int sum;
#define F(n) __attribute__((noinline)) int f##n(int x) { sum += x; return sum + n; }
F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(10) F(11) F(12) F(13) F(14) F(15) F(16)
static int (*all[])(int) = {f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16};
int main(void) {
  int told[2], status, result = 0; pipe(told);
  pid_t middle = fork();
  if (!middle) {
    if (fork()) _exit(0);
    for (int i = 0; i < 16; i += 2) sum += all[i](i);
    write(told[1], &sum, 1); _exit(0);
  }
  pid_t child = fork();
  for (int i = 0; i < 16; i++) sum += all[i](i);
  if (!child) _exit(0);
  waitpid(child, &status, 0); result |= status; waitpid(middle, &status, 0); result |= status;
  close(told[1]); char byte; int lived = read(told[0], &byte, 1) == 1;
  FILE *out = fopen("told", "a"); fprintf(out, "%x %d\n", result, lived); fclose(out); return 0;
}"#;

#[test]
fn both_sides_of_a_fork_meet_their_own_breakpoints() {
    let bench = Bench::new();
    bench.build("both", BOTH_SIDES, &["gcc"]);
    let options: Vec<&str> = FUNCTIONS.into_iter().chain(["--functions-of", "both"]).collect();
    for _ in 0..12 {
        bench.trace(&options, &["./both"]);
    }
    let told = std::fs::read_to_string(bench.path().join("told")).unwrap();
    assert_eq!(told, "0 1\n".repeat(24), "{}", notes(&bench.read()));
}
