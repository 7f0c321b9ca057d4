//! `coldstart speedup`: the whole story on a small program that reads a large file.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::text;

fn speedup(plan: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_coldstart"))
        .args(["speedup", "--runs", "2", "--fixes", "prefetch", "--json", "-o"])
        .arg(plan)
        .args(args)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn story(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
}

#[test]
fn the_story_is_told_whole() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let data = folder.path().join("data");
    fs::write(&data, vec![1; 8 << 20]).unwrap();
    fs::File::open(&data).unwrap().sync_all().unwrap();
    let plan = folder.path().join("a.prefetch");
    let output = speedup(&plan, &["--", "cksum", data.to_str().unwrap()]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", text(&output.stderr));
    let story = story(&output);
    assert_eq!(story["schema"], "coldstart.speedup/2");
    let fix = &story["fixes"][0];
    assert_eq!((&fix["kinds"], &fix["proven"]), (&serde_json::json!(["prefetch"]), &Value::from(true)), "{fix:#}");
    assert!(fix["cost"]["plan_bytes"].as_u64().unwrap() > 0, "{fix:#}");
    for prospect in story["prospects"].as_array().unwrap() {
        assert_eq!((&prospect["kind"], &prospect["applies"]), (&"prefetch".into(), &true.into()), "{prospect:#}");
    }
    assert!(fix["command"].as_str().unwrap().contains(plan.to_str().unwrap()));
    assert!(story["bytes"].as_u64().unwrap() >= 8 << 20);
    // Before and after, cold and hot.
    assert_eq!(story["measurement"]["summaries"].as_array().unwrap().len(), 4);
    assert!(story["limit_seconds"].as_f64().unwrap() > 0.0);

    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "the data, the plan, and no launcher's copy: {left:?}");
    let shown = Command::new(env!("CARGO_BIN_EXE_coldstart")).args(["prefetch", "show"]).arg(&plan).status().unwrap();
    assert!(shown.success());
}

#[test]
fn an_output_that_always_differs_is_no_proof_against() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let output = speedup(&folder.path().join("a.prefetch"), &["--", "sh", "-c", "echo fixed; echo $$ $(date +%s.%N)"]);
    let fix = &story(&output)["fixes"][0];
    assert_eq!(fix["proven"], true, "{fix:#}");
    assert!(fix["findings"].to_string().contains("from start to start without it, too"), "{fix:#}");
    assert!(fix["unchecked"].to_string().contains("the rest of its output"), "{fix:#}");
}

#[test]
fn a_program_that_is_different_at_each_second_or_third_start_is_not_held_against_the_plan() {
    for (every, code, word) in [(2, 0, "differs from start to start"), (3, 7, "in several ways by itself")] {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let script = format!(
            "n=$(cat {0}/n 2>/dev/null || echo 0); n=$((n + 1)); echo $n > {0}/n; echo always
             if test $((n % {every})) = 0; then echo other; exit {code}; fi",
            folder.path().display()
        );
        let output = speedup(&folder.path().join("a.prefetch"), &["--", "sh", "-c", &script]);
        let fix = &story(&output)["fixes"][0];
        assert_eq!(fix["proven"], true, "{fix:#}");
        assert!(fix["findings"].to_string().contains(word), "{fix:#}");
        assert_ne!(fix["unchecked"], serde_json::json!([]), "{fix:#}");
    }
}

/// Started through a launcher that changes the program, as the launcher that lies beside `coldstart`.
#[test]
fn a_plan_that_changes_the_program_is_refused() {
    for (launcher, word) in [
        ("shift 2; echo broken; exec \"$@\"", "its output differs in 3 of 3 starts with it"),
        ("shift 2; \"$@\"; exit 4", "with it exited with code 4"),
        ("kill -SEGV $$", "with it was killed by signal 11"),
    ] {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let ours = folder.path().join("coldstart");
        fs::hard_link(env!("CARGO_BIN_EXE_coldstart"), &ours).unwrap();
        fs::write(folder.path().join("coldstart-run"), format!("#!/bin/sh\n{launcher}\n")).unwrap();
        let output = Command::new(&ours)
            .args(["speedup", "--runs", "2", "--fixes", "prefetch", "--json", "-o"])
            .arg(folder.path().join("a.prefetch"))
            .args(["--", "echo", "hello"])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let story = story(&output);
        assert_eq!((&story["fixes"], output.status.code()), (&serde_json::json!([]), Some(1)), "{story:#}");
        for trial in story["trials"].as_array().unwrap() {
            assert_eq!(trial["proven"], false, "{trial:#}");
            assert!(trial["refused"].as_str().unwrap().contains(word), "{trial:#}");
        }
    }
}

#[test]
fn a_plan_that_cannot_be_written_is_an_error_before_the_measuring() {
    let nowhere = Path::new(coldstart_host::process::ALL).join("no");
    let output = speedup(&nowhere.join("a.prefetch"), &["--", "true"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains(nowhere.to_str().unwrap()), "{}", text(&output.stderr));
}

#[test]
fn a_check_must_hold_without_a_fix_and_is_run_for_each() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let made = folder.path().join("made");
    let program = format!("echo done > {}", made.display());
    let plan = folder.path().join("a.prefetch");
    let failing = speedup(&plan, &["--check", "test -s /no/such", "--", "sh", "-c", &program]);
    assert_eq!(failing.status.code(), Some(2));
    assert!(text(&failing.stderr).contains("fails after a start without any fix"), "{}", text(&failing.stderr));
    let check = format!("test -s {0} && rm {0}", made.display());
    let story = story(&speedup(&plan, &["--check", &check, "--", "sh", "-c", &program]));
    let findings = story["fixes"][0]["findings"].to_string();
    assert!(findings.contains("the check holds with and without it"), "{findings}");
}

/// A directory with the program `main`, which needs `second/libanswer.so` and looks for it in `first`, too.
fn with_search() -> tempfile::TempDir {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let at = |name: &str| folder.path().join(name);
    // Pointers to the same object: relative relocations of 256 kB, in a library that is found in the second directory.
    let library = "static int x; int *const pointers[] = {\n".to_owned()
        + &"&x,\n".repeat(11_000)
        + "};\nint answer(void) { return *pointers[7] + 42; }\n";
    fs::write(at("l.c"), library).unwrap();
    fs::write(
        at("m.c"),
        "#include <stdio.h>\nint answer(void);\nint main(void) { return !printf(\"%d\\n\", answer()); }\n",
    )
    .unwrap();
    fs::create_dir(at("first")).unwrap();
    fs::create_dir(at("second")).unwrap();
    let compile = |words: &[&str]| {
        let status = Command::new("cc").args(words).current_dir(folder.path()).status().unwrap();
        assert!(status.success(), "{words:?}");
    };
    compile(&["-shared", "-fPIC", "-o", "second/libanswer.so", "l.c"]);
    let search = format!("-Wl,-rpath,{}:{}", at("first").display(), at("second").display());
    compile(&["-o", "main", "m.c", "-Lsecond", "-lanswer", &search]);
    folder
}

/// All fixes on a program with much to pack and a search that fails: what lies outside stays as it is.
#[test]
fn files_are_changed_in_a_private_view_only() {
    let folder = with_search();
    let at = |name: &str| folder.path().join(name);
    let files = ["main", "second/libanswer.so"];
    let before = files.map(|name| fs::read(at(name)).unwrap());
    let output = Command::new(env!("CARGO_BIN_EXE_coldstart"))
        .args(["speedup", "--runs", "2", "--json", "-o"])
        .arg(at("a.prefetch"))
        .arg("--")
        .arg(at("main"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let story = story(&output);
    let of =
        |name: &str| story["prospects"].as_array().unwrap().iter().find(|found| found["name"] == name).unwrap().clone();
    if story["private_view"] == "none" {
        coldstart_testing::skip(&format!("no private view: {}", story["no_private_view"]));
        return;
    }
    assert!(of("pack")["applies"] == true && of("bind")["applies"] == true, "{story:#}");
    let tried = |name: &str| {
        story["trials"].as_array().unwrap().iter().any(|trial| trial["name"] == name && trial["proven"] == true)
    };
    assert!(tried("pack") && tried("bind"), "{:#}", story["trials"]);
    assert_eq!(files.map(|name| fs::read(at(name)).unwrap()), before);
    let mut left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["a.prefetch", "first", "l.c", "m.c", "main", "second"]);
}

#[test]
fn what_is_measured_is_installed_and_undone() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let ours = |words: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_coldstart"))
            .args(words)
            .env("HOME", folder.path())
            .env_remove("XDG_DATA_HOME")
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .output()
            .unwrap()
    };
    let refused = ours(&["speedup", "--place", "wrapper", "--", "true"]);
    assert!(text(&refused.stderr).contains("--install is not given"), "{}", text(&refused.stderr));

    let data = folder.path().join("data");
    fs::write(&data, vec![1; 8 << 20]).unwrap();
    fs::File::open(&data).unwrap().sync_all().unwrap();
    let program = ["--", "cksum", data.to_str().unwrap()];
    let wrapper = folder.path().join(".local/bin/cksum");
    let install =
        ["speedup", "--install", "--user", "--runs", "2", "--fixes", "prefetch", "--place", "wrapper", "--json"];
    // Whether it is faster is the disk's matter; installed is what is, or what is asked for anyway.
    for anyway in [&[][..], &["--anyway"]] {
        let done = ours(&[&install[..], anyway, &program].concat());
        let story = story(&done);
        let is_installed = done.status.code() == Some(0);
        assert!(is_installed || anyway.is_empty(), "{story:#}");
        assert_eq!(wrapper.exists(), is_installed, "{story:#}");
        assert_eq!(story["installed"].is_object(), is_installed, "{story:#}");
        if is_installed {
            let undone = ours(&[&["speedup", "--uninstall", "--user"][..], &program].concat());
            assert_eq!(undone.status.code(), Some(0), "{}", text(&undone.stderr));
            assert!(!wrapper.exists());
        }
    }
}

#[test]
fn an_image_is_tried_and_leaves_nothing() {
    if !coldstart_testing::is_root() {
        return;
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let plan = folder.path().join("a.prefetch");
    let output = Command::new(env!("CARGO_BIN_EXE_coldstart"))
        .args(["speedup", "--runs", "2", "--fixes", "image", "--ready", "stdout:^2$", "--json", "-o"])
        .arg(&plan)
        .args(["--", "perl", "-E", "use POSIX; $| = 1; say floor(2.5); sleep 600"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let story = story(&output);
    let prospect = &story["prospects"][0];
    assert_eq!((&prospect["kind"], &prospect["applies"]), (&"image".into(), &true.into()), "{story:#}");
    let fix = &story["fixes"][0];
    assert_eq!((&fix["kinds"], &fix["proven"]), (&serde_json::json!(["image"]), &Value::from(true)), "{story:#}");
    // As large as the files that it has, of which the start reads some pages.
    let of = |name: &str| fix["cost"][name].as_u64().unwrap();
    assert!(of("image_bytes") > of("memory_bytes") / 2 && of("memory_bytes") > 0, "{fix:#}");
    let (make, run) = fix["command"].as_str().unwrap().split_once(" && ").unwrap();
    assert!(run.starts_with("coldstart image run perl.erofs -- perl "), "{run}");
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["a.prefetch"]);
    let mounts = coldstart_host::mounts::Mounts::here().unwrap();
    assert!(!mounts.all().iter().any(|mount| mount.file_system == "erofs"), "{mounts:?}");

    // The program does not end by itself: the command must say when it is ready.
    let words = make.replacen("coldstart", "\"$0\"", 1);
    let mut command = Command::new("sh");
    command.args(["-c", &words, env!("CARGO_BIN_EXE_coldstart")]).current_dir(folder.path()).stdin(Stdio::null());
    let made = command.output().unwrap();
    assert!(made.status.success() && folder.path().join("perl.erofs").exists(), "{make}: {}", text(&made.stderr));
}

/// The shell that a wrapper is written for has no search to save; the program behind it has.
#[test]
fn a_program_behind_a_wrapper_is_bound() {
    let folder = with_search();
    let main = folder.path().join("main").canonicalize().unwrap();
    let wrapper =
        coldstart_testing::script(folder.path(), "wrapper", format!("#!/bin/sh\nexec {}\n", main.display()), 0o755);
    let output = Command::new(env!("CARGO_BIN_EXE_coldstart"))
        .args(["speedup", "--runs", "2", "--json", "--fixes", "bind", "--"])
        .arg(&wrapper)
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let story = story(&output);
    if story["private_view"] == "none" {
        coldstart_testing::skip(&format!("no private view: {}", story["no_private_view"]));
        return;
    }
    let bind = story["prospects"].as_array().unwrap().iter().find(|found| found["name"] == "bind").unwrap();
    assert_eq!(bind["applies"], true, "{story:#}");
    assert!(bind["why"].as_str().unwrap().contains(&format!("fewer in `{}`", main.display())), "{bind:#}");
    assert!(story["trials"].as_array().unwrap().iter().all(|trial| trial["proven"] == true), "{story:#}");
}
