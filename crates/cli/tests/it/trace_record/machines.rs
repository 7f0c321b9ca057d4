//! Programs of other kinds than a dynamic glibc one, and what they do to their own files and memory.

use super::support::{Bench, lacks_breakpoints, notes, skip};

const HELLO: &str = "#include <stdio.h>\nint main(void){puts(\"hello\");return 4;}";

#[test]
fn all_ways_to_link() {
    let bench = Bench::new();
    let kinds: [&[&str]; 7] = [
        &["gcc", "-no-pie"],
        &["gcc", "-static"],
        &["gcc", "-static-pie"],
        &["musl-gcc"],
        &["musl-gcc", "-static"],
        &["i686-linux-gnu-gcc", "-static"],
        &["gcc", "-m32"],
    ];
    for words in kinds {
        if !bench.try_build("hello", HELLO, words) {
            // One of the two compilers for 32 bits is enough, and they cannot stand beside each other.
            if !words.contains(&"-m32") {
                skip(&format!("{words:?} does not compile here"));
            }
            continue;
        }
        let trace = bench.same(&[], &["./hello"]);
        assert!(trace.processes.len() == 1 && trace.run.ready_at.is_some(), "{words:?}: {}", notes(&trace));
        assert!(trace.events.iter().any(|event| event.file.is_some()), "{words:?}: {}", notes(&trace));
        std::fs::remove_file(bench.path().join("hello")).unwrap();
    }
}

#[test]
fn a_go_program() {
    let bench = Bench::new();
    let source = "package main\nimport (\"fmt\"; \"os\")\nfunc main() { c := make(chan int); for i := 0; i < 100; i++ { go func() { c <- 1 }() }; n := 0; for i := 0; i < 100; i++ { n += <-c }; fmt.Println(n); os.Exit(6) }\n";
    std::fs::write(bench.path().join("hello.go"), source).unwrap();
    let built = bench.command("go", &["build", "-o", "hello", "hello.go"]).env("GOFLAGS", "-mod=mod").output();
    if !built.is_ok_and(|built| built.status.success()) {
        // Not among the tools that tests may ask for.
        println!("skipped: there is no Go compiler");
        return;
    }
    bench.same(&[], &["./hello"]);
}

#[test]
fn a_program_of_another_machine() {
    let bench = Bench::new();
    let path = bench.build("native", HELLO, &["gcc"]);
    let mut bytes = std::fs::read(&path).unwrap();
    // `e_machine`: Alpha, which no emulator is registered for.
    bytes[18..20].copy_from_slice(&0x9026u16.to_le_bytes());
    std::fs::write(&path, bytes).unwrap();
    coldstart_testing::copy_program(&path, bench.path().join("foreign"));
    assert_eq!(bench.trace(&[], &["./foreign"]).status.code(), Some(2));
    // The shell says so, as it would without us.
    bench.same(&[], &["sh", "-c", "./foreign 2>/dev/null; echo $?"]);
}

const OWN_FILES: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int count, char **words) {
  unlink("./own"); rename("./other.so", "./libown.so"); unlink("/no/such");
  void *p = dlopen("./libown.so", RTLD_NOW); int (*work)(void) = dlsym(p, "work");
  unsigned char code[] = {0xb8, 9, 0, 0, 0, 0xc3};
  unsigned char *jit = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(jit, code, sizeof code); mprotect(jit, 4096, PROT_READ); mprotect(jit, 4096, PROT_READ | PROT_EXEC);
  printf("%d %d\n", work(), ((int (*)(void))jit)()); return 0;
}"#;

#[test]
fn it_may_delete_and_replace_its_files_and_make_code() {
    if lacks_breakpoints() {
        return;
    }
    let bench = Bench::new();
    bench.build("own", OWN_FILES, &["gcc"]);
    bench.build("libown.so", "int work(void){return 1;}", &["gcc", "-shared", "-fPIC"]);
    bench.build("other.so", "int work(void){return 2;}", &["gcc", "-shared", "-fPIC"]);
    let output = bench.trace(&[], &["./own"]);
    assert_eq!((output.stdout, output.status.code()), (b"2 9\n".to_vec(), Some(0)));
    assert!(bench.read().run.complete);
}

#[test]
fn somebody_without_rights() {
    if lacks_breakpoints() {
        return;
    }
    if !rustix::process::geteuid().is_root() || !coldstart_testing::is_there("setpriv") {
        return skip("needs root and setpriv");
    }
    let bench = Bench::new();
    std::fs::set_permissions(bench.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let words = ["--reuid", "65534", "--regid", "65534", "--clear-groups"];
    // It must be able to reach the tool itself.
    let tool = bench.path().join("coldstart");
    coldstart_testing::copy_program(super::support::COLDSTART, &tool);
    let tool = tool.to_str().unwrap();
    let mut all = words.to_vec();
    all.extend([tool, "trace", "-o", "it.coldtrace", "--", "/bin/sh", "-c", "echo nobody; exit 3"]);
    let output = bench.command("setpriv", &all).output().unwrap();
    assert_eq!(output.stdout, b"nobody\n", "{}", super::support::text(&output.stderr));
    assert_eq!(output.status.code(), Some(3));
    let trace = bench.read();
    assert!(trace.phases.iter().any(|phase| phase.kind == coldstart_profile::trace::PhaseKind::Relocation));
}

#[test]
fn rights_that_a_file_gives() {
    if !rustix::process::geteuid().is_root() || !coldstart_testing::is_there("setpriv") {
        return skip("needs root and setpriv");
    }
    let bench = Bench::new();
    std::fs::set_permissions(bench.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let source = "#include <stdio.h>\n#include <unistd.h>\nint main(void){printf(\"%d\\n\",geteuid());return 0;}";
    let program = bench.build("rights", source, &["gcc"]);
    let give = |owner: u32| {
        std::os::unix::fs::chown(&program, Some(owner), None).unwrap();
        std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o4755)).unwrap();
    };
    // Root may watch whom it likes, and the file's rights are given.
    give(65534);
    bench.same(&[], &["./rights"]);
    std::fs::remove_file(bench.path().join("it.coldtrace")).unwrap();
    // Nobody else may, and the trace says what was different.
    give(0);
    let tool = bench.path().join("coldstart");
    coldstart_testing::copy_program(super::support::COLDSTART, &tool);
    let mut words = vec!["--reuid", "65534", "--regid", "65534", "--clear-groups", tool.to_str().unwrap()];
    words.extend(["trace", "-o", "it.coldtrace", "--", "./rights"]);
    let output = bench.command("setpriv", &words).output().unwrap();
    assert_eq!(output.stdout, b"65534\n");
    assert!(notes(&bench.read()).contains("setuid"), "{}", notes(&bench.read()));
    // Also where the kernel's records are for root only, as with Debian's kernels.
    std::fs::remove_file(bench.path().join("it.coldtrace")).unwrap();
    let deny = bench.build("deny", DENY_RECORDS, &["gcc"]);
    words.insert(0, "setpriv");
    let output = bench.command(deny.to_str().unwrap(), &words).output().unwrap();
    assert_eq!(output.stdout, b"65534\n");
    let notes = notes(&bench.read());
    assert!(notes.contains("setuid") && notes.contains("Page touches and mappings are not recorded"), "{notes}");
}

/// Runs a program that may not use `perf_event_open`.
const DENY_RECORDS: &str = r#"
#include <errno.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
int main(int count, char **words) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof filter / sizeof *filter, filter };
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0)
        execvp(words[1], words + 1);
    return 1;
}
"#;
