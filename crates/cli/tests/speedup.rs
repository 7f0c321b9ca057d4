//! `coldstart speedup`: the whole story on a small program that reads a large file.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

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

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
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
    let output = speedup(&folder.path().join("a.prefetch"), &["date", "+%s.%N"]);
    let fix = &story(&output)["fixes"][0];
    assert_eq!(fix["proven"], true, "{fix:#}");
    assert!(fix["findings"].to_string().contains("from start to start"), "{fix:#}");
}

#[test]
fn an_output_that_differs_only_with_the_fix_is() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    // The first start and each odd one after it says "odd": recording and measuring a hot start are three starts, then
    // come the plain one and the one with the fix, and then the plain one again, two starts later.
    let script = format!(
        "n=$(cat {0}/n 2>/dev/null || echo 0); echo $((n + 1)) > {0}/n; echo $((n % 2))",
        folder.path().display()
    );
    let output = speedup(&folder.path().join("a.prefetch"), &["sh", "-c", &script]);
    let fix = &story(&output)["fixes"][0];
    assert_eq!(fix["proven"], false, "{fix:#}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_plan_that_cannot_be_written_is_an_error_before_the_measuring() {
    let output = speedup(Path::new("/proc/no/a.prefetch"), &["true"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("/proc/no"), "{}", text(&output.stderr));
}
