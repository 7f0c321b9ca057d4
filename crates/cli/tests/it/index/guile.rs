//! Programs in Guile: with the index they load the same files, print the same and end the same, also after changes.

use std::fs;
use std::os::unix::fs::symlink;

use super::scene::Scene;
use crate::text;

const GUILE: &str = "/usr/bin/guile";

fn module(name: &str, value: &str, more: &str) -> String {
    format!("(define-module ({name}) {more} #:export (value))\n(define value \"{value}\")\n")
}

fn scene() -> Scene {
    let mut scene = Scene::new();
    scene.variables.push(("GUILE_AUTO_COMPILE".to_owned(), "0".to_owned()));
    for directory in ["a", "b", "c"] {
        scene.file(&format!("{directory}/only-{directory}.scm"), &module(&format!("only-{directory}"), directory, ""));
    }
    scene.file("b/both.scm", &module("both", "b", "#:use-module (ice-9 match)"));
    scene.file("c/both.scm", &module("both", "c", ""));
    scene.file("c/deep/leaf.scm", &module("deep leaf", "leaf of c", "#:use-module (srfi srfi-1)"));
    scene.search("GUILE_LOAD_PATH", &["a", "b", "c"]);
    let app = "(define (show . all) (for-each display all) (newline))\n\
        (for-each (lambda (name)\n  (let ((found (false-if-exception (resolve-interface name))))\n\
        \x20   (show name \" \" (if found (module-ref found 'value) \"absent\") \" \" (and found (module-filename (resolve-module name))))))\n\
        \x20 '((only-a) (only-b) (only-c) (both) (deep leaf) (not there)))\n\
        (use-modules (ice-9 rdelim) (ice-9 regex) (srfi srfi-9))\n\
        (show %load-path %load-compiled-path %load-hook (%search-load-path \"deep/leaf.scm\"))\n(exit 5)\n";
    scene.file("app.scm", app);
    scene
}

#[track_caller]
fn noticed(scene: &Scene, printed: &str) {
    let said = scene.same(&[GUILE, "app.scm"]);
    assert!(said.contains(printed), "{printed}: {said}");
    assert_eq!(scene.check().0, Some(1));
}

#[test]
fn guile_loads_the_same_files_with_fewer_calls() {
    let mut scene = scene();
    let more: Vec<String> = (0..60).map(|number| format!("more{number}")).collect();
    for directory in &more {
        fs::create_dir(scene.path(directory)).unwrap();
    }
    let entries: Vec<&str> = more.iter().map(String::as_str).chain(["a", "b", "c"]).collect();
    scene.search("GUILE_LOAD_PATH", &entries);
    scene.search("GUILE_LOAD_COMPILED_PATH", &entries);
    let made = scene.make(&[GUILE, "app.scm"]);
    assert_eq!(made["languages"][0]["language"], "guile");
    let calls = |number: usize| made["calls"][number].as_u64().unwrap();
    assert!(calls(1) * 2 < calls(0), "{made}");
    assert!(scene.same(&[GUILE, "app.scm"]).contains("leaf of c"));
}

#[test]
fn compiled_files_and_every_way_of_starting_guile() {
    let mut scene = scene();
    let compile =
        "(use-modules (system base compile)) (compile-file \"c/deep/leaf.scm\" #:output-file \"go/deep/leaf.go\")";
    fs::create_dir_all(scene.path("go/deep")).unwrap();
    assert!(scene.plain(&[GUILE, "-c", compile]).status.success());
    scene.search("GUILE_LOAD_COMPILED_PATH", &["a", "go"]);
    scene.make(&[GUILE, "app.scm"]);
    scene.same(&[GUILE, "app.scm"]);
    scene.same(&[GUILE, "-c", "(use-modules (both) (deep leaf)) (display value)"]);
    scene.same(&[GUILE, "-L", "c", "-C", "b", "app.scm"]);
    scene.same(&[GUILE, "-q", "-s", "app.scm"]);
    scene.same(&[
        GUILE,
        "--no-auto-compile",
        "-e",
        "main",
        "-c",
        "(define (main . all) (display (module-ref (resolve-module '(both)) 'value)))",
    ]);
    // A source that is newer than its compiled file.
    scene.file("c/deep/leaf.scm", &module("deep leaf", "edited", ""));
    assert!(scene.same(&[GUILE, "app.scm"]).contains("edited"));
}

#[test]
fn load_paths_of_guile_that_change() {
    let mut scene = scene();
    scene.file("x/both.scm", &module("both", "x", ""));
    scene.file("x/late.scm", &module("late", "late", ""));
    scene.file("b/init.scm", "(display \"own init\\n\")\n");
    let app = format!(
        "(define (again) (save-module-excursion (lambda () (primitive-load-path \"both\"))) (display (module-ref (resolve-module '(both)) 'value)) (newline))\n\
         (again)\n(set! %load-path (cons {:?} %load-path))\n(again)\n(use-modules (late))\n(display (module-filename (resolve-module '(late))))\n\
         (set! %load-path (cdr %load-path))\n(again)\n(set-cdr! (last-pair %load-path) '())\n\
         (set! %load-path (reverse %load-path))\n(again)\n(set! %load-extensions '(\".scm\"))\n(again)\n\
         (display (false-if-exception (primitive-load-path \"none\")))\n(display (primitive-load-path \"none\" #f))\n(display %load-path)\n",
        scene.text_of("x")
    );
    scene.file("paths.scm", &app);
    scene.make(&[GUILE, "paths.scm"]);
    assert!(scene.same(&[GUILE, "paths.scm"]).contains("own init"));
    for entries in [&["c", "b", "a"][..], &["c"], &["missing", "b", "c"]] {
        scene.search("GUILE_LOAD_PATH", entries);
        scene.same(&[GUILE, "app.scm"]);
    }
    let middle = [&scene.text_of("a"), "...", &scene.text_of("c")].join(":");
    scene.variables.retain(|(name, _)| name != "GUILE_LOAD_PATH");
    scene.variables.push(("GUILE_LOAD_PATH".to_owned(), middle));
    scene.same(&[GUILE, "app.scm"]);
}

#[test]
fn guile_modules_that_shadow_others_or_are_removed() {
    let scene = scene();
    scene.make(&[GUILE, "app.scm"]);
    assert_eq!(scene.check().0, Some(0));
    scene.file("a/both.scm", &module("both", "shadow", ""));
    noticed(&scene, "shadow");
    fs::remove_file(scene.path("a/both.scm")).unwrap();
    fs::remove_file(scene.path("b/both.scm")).unwrap();
    noticed(&scene, "(both) c");
    scene.file("b/deep/leaf.scm", &module("deep leaf", "new directory", ""));
    noticed(&scene, "new directory");
    scene.file("a/not/there.scm", &module("not there", "came late", ""));
    noticed(&scene, "came late");
    fs::rename(scene.path("c"), scene.path("moved")).unwrap();
    symlink("moved", scene.path("c")).unwrap();
    scene.same(&[GUILE, "app.scm"]);
}

#[test]
fn an_index_for_guile_that_is_gone_or_of_another_version() {
    let scene = scene();
    scene.make(&[GUILE, "app.scm"]);
    let settings = text(&scene.coldstart(&["env", "index"]).stdout);
    let with_settings = |program: &str| {
        let output = scene.command("sh").args(["-c", &format!("{settings}\n{GUILE} {program}")]).output().unwrap();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let plain = |words: &[&str]| {
        let output = scene.plain(words);
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    assert_eq!(with_settings("app.scm"), plain(&[GUILE, "app.scm"]));
    let hook = fs::read_dir(scene.path("index/current/guile")).unwrap().map(|entry| entry.unwrap().path());
    for compiled in hook.filter(|path| path.extension().is_some_and(|end| end == "go")) {
        fs::rename(&compiled, compiled.with_file_name("0.go")).unwrap();
    }
    scene.file(
        "env.scm",
        "(display (list (getenv \"GUILE_LOAD_PATH\") (getenv \"GUILE_LOAD_COMPILED_PATH\") %load-path))",
    );
    assert_eq!(with_settings("env.scm"), plain(&[GUILE, "env.scm"]));
    assert_eq!(with_settings("app.scm"), plain(&[GUILE, "app.scm"]));
    fs::remove_dir_all(scene.path("index")).unwrap();
    // Guile's own directories are in front then.
    assert!(with_settings("app.scm").1.contains("leaf of c"));
}
