//! `coldstart speedup`: the whole story on a small program that reads a large file.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::text;

fn speedup(plan: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_coldstart"))
        .args(["speedup", "--runs", "2", "--json", "-o"])
        .arg(plan)
        .arg("--")
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
    let output = speedup(&plan, &["cksum", data.to_str().unwrap()]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", text(&output.stderr));
    let story = story(&output);
    assert_eq!(story["schema"], "coldstart.speedup/1");
    let fix = &story["fixes"][0];
    assert_eq!((&fix["fix"], &fix["proven"]), (&Value::from("prefetch"), &Value::from(true)), "{fix:#}");
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
    let output = speedup(&folder.path().join("a.prefetch"), &["sh", "-c", "echo fixed; echo $$ $(date +%s.%N)"]);
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
        let output = speedup(&folder.path().join("a.prefetch"), &["sh", "-c", &script]);
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
            .args(["speedup", "--runs", "2", "--json", "-o"])
            .arg(folder.path().join("a.prefetch"))
            .args(["--", "echo", "hello"])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let fix = &story(&output)["fixes"][0];
        assert_eq!((&fix["proven"], output.status.code()), (&Value::from(false), Some(1)), "{fix:#}");
        assert!(fix["findings"].to_string().contains(word), "{fix:#}");
    }
}

#[test]
fn a_plan_that_cannot_be_written_is_an_error_before_the_measuring() {
    let nowhere = Path::new(coldstart_host::process::ALL).join("no");
    let output = speedup(&nowhere.join("a.prefetch"), &["true"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains(nowhere.to_str().unwrap()), "{}", text(&output.stderr));
}
