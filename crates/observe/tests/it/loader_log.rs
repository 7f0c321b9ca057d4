//! The loader's log, against programs whose libraries are known and against the system calls that the loader makes.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use coldstart_launch::{CommandLine, End, LaunchOptions};
use coldstart_observe::loader_log::{
    Initialiser, LoaderLog, LoaderLogError, LoaderLogMode, NoLog, compare, loader_log, parse, relocation_cycles,
};
use coldstart_observe::syscalls::{CountOptions, LibraryProbe, Until, count_syscalls};
use coldstart_testing::{copy_this_program, skip};
use proptest::prelude::*;

/// Cargo's own search path would make each program's loader search there first.
fn options() -> LaunchOptions {
    LaunchOptions {
        time_limit: Some(Duration::from_secs(120)),
        environment: vec![("LD_LIBRARY_PATH".into(), None)],
        ..LaunchOptions::default()
    }
}

fn log(program: &Path, mode: LoaderLogMode) -> Result<LoaderLog, LoaderLogError> {
    loader_log(&CommandLine::new(program, [""; 0]), &options(), mode)
}

fn gcc(compiler: &str, folder: &Path, name: &str, source: &str, flags: &[&str]) -> Option<PathBuf> {
    let target = folder.join(name);
    fs::create_dir_all(target.parent().unwrap()).unwrap();
    let file = target.with_extension("c");
    fs::write(&file, source).unwrap();
    let output = Command::new(compiler).arg("-o").arg(&target).arg(&file).args(flags).output().ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(target)
}

/// A program that needs `liba` and `libb`, of which the first needs `libc1`; it opens `libd`, which needs `libe`, `libb` by another
/// path, a library that is nowhere and one by a path that leads nowhere.
fn scene(folder: &Path) -> PathBuf {
    let f = |name: &str| folder.join(name).display().to_string();
    let library = |name: &str, flags: &[&str]| {
        let source = "static int ran; __attribute__((constructor)) static void run(void) { ran = 1; }\n";
        let soname = format!("-Wl,-soname,{}", Path::new(name).file_name().unwrap().to_str().unwrap());
        gcc("gcc", folder, name, source, &[&["-shared", "-fPIC", "-Wl,--no-as-needed", &soname], flags].concat())
            .unwrap();
    };
    library("three/libc1.so", &[]);
    library("one/liba.so", &[&f("three/libc1.so"), &format!("-Wl,-rpath,{}:{}", f("nowhere"), f("three"))]);
    library("two/libb.so", &[]);
    library("later/libe.so", &[]);
    library("later/libd.so", &[&f("later/libe.so"), &format!("-Wl,-rpath,{}:{}", f("one"), f("later"))]);
    symlink(folder.join("two/libb.so"), folder.join("later/libb-alias.so")).unwrap();
    let source = format!(
        r#"
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((constructor)) static void run(void) {{ setenv("RAN", "1", 1); }}
int main(int count, char **arguments) {{
    dlopen("{later}/libd.so", RTLD_NOW);
    dlopen("{later}/libb-alias.so", RTLD_NOW);
    dlopen("libnowhere.so.7", RTLD_NOW);
    dlopen("{later}/libnone.so", RTLD_NOW);
    if (fork() == 0) {{ dlopen("libm.so.6", RTLD_NOW); _exit(0); }}
    wait(NULL);
    close(open("{sign}", O_CREAT | O_WRONLY, 0600));
    if (getenv("AGAIN")) {{ unsetenv("AGAIN"); execv(arguments[0], arguments); }}
    if (getenv("OTHER")) execl("/bin/ls", "ls", "/", NULL);
    return 5;
}}
"#,
        later = f("later"),
        sign = f("sign")
    );
    let runpath = format!("-Wl,-rpath,{}:{}:{}", f("nowhere"), f("one"), f("two"));
    let flags = [
        "-Wl,--no-as-needed",
        &f("one/liba.so"),
        &f("two/libb.so"),
        &format!("-Wl,-rpath-link,{}", f("three")),
        &runpath,
    ];
    gcc("gcc", folder, "program", &source, &flags).unwrap()
}

fn names(paths: &[impl AsRef<Path>]) -> Vec<String> {
    paths.iter().map(|path| path.as_ref().file_name().unwrap_or_default().to_string_lossy().into_owned()).collect()
}

fn mapped(objects: &[coldstart_observe::loader_log::MappedObject]) -> Vec<String> {
    names(&objects.iter().map(|object| object.path.clone()).collect::<Vec<_>>())
}

#[test]
fn what_the_loader_did_is_told_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let program = scene(folder.path());
    let log = log(&program, LoaderLogMode::Run).unwrap();
    assert_eq!(log.end, Some(End::Exited(5)));
    assert_eq!(log.program.as_ref(), Some(&program));
    assert_eq!(mapped(&log.objects), ["liba.so", "libb.so", "libc.so.6", "libc1.so"]);
    assert_eq!(log.objects[0].path, folder.path().join("one/liba.so"));
    assert_eq!(log.objects[0].requester.as_ref(), Some(&program));
    assert_eq!(log.objects[3].requester.as_ref(), Some(&folder.path().join("one/liba.so")));
    assert_eq!(mapped(&log.opened_later), ["libd.so", "libe.so"], "not what a forked process opens");
    assert_eq!(log.opened_later[0].name, folder.path().join("later/libd.so").as_os_str());

    let libraries: Vec<_> = log.initialisers.iter().map(|initialiser| initialiser.path().to_owned()).collect();
    let libraries = names(&libraries);
    assert_eq!(libraries.last().map(String::as_str), Some("program"));
    assert!(matches!(log.initialisers.last(), Some(Initialiser::Program(_))));
    let place = |name: &str| libraries.iter().position(|library| library == name).unwrap();
    assert!(place("libc.so.6") < place("libc1.so") && place("libc1.so") < place("liba.so"), "{libraries:?}");
    assert_eq!(
        log.initialisers_later.iter().map(|one| names(&[one.path()]).remove(0)).collect::<Vec<_>>(),
        ["libe.so", "libd.so"]
    );

    let missing: Vec<_> = log.missing.iter().map(|missing| (missing.name.clone(), missing.later)).collect();
    assert_eq!(missing, [("libnowhere.so.7".into(), true), (folder.path().join("later/libnone.so").into(), true)]);
    let statistics = log.statistics.unwrap();
    assert!(statistics.relocation_cycles.unwrap() > 0 && statistics.relocation_cycles < statistics.total_cycles);
    assert!(statistics.relocations.unwrap() > 0 && statistics.relative_relocations.unwrap() > 0);
    assert!(!log.became_another_program && !log.incomplete);
}

#[test]
fn failed_probes_are_the_calls_that_fail() {
    let folder = tempfile::tempdir().unwrap();
    let program = scene(folder.path());
    let log = log(&program, LoaderLogMode::Run).unwrap();
    let options = CountOptions {
        environment: options().environment,
        time_limit: options().time_limit,
        ..CountOptions::default()
    };
    let counts = count_syscalls(&CommandLine::new(&program, [""; 0]), &options).unwrap();
    let calls: Vec<PathBuf> = counts
        .library_probes()
        .filter(|failed| failed.in_first_process && failed.probe == Some(LibraryProbe::Library))
        .map(|failed| failed.name.clone().unwrap().into())
        .collect();
    let probes: Vec<PathBuf> = log.failed_probes.iter().map(|probe| probe.path.clone()).collect();
    assert_eq!(probes, calls);
    let early = CountOptions { until: Until::AfterLoader, ..options };
    let counts = count_syscalls(&CommandLine::new(&program, [""; 0]), &early).unwrap();
    let calls = counts.library_probes().filter(|failed| failed.probe == Some(LibraryProbe::Library)).count();
    assert_eq!(log.failed_probes.iter().filter(|probe| !probe.later).count(), calls);
    assert!(calls > 4);
}

#[test]
fn only_the_first_program_of_a_process_counts() {
    let folder = tempfile::tempdir().unwrap();
    let program = scene(folder.path());
    let once = log(&program, LoaderLogMode::Run).unwrap();
    for variable in ["AGAIN", "OTHER"] {
        let mut options = options();
        options.environment.push((variable.into(), Some("1".into())));
        let log = loader_log(&CommandLine::new(&program, [""; 0]), &options, LoaderLogMode::Run).unwrap();
        assert!(log.became_another_program, "{variable}");
        assert_eq!(mapped(&log.opened_later), ["libd.so", "libe.so"], "{variable}");
        assert!(compare(&once, &log, |_, _| false).is_same(), "{variable}");
        assert_eq!(log.end, Some(if variable == "AGAIN" { End::Exited(5) } else { End::Exited(0) }));
    }
}

#[test]
fn a_listing_runs_nothing_of_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let program = scene(folder.path());
    let listed = log(&program, LoaderLogMode::List).unwrap();
    assert!(!folder.path().join("sign").exists());
    assert_eq!(
        (listed.statistics, &listed.program, listed.initialisers.len(), listed.opened_later.len()),
        (None, &None, 0, 0)
    );
    let run = log(&program, LoaderLogMode::Run).unwrap();
    assert!(folder.path().join("sign").exists());
    assert_eq!(compare(&run, &listed, |_, _| false).objects, None);
    let probes: Vec<_> = run.failed_probes.iter().filter(|probe| !probe.later).cloned().collect();
    assert_eq!(listed.failed_probes, probes);
    // A script is listed as its interpreter.
    let script = folder.path().join("script");
    fs::write(&script, format!("#!/bin/sh\necho > {}\n", folder.path().join("other sign").display())).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(!log(&script, LoaderLogMode::List).unwrap().objects.is_empty());
    assert!(!folder.path().join("other sign").exists());
}

#[test]
fn a_needed_library_that_is_nowhere_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let program = scene(folder.path());
    fs::remove_file(folder.path().join("three/libc1.so")).unwrap();
    let broken = log(&program, LoaderLogMode::Run).unwrap();
    assert_eq!((broken.end, &broken.program), (Some(End::Exited(127)), &None));
    assert_eq!(mapped(&broken.objects), ["liba.so", "libb.so", "libc.so.6"]);
    assert_eq!(
        broken.missing.iter().map(|missing| (missing.name.to_str().unwrap(), missing.later)).collect::<Vec<_>>(),
        [("libc1.so", false)]
    );
    match relocation_cycles(&CommandLine::new(&program, [""; 0]), &options(), 2) {
        Err(
            LoaderLogError::NoLog { reason: NoLog::NotWritten, .. }
            | LoaderLogError::NoStatistics { got_control: false, .. },
        ) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_same_files_under_other_names_are_the_same_start() {
    let folder = tempfile::tempdir().unwrap();
    let program = scene(folder.path());
    let before = log(&program, LoaderLogMode::Run).unwrap();
    let farm = folder.path().join("farm");
    fs::create_dir(&farm).unwrap();
    for library in ["one/liba.so", "two/libb.so", "three/libc1.so"] {
        symlink(folder.path().join(library), farm.join(Path::new(library).file_name().unwrap())).unwrap();
    }
    let mut elsewhere = options();
    elsewhere.environment = vec![("LD_LIBRARY_PATH".into(), Some(farm.into()))];
    let after = loader_log(&CommandLine::new(&program, [""; 0]), &elsewhere, LoaderLogMode::Run).unwrap();
    let same_file = |one: &Path, other: &Path| match (fs::metadata(one), fs::metadata(other)) {
        (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        _ => false,
    };
    let difference = compare(&before, &after, same_file);
    assert!(difference.is_same(), "{difference:?}");
    assert!(difference.failed_probes_before != difference.failed_probes_after);
    let difference = compare(&before, &after, |_, _| false);
    assert_eq!(difference.objects.map(|parting| parting.place), Some(0));
}

#[test]
fn relocation_is_timed_as_often_as_asked() {
    let cycles = relocation_cycles(&CommandLine::new("/bin/sh", ["-c", "exit 3"]), &options(), 4).unwrap();
    assert!(cycles.len() == 4 && cycles.iter().all(|cycles| *cycles > 0), "{cycles:?}");
    assert_eq!(relocation_cycles(&CommandLine::new("/bin/sh", ["-c", ""]), &options(), 0).unwrap(), []);
}

#[test]
fn programs_without_a_log_are_refused_by_reason() {
    let folder = tempfile::tempdir().unwrap();
    let source = format!(
        "#include <fcntl.h>\nint main(void) {{ return open(\"{}\", O_CREAT | O_WRONLY, 0600) < 0; }}\n",
        folder.path().join("sign").display()
    );
    let fixed = gcc("gcc", folder.path(), "fixed", &source, &["-static"]).unwrap();
    let musl = gcc("musl-gcc", folder.path(), "musl", &source, &[]);
    let mut cases = vec![(fixed, NoLog::Static)];
    match musl {
        Some(musl) => cases.push((musl, NoLog::Musl)),
        None => skip("musl-gcc is not installed"),
    }
    for (program, reason) in cases {
        for mode in [LoaderLogMode::List, LoaderLogMode::Run] {
            match log(&program, mode) {
                Err(error @ LoaderLogError::NoLog { .. }) => {
                    assert!(matches!(&error, LoaderLogError::NoLog { reason: this, .. } if *this == reason), "{error}");
                    assert!(error.hint().is_some());
                }
                other => panic!("{other:?}"),
            }
            let sign = folder.path().join("sign");
            assert_eq!(sign.exists(), mode == LoaderLogMode::Run, "a listing must not run it");
            let _ = fs::remove_file(sign);
        }
    }
    let nothing = loader_log(&CommandLine::new("no-such-program-anywhere", [""; 0]), &options(), LoaderLogMode::Run);
    assert!(matches!(nothing, Err(LoaderLogError::Launch(_))));
}

/// Run by [`set_user_id_programs_are_refused`] as an ordinary user.
#[test]
fn says_why_there_is_no_log() {
    let Some(program) = std::env::var_os("COLDSTART_TEST_SET_USER_ID") else { return };
    println!("said: {:?}", log(Path::new(&program), LoaderLogMode::Run).map_err(|error| error.to_string()));
}

#[test]
fn set_user_id_programs_are_refused() {
    if !rustix::process::geteuid().is_root() {
        return skip("only root can make a set-user-ID program");
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = gcc("gcc", folder.path(), "who", "int main(void) { return 0; }\n", &[]).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).unwrap();
    let us = folder.path().join("us");
    copy_this_program(&us);
    let run = Command::new(&us)
        .args(["--exact", "loader_log::says_why_there_is_no_log", "--nocapture"])
        .current_dir("/")
        .env("COLDSTART_TEST_SET_USER_ID", &program)
        .env_remove("TMPDIR")
        .uid(65534)
        .gid(65534)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(said.contains("runs with other privileges than its caller's"), "{said}");
}

/// Pieces of real lines, so that generated logs go deep.
const PIECES: &[&str] = &[
    "17:\t",
    "file=",
    "liba.so",
    " [0]",
    ";  needed by ",
    ";  dynamically loaded by ",
    ";  generating link map",
    "find library=",
    "; searching",
    "  trying file=",
    "/x/liba.so",
    "calling init: ",
    "initialize program: ",
    "transferring control: ",
    "runtime linker statistics:",
    "  total startup time in dynamic loader: ",
    "18446744073709551616",
    "42 cycles",
    "\n",
    "\n17:\t",
    "\n18:\t",
    "[",
    "]",
    "\u{0}",
    ":",
];

proptest! {
    #[test]
    fn any_pieces_are_a_log(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..120), answer: bool) {
        let text = pieces.concat();
        let log = parse(text.as_bytes(), 17, &|_| answer);
        prop_assert!(log.failed_probes.len() <= text.lines().count());
    }

    #[test]
    fn any_bytes_are_a_log(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = parse(&bytes, 17, &|_| false);
    }

    #[test]
    fn a_log_cut_anywhere_is_a_log(end in 0..2000usize) {
        let whole = "17:\tfile=liba.so [0];  needed by ./p [0]\n17:\tfind library=liba.so [0]; searching\n17:\t  trying file=/x/liba.so\n17:\t  trying file=/y/liba.so\n17:\t\n17:\tfile=liba.so [0];  generating link map\n17:\truntime linker statistics:\n17:\t  total startup time in dynamic loader: 9 cycles\n17:\tcalling init: /y/liba.so\n17:\tinitialize program: ./p\n17:\ttransferring control: ./p\n";
        let cut = &whole[..end.min(whole.len())];
        let log = parse(cut.as_bytes(), 17, &|_| false);
        prop_assert!(log.objects.len() <= 1 && log.failed_probes.len() <= 2);
        if cut.len() == whole.len() {
            prop_assert_eq!(log.objects[0].path.as_path(), Path::new("/y/liba.so"));
            prop_assert_eq!(log.failed_probes.len(), 1);
        }
    }
}

#[test]
fn what_audits_is_no_part_of_the_programs_start() {
    let text = "7:\tfile=/p/audit.so [1];  generating link map\n7:\tcalling init: /p/audit.so\n\
        7:\tfile=liba.so [0];  needed by ./p [0]\n7:\tfile=/a/liba.so [0];  generating link map\n\
        7:\tcalling init: /a/liba.so\n7:\tinitialize program: ./p\n7:\ttransferring control: ./p\n";
    let log = parse(text.as_bytes(), 7, &|_| true);
    let namespaces: Vec<u64> = log.objects.iter().map(|object| object.namespace).collect();
    assert_eq!(namespaces, [1, 0]);
    assert_eq!(
        log.initialisers.iter().map(Initialiser::path).collect::<Vec<_>>(),
        [Path::new("/a/liba.so"), Path::new("./p")]
    );
    assert!(log.opened_later.is_empty());
}
