//! Programs with seccomp filters of their own: a call made in their name could be their end.

use super::support::{Bench, COLDSTART, FUNCTIONS, notes, text};

/// Kills on `userfaultfd` and on memory that is writable and executable, then loads a library, forks, and begins another program.
const FILTERED: &str = include_str!("filtered.c");

#[test]
fn calls_that_its_filter_does_not_expect_are_not_made() {
    let bench = Bench::new();
    let many = "#define I(n) __attribute__((constructor)) static void i##n(void) {}\n#define T(n) I(n##0) I(n##1) I(n##2) I(n##3)\nT(1) T(2)";
    bench.build("libinit.so", many, &["gcc", "-shared", "-fPIC"]);
    bench.build("filtered", FILTERED, &["gcc"]);
    let trace = bench.same(&[], &["./filtered"]);
    assert!(notes(&trace).contains("seccomp filter of its own"), "{}", notes(&trace));
    let options: Vec<&str> = FUNCTIONS.into_iter().chain(["--functions-of", "filtered"]).collect();
    bench.same(&options, &["./filtered"]);
}

/// A harmless filter, as containers have, and then the rest of the words.
const CONTAINER: &str = r#"
#include <unistd.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
int main(int count, char **words) {
  struct sock_filter f[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog p = {1, f};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p)) return 3;
  execv(words[1], words + 1); return 4;
}"#;

#[test]
fn a_filter_that_we_have_too_is_not_the_programs_own() {
    let bench = Bench::new();
    bench.build("container", CONTAINER, &["gcc"]);
    let words = [COLDSTART, "trace", "-o", "it.coldtrace", "--", "/bin/echo", "inside"];
    let output = bench.command("./container", &words).output().unwrap();
    assert_eq!((output.stdout, output.status.code()), (b"inside\n".to_vec(), Some(0)));
    assert!(!notes(&bench.read()).contains("of its own"), "{}", notes(&bench.read()));
}

const LISTENER: &str = include_str!("listener.c");

#[test]
fn who_wants_a_listener_of_its_own_is_told_of() {
    let bench = Bench::new();
    bench.build("listener", LISTENER, &["gcc"]);
    // The kernel allows one.
    let traced = bench.trace(&[], &["./listener"]);
    assert_eq!(text(&traced.stdout), format!("{}\n", rustix::io::Errno::BUSY.raw_os_error()));
    assert!(notes(&bench.read()).contains("leave `files` out of the layers"), "{}", notes(&bench.read()));
    let without = bench.same(&["--layers", "phases,pages"], &["./listener"]);
    assert!(!notes(&without).contains("leave `files`"), "{}", notes(&without));
}
