//! `coldstart resolve` as its readers meet it: small programs built by gcc, and real ones of this machine, whose loader is asked
//! for its own answer.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use coldstart_testing::{scratch, skip};
use serde_json::Value;

use coldstart_testing::copy_program;

const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";

fn resolve(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart"));
    command.current_dir(directory).arg("resolve").args(arguments);
    command.env_remove("LD_LIBRARY_PATH").env_remove("LD_PRELOAD").stdin(Stdio::null()).output().unwrap()
}

fn text(directory: &Path, arguments: &[&str], code: i32) -> String {
    let output = resolve(directory, arguments);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap() + &stderr
}

fn json(directory: &Path, arguments: &[&str], code: i32) -> Value {
    let arguments = [&["--json"], arguments].concat();
    let value: Value = serde_json::from_str(&text(directory, &arguments, code)).unwrap();
    assert_eq!(value["schema"], "coldstart.resolve/1");
    value["programs"][0].clone()
}

fn paths(program: &Value) -> Vec<String> {
    let objects = program["objects"].as_array().unwrap().iter().skip(1);
    objects.map(|object| object["path"].as_str().unwrap().to_owned()).collect()
}

fn compile(compiler: &str, directory: &Path, name: &str, source: &str, options: &[&str]) -> PathBuf {
    let path = directory.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let source_path = directory.join(format!("{}.c", name.replace('/', "_")));
    std::fs::write(&source_path, source).unwrap();
    let mut command = Command::new(compiler);
    command.current_dir(directory).arg("-o").arg(&path).arg(&source_path).args(options);
    let output = command.output().expect("the compiler runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    path
}

/// A program with two directories on its RUNPATH, whose library `libone.so` is in the second and needs `libtwo.so` beside it.
fn program(directory: &Path) {
    let library = ["-shared", "-fPIC", "-Wl,--no-as-needed"];
    compile("gcc", directory, "late/libtwo.so", "int two(void) { return 2; }", &library);
    let one = [&library[..], &["-Llate", "-ltwo", "-Wl,-rpath,$ORIGIN", "-Wl,--enable-new-dtags"]].concat();
    compile("gcc", directory, "late/libone.so", "int one(void) { return 1; }", &one);
    std::fs::create_dir_all(directory.join("early")).unwrap();
    let paths = "-Wl,--enable-new-dtags,-rpath,$ORIGIN/early:$ORIGIN/late";
    let options = ["-Wl,--no-as-needed", "-Llate", "-lone", "-Wl,-rpath-link,late", paths];
    compile("gcc", directory, "program", "int main(void) { return 0; }", &options);
}

#[test]
fn real_programs_load_what_their_loader_lists() {
    if !Path::new(LOADER).exists() {
        return skip("the loader of x86-64 is not here");
    }
    let directory = scratch();
    // What the tests have installed, and a large one that not every machine has.
    let needed = ["/usr/bin/zenity", "/usr/lib/firefox-esr/firefox-esr", "/usr/lib/chromium/chromium", "/bin/bash"];
    let large = "/usr/lib/libreoffice/program/soffice.bin";
    for program in needed.into_iter().chain(Path::new(large).exists().then_some(large)) {
        if !Path::new(program).exists() {
            skip(&format!("{program} is not installed"));
            continue;
        }
        let mut loader = Command::new(LOADER);
        loader.args(["--list", program]).env_remove("LD_LIBRARY_PATH").env_remove("LD_PRELOAD");
        let listed = String::from_utf8(loader.output().unwrap().stdout).unwrap();
        let listed: Vec<&str> = listed
            .lines()
            .filter(|line| !line.contains("linux-vdso"))
            .filter_map(|line| {
                let line = line.trim().rsplit_once(" (0x")?.0;
                Some(line.rsplit_once(" => ").map_or(line, |(_, path)| path))
            })
            .collect();
        assert_eq!(paths(&json(directory.path(), &[program], 0)), listed, "{program}");
    }
}

#[test]
fn a_late_directory_costs_probes_that_are_told_in_every_form() {
    let directory = scratch();
    program(directory.path());
    let at = directory.path();
    let answer = json(at, &["--hwcaps", "none", "program"], 0);
    let one = &answer["objects"][1];
    assert_eq!((&one["rule"], &one["rule_of"], &one["failed_probes"]), (&"runpath".into(), &0.into(), &1.into()));
    assert!(one["path"].as_str().unwrap().ends_with("/late/libone.so"), "{one}");
    assert!(answer["failed_probes"].as_array().unwrap().iter().all(|probe| probe["reason"] == "entity not found"));
    let report = text(at, &["--hwcaps", "none", "program"], 0);
    assert!(report.contains("loads 3 libraries with 3 failed probes"), "{report}");
    assert!(report.contains("`coldstart bind ./program`"), "{report}");
    let probes = text(at, &["--hwcaps", "none", "--probes", "program"], 0);
    assert!(probes.contains("/early/libone.so  RUNPATH of the program: no such file"), "{probes}");
    let why = text(at, &["--hwcaps", "none", "--why", "libtwo.so", "program"], 0);
    assert!(why.contains("program → libone.so → libtwo.so") && why.contains("its own RUNPATH"), "{why}");
    let tree = text(at, &["--tree", "program"], 0);
    assert!(tree.contains("│   ├── libtwo.so => ") && tree.contains("(*)"), "{tree}");
    let dot = text(at, &["--dot", "program"], 0);
    assert!(dot.starts_with("digraph loads {") && dot.contains("n0 -> n1"), "{dot}");
    text(at, &["--why", "libnobody.so", "program"], 1);
    // A level implies the one below, and each is tried in each directory first.
    let levels = json(at, &["--hwcaps", "x86-64-v3", "program"], 0);
    assert_eq!(levels["environment"]["hwcaps"], serde_json::json!(["x86-64-v3", "x86-64-v2"]));
    assert!(levels["totals"]["failed_probes"].as_u64() > answer["totals"]["failed_probes"].as_u64());
    // What is named first is found there, and nothing of the environment of the test counts beside it.
    let given = json(at, &["--ld-library-path", "late", "program"], 0);
    assert_eq!(given["objects"][1]["rule"], "ld-library-path");
}

#[test]
fn what_is_missing_is_named_with_who_needs_it() {
    let directory = scratch();
    program(directory.path());
    std::fs::remove_file(directory.path().join("late/libtwo.so")).unwrap();
    let report = text(directory.path(), &["program"], 1);
    assert!(report.contains("does not start") && report.contains("libtwo.so: needed by libone.so"), "{report}");
    let words: Vec<&str> = report.split_whitespace().collect();
    assert!(words.join(" ").contains("not in the loader's cache"), "{report}");
    assert!(text(directory.path(), &["--tree", "program"], 1).contains("libtwo.so => not found"));
    assert!(text(directory.path(), &["--dot", "program"], 1).contains("color=red"));
    // A library that is cut in half ends the start.
    let one = directory.path().join("late/libone.so");
    std::fs::write(&one, &std::fs::read(&one).unwrap()[..300]).unwrap();
    let answer = json(directory.path(), &["program"], 1);
    assert!(answer["stopped"]["path"].as_str().unwrap().ends_with("/late/libone.so"), "{answer}");
}

#[test]
fn notes_tell_what_is_opened_later() {
    let directory = scratch();
    let source = r#"
        __asm__(".section .note.dlopen,\"a\",@note\n .balign 4\n .long 4, 2f-1f, 0x407c0c0a\n .asciz \"FDO\"\n"
                "1: .asciz \"[{\\\"soname\\\":[\\\"libnobody.so.7\\\",\\\"libm.so.6\\\"],\\\"feature\\\":\\\"sums\\\"},"
                "{\\\"soname\\\":[\\\"libnobody.so.8\\\"],\\\"priority\\\":\\\"suggested\\\"}]\"\n2: .balign 4\n .previous\n");
        int main(void) { return 0; }"#;
    compile("gcc", directory.path(), "noted", source, &[]);
    let answer = json(directory.path(), &["noted"], 0);
    let (first, second) = (&answer["dlopen"][0], &answer["dlopen"][1]);
    assert_eq!((&first["feature"], &first["priority"]), (&"sums".into(), &"recommended".into()));
    assert_eq!(first["sonames"][0]["found"], Value::Null);
    assert!(first["sonames"][1]["found"]["path"].as_str().unwrap().ends_with("/libm.so.6"), "{first}");
    assert_eq!(second["sonames"][0]["found"], Value::Null);
    // The figures are those of the start alone.
    assert!(!paths(&answer).iter().any(|path| path.ends_with("/libm.so.6")));
    let report = text(directory.path(), &["noted"], 0);
    assert!(report.contains("noted opens libnobody.so.8 (suggested); not found"), "{report}");
}

#[test]
fn a_sysroot_hides_this_machine() {
    if !Path::new(LOADER).exists() {
        return skip("the loader of x86-64 is not here");
    }
    let directory = scratch();
    let root = directory.path().join("root");
    std::fs::create_dir_all(root.join("usr/lib")).unwrap();
    std::fs::create_dir_all(root.join("lib64")).unwrap();
    copy_program(LOADER, root.join("lib64/ld-linux-x86-64.so.2"));
    // An absolute link leads to a place inside.
    std::os::unix::fs::symlink("/usr/lib", root.join("lib")).unwrap();
    compile("gcc", directory.path(), "root/usr/lib/libc.so.6", "int x;", &["-shared", "-nostdlib", "-fPIC"]);
    compile("gcc", directory.path(), "root/usr/bin/app", "int main(void) { return 0; }", &[]);
    let root = root.to_str().unwrap();
    let answer = json(directory.path(), &["--sysroot", root, "app"], 0);
    assert_eq!(answer["path"], "/usr/bin/app");
    assert!(paths(&answer).contains(&"/lib/libc.so.6".to_owned()), "{:?}", paths(&answer));
    assert_eq!(answer["objects"][1]["rule"], "default-directory");
    let outside = json(directory.path(), &["--sysroot", root, "root/usr/bin/app"], 0);
    assert_eq!(paths(&outside), paths(&answer));
}

#[test]
fn bad_input_is_refused_without_waiting_for_it() {
    let directory = scratch();
    let at = directory.path();
    std::fs::write(at.join("script"), "#!/usr/bin/env python3\n").unwrap();
    std::fs::write(at.join("half"), &std::fs::read(coldstart_host::process::own::PROGRAM).unwrap()[..100]).unwrap();
    std::os::unix::fs::symlink("circle", at.join("circle")).unwrap();
    assert!(Command::new("mkfifo").arg(at.join("pipe")).status().unwrap().success());
    for name in ["./nowhere", "half", "pipe", "circle", "/dev/zero", "/", "no-such-program"] {
        let said = text(at, &[name], 2);
        assert!(said.contains("error:"), "{name}: {said}");
    }
    assert!(text(at, &["script"], 2).contains("coldstart resolve python3"));
    assert!(
        text(at, &["--sysroot", "nowhere", "script"], 2).contains("cannot use the sysroot `nowhere`: No such file")
    );
    compile("gcc", at, "alone", "int main(void) { return 0; }", &["-static"]);
    compile("gcc", at, "alone-pie", "int main(void) { return 0; }", &["-static-pie"]);
    for name in ["alone", "alone-pie"] {
        assert!(text(at, &[name], 0).contains("it loads nothing"), "{name}");
        assert_eq!(json(at, &[name], 0)["kind"], "static");
    }
}

#[test]
fn hostile_names_are_escaped() {
    let directory = scratch();
    let name = std::ffi::OsStr::from_bytes(b"lib\x1b[31m\"\\\xff.so");
    let mut linker = Command::new("gcc");
    linker.current_dir(directory.path()).args(["-shared", "-fPIC", "-x", "c", "/dev/null", "-o", "libodd.so"]);
    let soname = [b"-Wl,-soname,".as_slice(), name.as_bytes()].concat();
    assert!(linker.arg(std::ffi::OsStr::from_bytes(&soname)).status().unwrap().success());
    compile(
        "gcc",
        directory.path(),
        "program",
        "int main(void) { return 0; }",
        &["-Wl,--no-as-needed", "-L.", "-lodd"],
    );
    for form in [&["program"][..], &["--tree", "program"], &["--probes", "program"], &["--dot", "program"]] {
        let said = text(directory.path(), form, 1);
        assert!(!said.contains("\u{1b}[31m") && said.contains("\\x"), "{form:?}: {said}");
    }
}

#[test]
fn other_machines_programs_are_followed_in_their_own_root() {
    for (compiler, root) in
        [("aarch64-linux-gnu-gcc", "/usr/aarch64-linux-gnu"), ("i686-linux-gnu-gcc", "/usr/i686-linux-gnu")]
    {
        if Command::new(compiler).arg("--version").output().is_err() {
            skip(&format!("{compiler} is not installed"));
            continue;
        }
        let directory = scratch();
        compile(compiler, directory.path(), "foreign", "int main(void) { return 0; }", &[]);
        let library_path = ["--sysroot", root, "--ld-library-path", "/lib", "foreign"];
        let answer = json(directory.path(), &library_path, 0);
        assert_eq!(answer["environment"]["hwcaps"], serde_json::json!([]), "{compiler}");
        assert!(paths(&answer).iter().any(|path| path.ends_with("/libc.so.6")), "{compiler}: {:?}", paths(&answer));
    }
}
