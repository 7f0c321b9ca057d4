//! `--html` of `measure`, `inspect` and `speedup`: the page holds what `--json` prints, and no name in it is run.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use coldstart_testing::copy_program;

use crate::text;

/// A folder's name that would run a script if it were written as it is.
const HOSTILE: &str = "<⁄script><img src=x onerror=alert(1)>\u{202e}&'\"";

fn coldstart(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart"));
    // Not the history of whoever runs the tests.
    command.current_dir(folder).env("COLDSTART_HISTORY", folder.join("history.sqlite")).stdin(Stdio::null());
    command
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn succeeded(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

/// The page's text and the JSON in its element `coldstart-page`.
fn page(path: &Path) -> (String, Value) {
    let html = fs::read_to_string(path).unwrap();
    let (_, behind) = html.split_once("id=\"coldstart-page\">").unwrap();
    let (json, _) = behind.split_once("</script>").unwrap();
    let head = serde_json::from_str(json).unwrap();
    (html, head)
}

/// Checks that a page is of this kind and holds exactly what was printed.
fn holds(path: &Path, kind: &str, output: &Output) -> Value {
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    let (html, head) = page(path);
    assert_eq!((&head["kind"], &head["traces"]), (&Value::from(kind), &Value::from(0)));
    assert_eq!(head["report"], printed);
    assert_eq!(html.matches("<script").count(), 2, "its data and the viewer");
    assert!(!html.contains("http-equiv=\"refresh\"") && html.contains("Content-Security-Policy"));
    printed
}

#[test]
fn a_measurement_and_its_history_have_pages() {
    let folder = folder();
    let file = folder.path().join("a.html");
    let measure = |args: &[&str]| coldstart(folder.path()).arg("measure").args(args).output().unwrap();
    let output = measure(&[
        "--state",
        "hot",
        "--runs",
        "3",
        "--compare",
        "sh -c true",
        "--fail-if-slower",
        "10000",
        "--json",
        "--html",
        "a.html",
        "--",
        "true",
    ]);
    succeeded(&output);
    let printed = holds(&file, "measure", &output);
    assert_eq!(printed["schema"], "coldstart.measure/1");
    assert!(printed["gate"]["states"].as_array().is_some_and(|states| states.len() == 1));
    // Two commands, three counted runs each, and warm-ups.
    assert!(printed["samples"].as_array().unwrap().len() >= 6);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o644);

    let output = measure(&["--history", "true", "--json", "--html", "a.html"]);
    succeeded(&output);
    let printed = holds(&file, "measure", &output);
    assert_eq!(printed["schema"], "coldstart.measure-history/1");
    assert_eq!(printed["series"].as_array().unwrap().len(), 2);
    let left: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .flatten()
        .map(|entry| text(entry.file_name().as_encoded_bytes()))
        .collect();
    assert!(!left.iter().any(|name| name.starts_with(".coldstart-")), "{left:?}");
}

#[test]
fn failed_runs_are_in_the_page() {
    let folder = folder();
    // Its first run fails, as does each second one after it.
    let script = "n=$(cat n 2>/dev/null || echo 0); echo $((n + 1)) > n; exit $((n % 2))";
    let output = coldstart(folder.path())
        .args(["measure", "--state", "hot", "--runs", "4", "--json", "--html", "a.html", "--", "sh", "-c", script])
        .output()
        .unwrap();
    let printed = holds(&folder.path().join("a.html"), "measure", &output);
    let uses: Vec<&str> =
        printed["samples"].as_array().unwrap().iter().filter_map(|run| run["used"]["use"].as_str()).collect();
    assert!(uses.contains(&"failed"), "{uses:?}");
}

#[test]
fn an_inspection_has_a_page() {
    let folder = folder();
    let inspect = |args: &[&str]| coldstart(folder.path()).arg("inspect").args(args).output().unwrap();
    for args in [&["/bin/ls"][..], &["--closure", "/bin/ls"], &["/bin/ls", "--compare", "/bin/cat"]] {
        let output = inspect(&[args, &["--json", "--html", "a.html"]].concat());
        succeeded(&output);
        let printed = holds(&folder.path().join("a.html"), "inspect", &output);
        assert_eq!(printed["schema"], "coldstart.inspect/1");
    }
    // Without --json the page still has the lists that the printed report does without.
    fs::create_dir(folder.path().join("programs")).unwrap();
    fs::copy("/bin/ls", folder.path().join("programs/ls")).unwrap();
    succeeded(&inspect(&["programs", "--html", "a.html", "--svg", "a.svg"]));
    let (_, head) = page(&folder.path().join("a.html"));
    assert!(!head["report"]["objects"][0]["relocations"]["by_type"].as_array().unwrap().is_empty());
    assert!(folder.path().join("a.svg").is_file());
}

#[test]
fn a_story_has_a_page() {
    let folder = folder();
    let data = folder.path().join("data");
    fs::write(&data, vec![1; 1 << 20]).unwrap();
    let output = coldstart(folder.path())
        .args(["speedup", "--runs", "2", "--json", "--html", "a.html", "-o", "a.prefetch", "--", "cksum", "data"])
        .output()
        .unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", text(&output.stderr));
    let printed = holds(&folder.path().join("a.html"), "speedup", &output);
    assert_eq!(printed["schema"], "coldstart.speedup/2");
}

#[test]
fn hostile_names_stay_text() {
    let folder = folder();
    // A name cannot hold a slash: folders make the end of an element of it.
    let place = folder.path().join(HOSTILE).join("<").join("script><img src=x onerror=alert(1)>");
    fs::create_dir_all(&place).unwrap();
    let program = place.join("<script>alert(1)<");
    copy_program("/bin/true", &program);
    for (verb, kind) in [(&["measure", "--state", "hot", "--runs", "3"][..], "measure"), (&["inspect"], "inspect")] {
        let output = coldstart(folder.path())
            .args(verb)
            .args(["--json", "--html", "a.html", "--"])
            .arg(&program)
            .output()
            .unwrap();
        succeeded(&output);
        let file = folder.path().join("a.html");
        let printed = holds(&file, kind, &output).to_string();
        assert!(printed.contains("</script><img src=x onerror=alert(1)>"), "the name is there, whole: {printed}");
        let (html, _) = page(&file);
        assert!(!html.contains("<img") && !html.contains("<script>alert"), "and means nothing to a browser");
        assert!(!html.contains('\u{202e}') || !html.contains("<title>\u{202e}"), "nor turns the title round");
    }
}

#[test]
fn a_page_that_cannot_be_written_is_an_error_before_the_work() {
    let folder = folder();
    let ran = folder.path().join("ran");
    let touch = ["touch", ran.to_str().unwrap()];
    let nowhere = format!("{}/no", coldstart_host::process::ALL);
    for (place, words) in
        [(&*format!("{nowhere}/a.html"), &*nowhere), (".", "directory"), ("none/a.html", "none/a.html")]
    {
        for verb in [&["measure", "--state", "hot", "--html", place, "--"][..], &["speedup", "--html", place, "--"]] {
            let output = coldstart(folder.path()).args(verb).args(touch).output().unwrap();
            assert_eq!(output.status.code(), Some(2), "{verb:?}");
            assert!(text(&output.stderr).contains(words), "{}", text(&output.stderr));
            assert_eq!(text(&output.stdout), "");
            assert!(!ran.exists(), "{verb:?}: the program was started");
        }
        let output = coldstart(folder.path()).args(["inspect", "--html", place, "/bin/ls"]).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
    }
}

#[test]
fn a_page_takes_no_device_and_replaces_links() {
    let folder = folder();
    let inspect =
        |page: &str| coldstart(folder.path()).args(["inspect", "/bin/true", "--html", page]).output().unwrap();
    assert!(Command::new("mkfifo").arg(folder.path().join("pipe")).status().unwrap().success());
    for place in ["/dev/null", "pipe"] {
        let refused = inspect(place);
        let said = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(said.contains(&format!("cannot write `{place}`: it is not a regular file")), "{said}");
    }
    fs::write(folder.path().join("real.html"), "old").unwrap();
    std::os::unix::fs::symlink("real.html", folder.path().join("link.html")).unwrap();
    succeeded(&inspect("link.html"));
    assert_eq!(fs::read(folder.path().join("real.html")).unwrap(), b"old");
    assert_eq!(page(&folder.path().join("link.html")).1["kind"], "inspect");
}
