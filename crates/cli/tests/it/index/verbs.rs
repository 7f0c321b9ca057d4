//! What the verbs say and do beside their main work.

use super::python::packages;
use super::scene::{PYTHON, Scene};
use crate::text;

#[track_caller]
fn refused(scene: &Scene, words: &[&str], reason: &str) {
    let output = scene.coldstart(words);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}{}", text(&output.stdout));
    assert!(said.contains(reason) && said.contains("hint: "), "{said}");
}

#[test]
fn the_interpreter_is_found_behind_scripts_env_and_wrappers() {
    let scene = packages(2);
    let app = scene.text_of("app.py");
    // Another `python3`, earlier in PATH: version managers put a script there.
    coldstart_testing::script(&scene.root(), "python3", "#!/bin/sh\nexit 5\n", 0o755);
    let wrapped =
        format!("#!/bin/bash\nPATH={}:$PATH\nexec -a python3 {PYTHON} {app} \"$@\"\n", scene.root().display());
    for (name, text) in [
        ("named", wrapped),
        ("direct", format!("#!{PYTHON}\nexec(open({app:?}).read())\n")),
        ("by-env", format!("#!/usr/bin/env python3\nexec(open({app:?}).read())\n")),
        ("wrapper", format!("#!/bin/sh\n{PYTHON} {app} \"$@\"\n")),
    ] {
        coldstart_testing::script(&scene.root(), name, &text, 0o755);
        let made = scene.make(&[&format!("./{name}")]);
        assert_eq!(made["languages"][0]["language"], "python", "{name}");
        scene.same(&[&format!("./{name}")]);
    }
}

#[test]
fn a_program_without_an_interpreter_that_we_know_is_told_so() {
    let scene = packages(1);
    refused(&scene, &["make", "-o", "index", "--", "true"], "started no interpreter that coldstart knows");
    refused(&scene, &["make", "-o", "index", "--", "tclsh", "/dev/null"], "a program in Tcl");
    refused(&scene, &["make", "-o", "index", "--", PYTHON, "-I", "app.py"], "does not take an index");
    refused(&scene, &["make", "-o", "no/where", "--", PYTHON, "app.py"], "no/where");
    refused(&scene, &["make", "-o", "a:b", "--", PYTHON, "app.py"], "separates entries");
    refused(&scene, &["check", "p0"], "not an index made by coldstart");
    assert_eq!(scene.coldstart(&["show", "absent"]).status.code(), Some(2));
    assert!(!scene.path("index").exists());
}

#[test]
fn a_program_that_tells_the_difference_gets_no_index() {
    let scene = packages(1);
    let app =
        "import importlib.machinery\nprint(importlib.machinery.PathFinder._get_spec.__func__.__code__.co_filename)\n";
    scene.file("curious.py", app);
    scene.make(&[PYTHON, "app.py"]);
    let before = scene.snapshot("index/current");
    let output = scene.coldstart(&["make", "-o", "index", "--", PYTHON, "curious.py"]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("no index was kept") && said.contains("output"), "{said}");
    assert_eq!(scene.snapshot("index/current"), before, "the earlier index is unchanged");
}

#[test]
fn a_program_that_varies_by_itself_may_have_one() {
    let scene = packages(1);
    let app = "import os, random, time, pkg0\nprint(os.getpid(), time.time())\nprint('always')\n\
               if random.random() < 0.5:\n    import colorsys\n";
    scene.file("varying.py", app);
    // A module that is imported by chance may differ in each of the few compared starts.
    let codes: Vec<Option<i32>> =
        (0..2).map(|_| scene.coldstart(&["make", "-o", "index", "--", PYTHON, "varying.py"]).status.code()).collect();
    assert!(codes.iter().all(|code| matches!(code, Some(0 | 1))), "{codes:?}");
    scene.file("steady.py", "import os, pkg0\nprint(os.getpid())\nprint('always')\n");
    let made = scene.make(&[PYTHON, "steady.py"]);
    assert!(made["unchecked"].to_string().contains("the rest of its output"), "{made}");
}

#[test]
fn settings_for_shells_and_modulefiles() {
    let scene = packages(2);
    scene.make(&[PYTHON, "app.py"]);
    let printed = text(&scene.coldstart(&["env", "index"]).stdout);
    let plain = text(&scene.plain(&[PYTHON, "app.py"]).stdout);
    let script = format!("{printed}\n{PYTHON} app.py");
    assert_eq!(text(&scene.command("sh").args(["-c", &script]).output().unwrap().stdout), plain);
    let module = text(&scene.coldstart(&["env", "--syntax", "modulefile", "index"]).stdout);
    assert_eq!(module, format!("prepend-path -d {{:}} PYTHONPATH {{{}}}\n", scene.text_of("index/current/python")));
    let shown = text(&scene.coldstart(&["show", "index", "--limit", "1"]).stdout);
    assert!(shown.contains("app.py") && shown.contains("and ") && shown.contains("Python 3."), "{shown}");
}

#[test]
fn an_index_of_directories_that_were_replaced_says_so() {
    let mut scene = Scene::new();
    let directories: Vec<String> = (0..20).map(|number| format!("tree/{number}")).collect();
    for directory in &directories {
        scene.file(&format!("{directory}/other.py"), "");
    }
    scene.file("tree/19/found.py", "");
    scene.file("app.py", "import found\n");
    scene.search("PYTHONPATH", &directories.iter().map(String::as_str).collect::<Vec<_>>());
    scene.make(&[PYTHON, "app.py"]);
    let said = || {
        let output = scene.coldstart(&["run", "index", "--", PYTHON, "app.py"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stderr).to_owned()
    };
    assert_eq!(said(), "");
    // What has only changed is no news.
    for directory in &directories {
        scene.file(&format!("{directory}/new.py"), "");
    }
    assert_eq!(said(), "");
    // The originals stay, so that no inode is used again.
    std::fs::rename(scene.path("tree"), scene.path("before")).unwrap();
    for directory in &directories {
        scene.file(&format!("{directory}/found.py"), "");
    }
    let said = said();
    assert!(said.contains("is of little use: ") && said.contains("coldstart index check"), "{said}");
}

#[test]
fn run_hands_on_codes_and_starts_without_a_broken_index() {
    let scene = packages(1);
    scene.make(&[PYTHON, "app.py"]);
    assert_eq!(scene.indexed(&["sh", "-c", "exit 9"]).status.code(), Some(9));
    assert_eq!(scene.indexed(&["no-such-program"]).status.code(), Some(127));
    assert_eq!(scene.indexed(&["/etc/passwd"]).status.code(), Some(126));
    let output = scene.coldstart(&["run", "no-index", "--", "echo", "started"]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), "started\n".to_owned()));
    assert!(text(&output.stderr).contains("started without the index"), "{}", text(&output.stderr));
}
