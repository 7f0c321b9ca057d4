//! What stands on stdout when a verb with `--json` fails, for every verb that has `--json`; and help that cannot be written.

use std::collections::BTreeSet;
use std::process::{Command, Output, Stdio};

use coldstart_testing::one_line;
use serde_json::Value;

use crate::text;

/// Each verb that has `--json`, and words that it cannot do anything with.
const VERBS: &[(&str, &[&str])] = &[
    ("bind", &["--in-place", "/no/such"]),
    ("doctor", &["--verb", "dance"]),
    ("image install", &["/no/such.erofs", "--", "true"]),
    ("image make", &["--tree", "/no/such"]),
    ("image mount", &["/no/such"]),
    ("image show", &["/no/such"]),
    ("image umount", &["/no/such"]),
    ("image verify", &["/no/such"]),
    ("index check", &["/no/such"]),
    ("index env", &["/no/such"]),
    ("index install", &["/no/such", "--", "true"]),
    ("index make", &["-o", "/no/such/index", "--", "true"]),
    ("index show", &["/no/such"]),
    ("inspect", &["/no/such"]),
    ("installed", &["no-such-installation"]),
    ("ldcache check", &["/no/such"]),
    ("ldcache show", &["/no/such"]),
    ("ldcache write", &["-o", "/no/such/cache", "/no/such"]),
    ("measure", &["--no-history", "--state", "hot", "--", "/no/such"]),
    ("order appimage", &["-o", "/no/such/out", "--trace", "/no/such", "/no/such"]),
    ("order check", &["/no/such", "--before", "/no/such", "--after", "/no/such"]),
    ("order functions", &["/no/such", "--for", "lld", "-o", "/no/such/list"]),
    ("order files", &["/no/such"]),
    ("order zip", &["-o", "/no/such/out", "--trace", "/no/such", "/no/such"]),
    ("pack", &["--in-place", "/no/such"]),
    ("pagecache evict", &["/no/such"]),
    ("pagecache restore", &["/no/such"]),
    ("pagecache save", &["/no/such/saved"]),
    ("pagecache show", &["/no/such"]),
    ("prefetch install", &["/no/such.prefetch", "--", "true"]),
    ("prefetch merge", &["-o", "/no/such/it.prefetch", "/no/such"]),
    ("prefetch record", &["--as-is", "--", "/no/such"]),
    ("prefetch show", &["/no/such"]),
    ("resolve", &["/no/such"]),
    ("speedup", &["--", "/no/such"]),
    ("status", &["/no/such"]),
    ("survey", &["/no/such", "-o", "/no/such/survey"]),
    ("survey report", &["/no/such"]),
    ("trace", &["--", "/no/such"]),
    ("trace import", &["-o", "/no/such/it.coldtrace", "/no/such"]),
    ("trace show", &["/no/such"]),
    ("trace sql", &["/no/such", "SELECT 1"]),
    ("unbind", &["--in-place", "/no/such"]),
    ("unpack", &["--in-place", "/no/such"]),
    ("verify", &["/no/such"]),
    ("view", &["/no/such", "-o", "/no/such/it.html"]),
];

fn coldstart(words: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart"));
    command.args(words).current_dir(folder.path()).stdin(Stdio::null()).output().unwrap()
}

/// The verbs below `verb`, itself included, that have `--json`, as their help says.
fn verbs_with_json(verb: &str, found: &mut BTreeSet<String>) {
    let words: Vec<&str> = verb.split_whitespace().chain(["--help"]).collect();
    let help = text(&coldstart(&words).stdout);
    if help
        .lines()
        .any(|line| line.split_whitespace().any(|word| word == "--json") && line.trim_start().starts_with('-'))
    {
        found.insert(verb.trim().to_owned());
    }
    let commands =
        help.split_once("Commands:\n").map(|(_, rest)| rest.split("\n\n").next().unwrap()).unwrap_or_default();
    // A name is set in by two columns, the lines that go on with its text by more.
    for name in commands.lines().filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' ')) {
        verbs_with_json(&format!("{verb} {}", name.split_whitespace().next().unwrap()), found);
    }
}

#[test]
fn every_verb_with_json_is_in_the_table() {
    let mut found = BTreeSet::new();
    verbs_with_json("", &mut found);
    let tried: BTreeSet<String> = VERBS.iter().map(|(verb, _)| (*verb).to_owned()).collect();
    assert_eq!(found, tried);
}

/// Checks that it failed with one JSON object on stdout, whose errors stand on stderr as well.
fn fails_with_json(words: &[&str]) {
    let output = coldstart(words);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
    assert!(said.contains("error: "), "{words:?}: {said}");
    let answer: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{words:?}: {}", text(&output.stdout)));
    assert!(answer["schema"].as_str().is_some_and(|schema| schema.starts_with("coldstart.")), "{words:?}: {answer}");
    let Some(first) = answer["error"].as_object() else {
        // Of many files, each has its own.
        let has_error = |file: &Value| file["error"].is_string() || file["refusal"].is_object();
        let files = answer["files"].as_array().or(answer["programs"].as_array());
        return assert!(files.is_some_and(|files| files.iter().any(has_error)), "{words:?}: {answer}");
    };
    // The parser breaks lines where a sentence goes on.
    assert!(one_line(&said).contains(&one_line(first["message"].as_str().unwrap())), "{words:?}: {answer}\n{said}");
    for hint in first["hints"].as_array().unwrap() {
        assert!(one_line(&said).contains(&one_line(hint.as_str().unwrap())), "{words:?}: {answer}\n{said}");
    }
}

#[test]
fn a_verb_that_fails_says_so_in_json() {
    for (verb, words) in VERBS {
        let all: Vec<&str> = verb.split_whitespace().chain(["--json"]).chain(words.iter().copied()).collect();
        fails_with_json(&all);
    }
}

#[test]
fn wrong_usage_is_told_in_json() {
    for (verb, _) in VERBS {
        fails_with_json(&verb.split_whitespace().chain(["--json", "--no-such-option"]).collect::<Vec<_>>());
    }
    // Found by the verb itself.
    fails_with_json(&["pack", "--json", "a"]);
}

#[test]
fn without_json_nothing_but_results_goes_to_stdout() {
    for words in
        [&["verify", "/no/such"][..], &["verify", "--no-such-option"], &["measure", "--no-such", "--", "--json"]]
    {
        let output = coldstart(words);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), String::new()), "{words:?}");
    }
}

#[test]
fn help_that_cannot_be_written_is_an_error() {
    let shell = |line: &str| {
        let words = ["-c", line, "sh", env!("CARGO_BIN_EXE_coldstart")];
        Command::new("sh").args(words).stdin(Stdio::null()).output().unwrap()
    };
    for words in ["--help", "--version", "pack --help", "trace show --help", "resolve --help", "resolve -h"] {
        let full = shell(&format!("\"$1\" {words} >/dev/full"));
        assert_eq!(full.status.code(), Some(2), "{words}");
        assert!(text(&full.stderr).contains("error: cannot write the result to stdout"), "{}", text(&full.stderr));
        // Nobody has to read it.
        for unread in [">&-", "| true"] {
            let output = shell(&format!("{{ \"$1\" {words}; echo $? >&2; }} {unread}"));
            assert_eq!(text(&output.stderr), "0\n", "{words} {unread}");
        }
    }
}
