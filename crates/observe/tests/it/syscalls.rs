//! Counted system calls, against strace and against programs that make a known number of them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use coldstart_host::process::ProcessFiles;
use coldstart_launch::{CommandLine, LaunchError, Output};
use coldstart_observe::syscalls::{
    CountOptions, Ended, LibraryProbe, SyscallCounts, SyscallsError, TracingObstacle, Until, count_syscalls,
};
use coldstart_testing::{compile, copy_this_program, script, skip};

fn limited(until: Until) -> CountOptions {
    // Cargo's own search path would make each program's loader search there first.
    let environment = vec![("LD_LIBRARY_PATH".into(), None)];
    CountOptions { until, time_limit: Some(Duration::from_secs(120)), environment, ..CountOptions::default() }
}

fn count(program: &Path, arguments: &[&str], until: Until) -> SyscallCounts {
    count_syscalls(&CommandLine::new(program, arguments), &limited(until)).unwrap()
}

fn shell(script: &str, until: Until) -> SyscallCounts {
    count(Path::new("/bin/sh"), &["-c", script], until)
}

fn build(folder: &Path, name: &str, source: &str, flags: &[&str]) -> PathBuf {
    compile("gcc", &folder.join(name), source, &[&["-O1"], flags].concat())
}

/// Calls and errors by name as `strace -f -c` counts them.
fn strace(folder: &Path, program: &Path, arguments: &[&str]) -> Option<BTreeMap<String, (u64, u64)>> {
    let table = folder.join("strace.txt");
    let run = Command::new("strace")
        .env_remove("LD_LIBRARY_PATH")
        .args(["-f", "-c", "-U", "calls,errors,name", "-o"])
        .arg(&table)
        .arg(program)
        .args(arguments)
        .output();
    if run.is_err() {
        skip("strace is not installed");
        return None;
    }
    let text = fs::read_to_string(&table).unwrap();
    let mut calls = BTreeMap::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let Some(count) = words.first().and_then(|count| count.parse().ok()) else { continue };
        let failed = if words.len() == 3 { words[1].parse().unwrap() } else { 0 };
        calls.insert((*words.last().unwrap()).to_owned(), (count, failed));
    }
    assert!(calls.remove("total").is_some(), "{text}");
    Some(calls)
}

/// In strace's way: without calls that did not return.
fn as_strace(counts: &SyscallCounts) -> BTreeMap<String, (u64, u64)> {
    let returned =
        counts.tree.iter().map(|(name, count)| (name.to_string(), (count.calls - count.unfinished, count.failed)));
    returned.filter(|(_, (calls, _))| *calls > 0).collect()
}

#[test]
#[cfg(target_arch = "x86_64")]
fn each_call_of_a_program_without_a_library_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let program =
        build(folder.path(), "raw", include_str!("syscalls/raw.c"), &["-nostdlib", "-static", "-fno-stack-protector"]);
    let counts = count(&program, &[], Until::Exit);
    assert_eq!((counts.ended, counts.status.unwrap().code()), (Ended::TreeGone, Some(42)));
    let table: Vec<_> = counts
        .tree
        .iter()
        .map(|(name, count)| (name.to_string(), count.calls, count.failed, count.unfinished))
        .collect();
    let wanted = [
        ("access", 1, 1, 0),
        ("close", 7, 7, 0),
        ("execve", 1, 0, 0),
        ("exit", 1, 0, 1),
        ("getpid", 1000, 0, 0),
        ("newfstatat", 2, 2, 0),
        ("open", 5, 5, 0),
        ("openat", 1, 1, 0),
        ("call 5000", 1, 1, 0),
    ];
    assert_eq!(table, wanted.map(|(name, calls, failed, unfinished)| (name.to_owned(), calls, failed, unfinished)));
    assert_eq!(counts.first_process, counts.tree);
    let total = counts.tree.total();
    assert_eq!((total.calls, total.failed, total.unfinished), (1019, 17, 1));
    assert_eq!((counts.processes, counts.threads, counts.programs), (1, 1, 1));

    let names: Vec<_> = counts
        .failed_names
        .iter()
        .map(|failed| (failed.name.as_ref().map(|name| name.to_str().unwrap()), failed.errno, failed.probe))
        .collect();
    let none = (Some("/no/such/file"), 2, None);
    let library = (Some("lib/libnone.so.1"), 2, Some(LibraryProbe::Library));
    let directory = (Some("lib"), 2, Some(LibraryProbe::Directory));
    assert_eq!(names, [none, none, none, none, none, library, directory, (Some("lib"), 2, None), (None, 14, None)]);
    assert_eq!(counts.library_probes().count(), 2);

    let options = CountOptions { most_failed_names: 2, ..limited(Until::Exit) };
    let counts = count_syscalls(&CommandLine::new(&program, [""; 0]), &options).unwrap();
    assert_eq!((counts.failed_names.len(), counts.failed_names_left_out), (2, 7));

    let counts = count(&program, &[], Until::AfterLoader);
    assert_eq!((counts.ended, counts.tree.total().calls), (Ended::LoaderDone, 1), "no loader: execve alone");
}

const TREE: &str = include_str!("syscalls/tree.c");

#[test]
fn strace_counts_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let program = build(folder.path(), "tree", TREE, &["-pthread"]);
    let counts = count(&program, &[], Until::Exit);
    assert_eq!(counts.status.unwrap().code(), Some(7));
    assert_eq!((counts.processes, counts.threads, counts.programs), (6, 9, 3));
    assert_eq!(counts.tree.get("access").failed, 30 + 3, "and one for the loader's preload file in each program");
    let probes: Vec<_> = counts.library_probes().collect();
    assert_eq!(probes.len(), 80);
    assert!(
        probes
            .iter()
            .all(|probe| !probe.in_first_process && probe.name.as_deref() == Some("/no/such/libnone.so.3".as_ref()))
    );
    assert_eq!(counts.first_process.get("openat").failed, 0);
    let Some(theirs) = strace(folder.path(), &program, &[]) else { return };
    // A thread that is waited for may end before or after the waiting begins.
    let steady = |mut calls: BTreeMap<String, (u64, u64)>| {
        calls.retain(|name, _| name != "futex" && name != "madvise");
        calls
    };
    assert_eq!(steady(as_strace(&counts)), steady(theirs));
}

#[test]
fn strace_counts_the_same_for_the_system_s_programs() {
    let folder = tempfile::tempdir().unwrap();
    for (program, arguments) in
        [("/bin/true", &[] as &[&str]), ("/bin/sh", &["-c", "/bin/ls / | /bin/cat >/dev/null; (exit 3)"])]
    {
        let counts = count(Path::new(program), arguments, Until::Exit);
        let Some(theirs) = strace(folder.path(), Path::new(program), arguments) else { return };
        // How often a pipe is read depends on who is first.
        let steady = |mut calls: BTreeMap<String, (u64, u64)>| {
            calls.retain(|name, _| !["read", "write", "wait4", "rt_sigreturn"].contains(&name.as_str()));
            calls
        };
        assert_eq!(steady(as_strace(&counts)), steady(theirs), "{program}");
    }
}

#[test]
fn the_loader_s_share_ends_before_main() {
    let folder = tempfile::tempdir().unwrap();
    let source = r#"
#include <stdio.h>
#include <unistd.h>
__attribute__((constructor)) static void before(void) { for (int i = 0; i < 100; i++) getppid(); }
int main(void) { for (int i = 0; i < 50; i++) getpgrp(); puts("main"); return 3; }
"#;
    let library = build(
        folder.path(),
        "libearly.so",
        "#include <unistd.h>\n__attribute__((constructor)) static void early(void) { for (int i = 0; i < 11; i++) getpgid(0); }\n",
        &["-shared", "-fPIC"],
    );
    let runpath = format!("-Wl,-rpath,/no/such/folder:{}", folder.path().display());
    let program = build(folder.path(), "main", source, &["-Wl,--no-as-needed", library.to_str().unwrap(), &runpath]);
    let loader = count(&program, &[], Until::AfterLoader);
    assert_eq!((loader.ended, loader.status), (Ended::LoaderDone, None));
    assert_eq!(loader.tree.get("getpgid").calls, 11, "libraries are initialised by the loader");
    assert_eq!(loader.tree.get("getppid").calls, 0, "the program's own initialisers run after its entry point");
    let all = count(&program, &[], Until::Exit);
    assert_eq!((all.ended, all.status.unwrap().code()), (Ended::TreeGone, Some(3)));
    assert_eq!((all.tree.get("getppid").calls, all.tree.get("getpgrp").calls), (100, 50));
    assert!(all.tree.total().calls > loader.tree.total().calls + 150);
    assert_eq!(all.failed_names, {
        let mut names = loader.failed_names.clone();
        names.iter_mut().for_each(|name| name.process = all.failed_names[0].process);
        names
    });
    // Only the loader made failing calls: one for the preload file, the rest searches in a folder that is not there.
    let directories = all.failed_names.iter().filter(|failed| failed.probe == Some(LibraryProbe::Directory)).count();
    let libraries = all.failed_names.iter().filter(|failed| failed.probe == Some(LibraryProbe::Library)).count();
    assert!(directories >= 4 && libraries >= directories, "{directories} {libraries}");
    for failed in all.failed_names.iter().filter(|failed| failed.probe.is_none()) {
        assert_eq!(failed.name.as_deref(), Some("/etc/ld.so.preload".as_ref()));
    }
}

#[test]
fn programs_end_as_they_would_alone() {
    let folder = tempfile::tempdir().unwrap();
    let crash = shell("kill -SEGV $$", Until::Exit);
    assert_eq!(crash.status.unwrap().signal(), Some(11));
    let trap = shell("kill -TRAP $$", Until::AfterLoader);
    assert_eq!(trap.ended, Ended::LoaderDone);
    let trap = shell("kill -TRAP $$", Until::Exit);
    assert_eq!(trap.status.unwrap().signal(), Some(5));
    let file = folder.path().join("said");
    let options = CountOptions { output: Output::File(file.clone()), ..limited(Until::Exit) };
    let script = "trap 'echo caught' USR1; kill -USR1 $$; echo $VARIABLE; pwd; (kill -STOP $(exec sh -c 'echo $PPID')) & while sleep 0.2; kill -CONT $! 2>/dev/null; do :; done; wait $!; echo $?";
    let options = CountOptions {
        environment: vec![("VARIABLE".into(), Some("value".into()))],
        working_directory: Some(folder.path().canonicalize().unwrap()),
        ..options
    };
    let counts = count_syscalls(&CommandLine::new("sh", ["-c", script]), &options).unwrap();
    let said = fs::read_to_string(file).unwrap();
    assert_eq!(said, format!("caught\nvalue\n{}\n0\n", folder.path().canonicalize().unwrap().display()));
    assert!(counts.status.unwrap().success() && counts.program.ends_with("sh"));
}

#[test]
fn a_process_that_execs_from_another_thread_stays_the_first_one() {
    let source = r#"
#include <pthread.h>
#include <unistd.h>
static void *thread(void *unused) { execl("/bin/sh", "sh", "-c", "cd /no/such/folder; exit 9", NULL); return unused; }
int main(void) { pthread_t id; pthread_create(&id, NULL, thread, NULL); pause(); return 1; }
"#;
    let folder = tempfile::tempdir().unwrap();
    let program = build(folder.path(), "exec", source, &["-pthread"]);
    for until in [Until::Exit, Until::FirstProcessExit] {
        let counts = count(&program, &[], until);
        assert_eq!(counts.status.unwrap().code(), Some(9));
        assert_eq!((counts.processes, counts.threads, counts.programs), (1, 2, 2));
        assert_eq!(counts.first_process, counts.tree);
        assert_eq!((counts.tree.get("execve").calls, counts.tree.get("execve").unfinished), (2, 0));
        assert_eq!(counts.first_process.get("chdir").failed, 1);
    }
}

#[test]
fn what_the_first_process_leaves_behind_is_waited_for_or_killed() {
    let script = "(sleep 0.3; cd /no/such/folder; exit 0) & exit 4";
    let all = shell(script, Until::Exit);
    assert_eq!((all.ended, all.status.unwrap().code(), all.tree.get("chdir").failed), (Ended::TreeGone, Some(4), 1));
    assert_eq!(all.first_process.get("chdir").calls, 0);
    let folder = tempfile::tempdir().unwrap();
    let sign = folder.path().join("sign");
    let first = shell(&format!("(sleep 1000; echo > {}) & exit 4", sign.display()), Until::FirstProcessExit);
    assert_eq!((first.ended, first.status.unwrap().code()), (Ended::FirstProcessGone, Some(4)));
    assert!(!sign.exists());
}

#[test]
fn a_program_that_never_ends_is_killed_with_all_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let numbers = folder.path().join("numbers");
    let script = format!(
        "for i in 1 2 3; do setsid sleep 1000 & echo $! >> {0}; done; echo $$ >> {0}; cd /no/such/folder; wait",
        numbers.display()
    );
    // All of the limit passes. The first is enough on most machines to start all, and one that stands still needs the second.
    let mut starts = [5, 60].into_iter().map(|seconds| {
        fs::write(&numbers, "").unwrap();
        let options = CountOptions { time_limit: Some(Duration::from_secs(seconds)), ..CountOptions::default() };
        let counts = count_syscalls(&CommandLine::new("sh", ["-c", &script]), &options).unwrap();
        assert_eq!((counts.ended, counts.status), (Ended::TimedOut, None));
        fs::read_to_string(&numbers).unwrap()
    });
    let started = starts.find(|started| started.lines().count() == 4).expect("all four are started");
    for number in started.lines() {
        // Whoever is the parent now may not have reaped it yet.
        let stat = ProcessFiles::of(number.parse().unwrap()).stat();
        assert!(stat.is_none_or(|stat| stat.first_thread_has_ended()), "{stat:?}");
    }
}

#[test]
fn a_limit_that_is_over_before_the_program_begins_is_a_result() {
    let options = CountOptions { time_limit: Some(Duration::from_nanos(1)), ..CountOptions::default() };
    for until in [Until::Exit, Until::AfterLoader] {
        let options = CountOptions { until, ..options.clone() };
        let counts = count_syscalls(&CommandLine::new("sleep", ["1000"]), &options).unwrap();
        assert_eq!((counts.ended, counts.status, counts.programs), (Ended::TimedOut, None, 0));
    }
}

#[test]
fn what_cannot_be_executed_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &[u8], mode: u32| script(folder.path(), name, content, mode);
    let refused = |program: &Path| match count_syscalls(&CommandLine::new(program, [""; 0]), &limited(Until::Exit)) {
        Err(SyscallsError::Launch(error)) => error,
        other => panic!("{other:?}"),
    };
    assert!(matches!(refused(Path::new("no-such-program-anywhere")), LaunchError::NotFound { .. }));
    assert!(matches!(refused(&write("data", b"text", 0o644)), LaunchError::NotExecutable { .. }));
    assert!(matches!(refused(&write("text", b"echo a\n", 0o755)), LaunchError::UnknownFormat { is_text: true, .. }));
    let mut foreign = fs::read("/bin/true").unwrap();
    foreign[18] = 0xfe; // e_machine
    assert!(matches!(refused(&write("foreign", &foreign, 0o755)), LaunchError::UnknownFormat { is_text: false, .. }));
    let error = refused(&write("script", b"#!/no/such/interpreter\n", 0o755));
    assert!(
        matches!(&error, LaunchError::Spawn { source, .. } if source.kind() == std::io::ErrorKind::NotFound),
        "{error:?}"
    );
    let options = CountOptions { working_directory: Some("/no/such/folder".into()), ..CountOptions::default() };
    let error = count_syscalls(&CommandLine::new("/bin/true", [""; 0]), &options).unwrap_err();
    assert!(matches!(error, SyscallsError::Launch(LaunchError::WorkingDirectory { .. })), "{error:?}");
}

#[test]
fn many_countings_may_run_side_by_side() {
    std::thread::scope(|scope| {
        let counting: Vec<_> =
            (0..4).map(|_| scope.spawn(|| shell("for i in 1 2 3 4 5; do /bin/true; done", Until::Exit))).collect();
        let counts: Vec<_> = counting.into_iter().map(|counting| counting.join().unwrap()).collect();
        for count in &counts {
            assert_eq!((count.programs, count.processes, count.tree.get("execve").calls), (6, 6, 6));
        }
    });
}

/// Run by [`tracing_that_is_forbidden_is_explained`] under another tracer.
#[test]
fn says_whether_it_may_trace() {
    let Some(answer) = std::env::var_os("COLDSTART_TEST_ANSWER") else { return };
    let outcome = count_syscalls(&CommandLine::new("/bin/true", [""; 0]), &limited(Until::Exit));
    let text = match &outcome {
        Err(error @ SyscallsError::Forbidden { obstacle: TracingObstacle::AlreadyTraced { .. }, .. }) => {
            format!("{error}; {}", error.hint().unwrap())
        }
        other => format!("{other:?}"),
    };
    fs::write(answer, text).unwrap();
}

#[test]
fn tracing_that_is_forbidden_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    let answer = folder.path().join("answer");
    let run = Command::new("strace")
        .args(["-f", "-o", "/dev/null"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "syscalls::says_whether_it_may_trace"])
        .env("COLDSTART_TEST_ANSWER", &answer)
        .output();
    if run.is_err() {
        return skip("strace is not installed");
    }
    let answer = fs::read_to_string(answer).unwrap();
    assert!(answer.contains("already traces it; run this outside of"), "{answer}");
}

/// Run by [`programs_that_lose_their_rights_are_named`] as an ordinary user.
#[test]
fn says_who_lost_rights() {
    let Some(program) = std::env::var_os("COLDSTART_TEST_SET_USER_ID") else { return };
    let counts = count_syscalls(&CommandLine::new(&program, [""; 0]), &limited(Until::Exit)).unwrap();
    println!("lost: {:?} {:?}", counts.without_their_rights, counts.status.unwrap().code());
}

#[test]
fn programs_that_lose_their_rights_are_named() {
    if !rustix::process::geteuid().is_root() {
        return skip("only root can make a set-user-ID program");
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program =
        build(folder.path(), "who", "#include <unistd.h>\nint main(void) { return geteuid() == 0 ? 10 : 20; }\n", &[]);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).unwrap();
    // As root nothing is lost.
    let counts = count(&program, &[], Until::Exit);
    assert_eq!((counts.without_their_rights, counts.status.unwrap().code()), (Vec::new(), Some(10)));
    let us = folder.path().join("us");
    copy_this_program(&us);
    let run = Command::new(&us)
        .args(["--exact", "syscalls::says_who_lost_rights", "--nocapture"])
        .current_dir("/")
        .env("COLDSTART_TEST_SET_USER_ID", &program)
        .uid(65534)
        .gid(65534)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(
        said.contains(&format!("lost: [{:?}] Some(20)", program.canonicalize().unwrap())),
        "{said}{}",
        String::from_utf8_lossy(&run.stderr)
    );
}
