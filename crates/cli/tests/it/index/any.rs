//! `index make --shim`: programs in any language find the same files with fewer calls, also when names appear.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use coldstart_testing::{Ingredients, built, copy_program, is_there, skip};
use serde_json::Value;

use super::scene::Scene;
use crate::text;

const LIBRARY: &str = "index/current/preload/lib64/libcoldstart-absent.so";

/// Whether a program is there; without, the reason of the skip is printed.
fn has(program: &str) -> bool {
    let found = is_there(program);
    if !found {
        skip(&format!("there is no {program}"));
    }
    found
}

/// A program that is built from a source beside this file's.
fn program(name: &str, source: &str, compiler: &str, flags: &[&str]) -> String {
    let ingredients = Ingredients::new().bytes(source).bytes(flags.join(" ")).program(compiler);
    let directory = built(name, &ingredients, |directory| {
        let file = directory.join(if compiler.contains("++") { "source.cc" } else { "source.c" });
        fs::write(&file, source).unwrap();
        let mut command = Command::new(compiler);
        command.args(["-O1", "-D_GNU_SOURCE", "-pthread", "-o"]).arg(directory.join("program")).arg(&file).args(flags);
        assert!(command.status().unwrap().success());
    });
    directory.join("program").to_str().unwrap().to_owned()
}

fn teller() -> String {
    program("index-any", include_str!("any.c"), "gcc", &[])
}

/// Makes the index with `--shim`.
#[track_caller]
fn make(scene: &Scene, program: &[&str]) -> Value {
    let output = scene.coldstart(&[&["make", "--shim", "--json", "-o", "index", "--"], program].concat());
    assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[track_caller]
fn fewer_calls(made: &Value, times: u64) {
    let calls = |number: usize| made["calls"][number].as_u64().unwrap();
    assert!(calls(1) * times < calls(0), "{made}");
}

/// Directories with a module each.
fn modules(count: usize, end: &str, content: impl Fn(usize) -> String) -> Scene {
    let scene = Scene::new();
    for number in 0..count {
        scene.file(&format!("d{number}/m{number}.{end}"), &content(number));
    }
    scene
}

/// The names of calls with a given name in it that a command makes, as strace tells them.
fn calls_with(scene: &Scene, words: &[&str], variables: &[(&str, &str)], name: &str) -> usize {
    let log = scene.path("strace.log");
    let mut command = scene.command("strace");
    command.arg("-f").arg("-o").arg(&log).args(["-e", "trace=%file"]).args(words);
    command.envs(variables.iter().copied());
    assert!(command.output().unwrap().status.success(), "{words:?}");
    text(&fs::read(log).unwrap()).lines().filter(|line| line.contains(name) && !line.contains("execve(")).count()
}

#[test]
fn programs_in_any_language_find_files_with_fewer_calls() {
    if has("lua5.4") {
        let scene = modules(60, "lua", |number| format!("return {{ value = {number} }}"));
        let path: String = (0..60).map(|number| scene.text_of(&format!("d{number}/?.lua;"))).collect();
        let app = format!(
            "package.path = {path:?}\nfor i = 0, 59 do io.write(require('m' .. i).value, ' ') end\n\
             print(pcall(require, 'nothere'))\n"
        );
        scene.file("app.lua", &app);
        let made = make(&scene, &["lua5.4", "app.lua"]);
        assert_eq!(made["languages"][0]["language"], "any");
        fewer_calls(&made, 4);
        assert!(scene.same(&["lua5.4", "app.lua"]).contains("59 "));
    }
    if has("tclsh") {
        let scene = modules(60, "tcl", |number| format!("puts [info script]; set value{number} 1"));
        // Directory by directory: each is checked again after a tenth of a second, and a slow machine must not check all of them then.
        let app = "for {set d 0} {$d < 60} {incr d} {\n for {set i 0} {$i < 60} {incr i} {\n\
                   \x20 set file [file join [pwd] d$d m$i.tcl]\n  if {[file exists $file]} { source $file }\n }\n}\n\
                   puts [catch {open [pwd]/d0/nothere} text]; puts $text; puts $errorCode\n";
        scene.file("app.tcl", app);
        fewer_calls(&make(&scene, &["tclsh", "app.tcl"]), 3);
        assert!(scene.same(&["tclsh", "app.tcl"]).contains("POSIX ENOENT"));
    }
    if has("php") {
        let scene = modules(60, "php", |number| format!("<?php return {number};"));
        let path = (0..60).map(|number| scene.text_of(&format!("d{number}"))).collect::<Vec<_>>().join(":");
        let app = format!(
            "<?php set_include_path('{path}');\nfor ($i = 0; $i < 60; $i++) echo include \"m$i.php\", ' ';\n\
             echo (@include 'nothere.php') ? 'found' : 'absent';\n"
        );
        scene.file("app.php", &app);
        fewer_calls(&make(&scene, &["php", "app.php"]), 2);
        assert!(scene.same(&["php", "app.php"]).ends_with("59 absent"));
    }
    let scene = modules(60, "so", |_| String::new());
    let source = "#include <filesystem>\n#include <fstream>\n#include <iostream>\n#include <string>\n\
        int main(int, char **words) {\n int found = 0;\n for (int i = 0; i < 60; i++) for (int d = 0; d < 60; d++) {\n\
        \x20 std::string path = std::string(words[1]) + \"/d\" + std::to_string(d) + \"/m\" + std::to_string(i) + \".so\";\n\
        \x20 found += std::filesystem::exists(path);\n  if (std::ifstream(path)) found += 1000;\n }\n\
        std::cout << found << std::endl; }\n";
    let plugins = program("index-plugins", source, "g++", &["-std=c++17"]);
    let root = scene.text_of(".");
    fewer_calls(&make(&scene, &[&plugins, &root]), 5);
    assert_eq!(scene.same(&[&plugins, &root]), "60060\n");
}

#[test]
fn names_that_appear_between_two_starts_are_noticed() {
    let teller = teller();
    let scene = Scene::new();
    for name in ["same", "new", "moved", "other/moved", "linked/one", "linked/two", "gone", "below"] {
        fs::create_dir_all(scene.path(name)).unwrap();
    }
    scene.file("linked/two/name", "");
    scene.file("other/moved/name", "");
    symlink("one", scene.path("linked/link")).unwrap();
    let paths = ["same", "new", "moved", "linked/link", "gone", "below/absent/deep"].map(|name| scene.text_of(name));
    let words: Vec<&str> = [&*teller, "look"].into_iter().chain(paths.iter().map(String::as_str)).collect();
    let made = make(&scene, &words);
    fewer_calls(&made, 5);
    assert_eq!((scene.same(&words), scene.check().0), ("absent\n".to_owned(), Some(0)));
    scene.file("new/name", "");
    fs::rename(scene.path("moved"), scene.path("moved-away")).unwrap();
    fs::rename(scene.path("other/moved"), scene.path("moved")).unwrap();
    fs::remove_file(scene.path("linked/link")).unwrap();
    symlink("two", scene.path("linked/link")).unwrap();
    fs::remove_dir(scene.path("gone")).unwrap();
    scene.file("below/absent/deep/name", "");
    let printed = scene.same(&words);
    let found = ["new", "moved", "linked/link", "below/absent/deep"].map(|name| scene.text_of(name) + " is there\n");
    assert_eq!(printed, found.concat() + "there\n");
    assert_eq!(scene.check().0, Some(1));
    let used = calls_with(
        &scene,
        &[&[env!("CARGO_BIN_EXE_coldstart"), "index", "run", "index", "--"], &words[..]].concat(),
        &[],
        "/same/name",
    );
    assert_eq!(used, 0, "what is unchanged stays in use");
}

#[test]
fn names_that_a_program_makes_while_it_runs() {
    let teller = teller();
    let scene = Scene::new();
    let ways = [
        "open", "stream", "creat", "mkdir", "rename", "link", "symlink", "openat", "syscall", "thread", "fork",
        "vfork", "system", "popen", "spawn", "pipe", "cancel",
    ];
    let directories = ways.map(|way| scene.text_of(&format!("{way}/in")));
    for directory in &directories {
        fs::create_dir_all(directory).unwrap();
    }
    let words: Vec<&str> = [&*teller, "look"].into_iter().chain(directories.iter().map(String::as_str)).collect();
    make(&scene, &words);
    for (way, directory) in ways.iter().zip(&directories) {
        let run = [env!("CARGO_BIN_EXE_coldstart"), "index", "run", "index", "--", &teller, "look", directory];
        assert_eq!(calls_with(&scene, &run, &[], "/in/name"), 0, "{way}: the index is in use");
        let output = scene.indexed(&[&teller, way, directory]);
        let cleaned = if *way == "cancel" { "cleaned up\n" } else { "" };
        assert_eq!(text(&output.stdout) + &text(&output.stderr), format!("{cleaned}there\n"), "{way}");
    }
}

#[test]
fn names_that_others_make_while_a_program_runs() {
    let teller = teller();
    let scene = Scene::new();
    let directories = ["told", "outside"].map(|name| scene.text_of(name));
    for directory in &directories {
        fs::create_dir_all(directory).unwrap();
    }
    make(&scene, &[&teller, "look", &directories[0], &directories[1]]);
    for (way, directory) in ["told", "outside"].into_iter().zip(&directories) {
        let mut command = scene.command(env!("CARGO_BIN_EXE_coldstart"));
        command.args(["index", "run", "index", "--", &teller, way, directory]);
        // Nothing tells of it, so it may take a moment; the program gives up after half a minute.
        command.stdin(if way == "told" { Stdio::piped() } else { Stdio::null() }).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "ready");
        fs::write(Path::new(directory).join("name"), "").unwrap();
        if let Some(input) = &mut child.stdin {
            input.write_all(b"made\n").unwrap();
        }
        assert_eq!(lines.next().unwrap().unwrap(), "there", "{way}");
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn other_programs_run_as_if_there_were_no_shim() {
    let teller = teller();
    let scene = Scene::new();
    let directory = scene.text_of("a");
    fs::create_dir(&directory).unwrap();
    make(&scene, &[&teller, "look", &directory]);
    let settings = scene.text_of("index/current/preload/$LIB/libcoldstart-absent.so");
    let calls = |program: &str, variables: &[(&str, &str)]| {
        calls_with(&scene, &[program, "look", &directory], variables, "/a/name")
    };
    let preload = ("LD_PRELOAD", settings.as_str());
    let plain = calls(&teller, &[]);
    assert!(plain > 20, "{plain}");
    assert_eq!(calls(&teller, &[preload]), 0);
    assert_eq!(calls(&teller, &[preload, ("COLDSTART_DISABLE", "1")]), plain);
    let library = scene.path("other.so");
    let built = Command::new("gcc").args(["-shared", "-x", "c", "/dev/null", "-o"]).arg(&library).status().unwrap();
    assert!(built.success());
    let both = format!("{}:{settings}", library.display());
    assert_eq!(calls(&teller, &[("LD_PRELOAD", &both)]), plain, "another library may give names another meaning");
    let copy = scene.text_of("copy");
    copy_program(&teller, &copy);
    assert_eq!(calls(&copy, &[preload]), plain, "another program");
    // Another C library, and another word size with the loader of the cross compiler's packages.
    let loader = ["-Wl,--dynamic-linker=/usr/i686-linux-gnu/lib/ld-linux.so.2", "-Wl,-rpath,/usr/i686-linux-gnu/lib"];
    for (compiler, flags) in [("musl-gcc", &[][..]), ("i686-linux-gnu-gcc", &loader[..])] {
        if !has(compiler) {
            continue;
        }
        let source = "#include <stdio.h>\nint main(void) { puts(\"other\"); return 0; }\n";
        let other = program(&format!("index-{compiler}"), source, compiler, flags);
        let output = scene.command(&other).env("LD_PRELOAD", &settings).output().unwrap();
        assert_eq!(text(&output.stdout) + &text(&output.stderr), "other\n", "{compiler}");
    }
}

#[test]
fn programs_without_a_shim_are_refused_with_the_reason() {
    let scene = Scene::new();
    let source = "int main(void) { return 0; }\n";
    let fixed = program("index-static", source, "gcc", &["-static"]);
    let plain = program("index-silent", source, "gcc", &[]);
    let raised = scene.text_of("raised");
    copy_program(&plain, &raised);
    fs::set_permissions(&raised, fs::Permissions::from_mode(0o4755)).unwrap();
    for (program, reason) in [
        (&*fixed, "linked statically"),
        (&*raised, "rights that its caller has not"),
        (&*plain, "no name that is absent"),
    ] {
        let output = scene.coldstart(&["make", "--shim", "-o", "index", "--", program]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(reason) && said.contains("hint: "), "{said}");
        assert!(!scene.path("index").exists());
    }
    let output = scene.coldstart(&["make", "--shim", "-o", "in$dex", "--", &plain]);
    assert!(text(&output.stderr).contains("`$`"), "{}", text(&output.stderr));
}

#[test]
fn an_index_with_a_shim_that_is_gone_or_damaged() {
    let teller = teller();
    let scene = Scene::new();
    let directory = scene.text_of("a");
    fs::create_dir(&directory).unwrap();
    let words = [&*teller, "look", &directory];
    make(&scene, &words);
    let shown = text(&scene.coldstart(&["show", "index"]).stdout);
    assert!(shown.contains("known to be absent") && shown.contains("/a\n"), "{shown}");
    let whole = fs::read(scene.path(LIBRARY)).unwrap();
    let table = whole.windows(8).position(|bytes| bytes == b"COLDABS1").unwrap();
    // Each word of the table's header, then some of the table's content.
    for place in (table + 8..table + 48).step_by(4).chain((table + 48..whole.len() - 3).step_by(52)) {
        for value in [0_u32, 1, 0x7fff_ffff, u32::MAX] {
            let mut damaged = whole.clone();
            damaged[place..place + 4].copy_from_slice(&value.to_le_bytes());
            fs::write(scene.path(LIBRARY), damaged).unwrap();
            let output = scene.indexed(&words);
            assert_eq!(
                (output.status.code(), text(&output.stdout)),
                (Some(0), "absent\n".to_owned()),
                "{place} {value:#x}"
            );
        }
    }
    fs::write(scene.path(LIBRARY), &whole).unwrap();
    let settings = text(&scene.coldstart(&["env", "index"]).stdout);
    let with_settings = |program: &str| {
        let script = format!("{settings}\n{program}");
        let output = scene.command("sh").args(["-c", &script]).output().unwrap();
        text(&output.stdout) + &text(&output.stderr)
    };
    assert!(with_settings("echo \"$LD_PRELOAD\"").contains("$LIB"));
    fs::remove_dir_all(scene.path("index")).unwrap();
    assert_eq!(with_settings("echo \"${LD_PRELOAD-unset}\""), "unset\n");
    let output = scene.indexed(&words);
    assert_eq!(text(&output.stdout), "absent\n");
    assert!(text(&output.stderr).contains("started without the index"));
}

#[test]
fn r_finds_packages_with_fewer_calls_and_the_same_library_paths() {
    if !has("Rscript") {
        return;
    }
    let mut scene = Scene::new();
    scene.file(
        "source/DESCRIPTION",
        "Package: tiny\nVersion: 1.0\nTitle: T\nDescription: D.\nLicense: GPL\nAuthor: A\nMaintainer: A <a@b.c>\n",
    );
    scene.file("source/NAMESPACE", "export(value)\n");
    scene.file("source/R/tiny.R", "value <- function() 7\n");
    let libraries: Vec<String> = (0..60).map(|number| format!("l{number}")).collect();
    for library in &libraries {
        fs::create_dir(scene.path(library)).unwrap();
    }
    let options = ["--no-docs", "--no-test-load", "--no-byte-compile", "-l"];
    let installed = scene.command("R").args(["CMD", "INSTALL"]).args(options).args(["l59", "source"]).output().unwrap();
    assert!(installed.status.success(), "{}", text(&installed.stderr));
    let names: Vec<&str> = libraries.iter().map(String::as_str).collect();
    scene.search("R_LIBS", &names);
    let app = "library(tiny)\ncat(value(), find.package('tiny'), .libPaths(), sep = '\\n')\n\
               cat(requireNamespace('nothere', quietly = TRUE), '\\n')\n";
    scene.file("app.R", app);
    let refused = scene.coldstart(&["make", "-o", "index", "--", "Rscript", "app.R"]);
    let said = text(&refused.stderr);
    assert!(refused.status.code() == Some(2) && said.contains("a program in R") && said.contains("--shim"), "{said}");
    let made = make(&scene, &["Rscript", "app.R"]);
    let calls = |number: usize| made["calls"][number].as_u64().unwrap();
    // Each library has three names that are absent; most other calls are for the libraries themselves.
    assert!(calls(1) + 60 < calls(0), "{made}");
    let told = |scene: &Scene| scene.same(&["Rscript", "app.R"]);
    let last = scene.text_of("l59");
    assert!(told(&scene).contains(&format!("{last}/tiny\n")) && told(&scene).contains(&format!("{last}\n")));
    let copied = scene.command("cp").args(["-a", "l59/tiny", "l3/"]).status().unwrap();
    assert!(copied.success());
    assert!(told(&scene).contains(&scene.text_of("l3/tiny")), "{}", told(&scene));
}

#[cfg(target_arch = "x86_64")]
#[test]
fn the_library_of_other_machines_passes_everything_on() {
    let machines = [
        ("aarch64", include_bytes!("../../../../../stubs/preload/aarch64.so").as_slice()),
        ("riscv64", include_bytes!("../../../../../stubs/preload/riscv64.so").as_slice()),
    ];
    for (machine, library) in machines {
        let (compiler, emulator) = (format!("{machine}-linux-gnu-gcc"), format!("qemu-{machine}"));
        if !has(&compiler) || !has(&emulator) {
            continue;
        }
        let scene = Scene::new();
        fs::create_dir(scene.path("a")).unwrap();
        fs::write(scene.path("library.so"), library).unwrap();
        let teller = program(&format!("index-any-{machine}"), include_str!("any.c"), &compiler, &[]);
        let mut command = scene.command(&emulator);
        command.args(["-L", &format!("/usr/{machine}-linux-gnu"), "-E"]);
        command.arg(format!("LD_PRELOAD={}", scene.text_of("library.so"))).args([&*teller, "cancel"]);
        let output = command.arg(scene.path("a")).output().unwrap();
        assert_eq!(text(&output.stdout) + &text(&output.stderr), "cleaned up\nthere\n", "{machine}");
    }
}
