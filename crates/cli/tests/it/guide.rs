//! The guide: every command in it is run, and says what stands there.
//!
//! A block marked `console` is a transcript: `$ ` begins a command for the shell, what follows is its output, `...` stands for any lines, and
//! `[1]` after it is its exit status. The commands of a chapter run one after another in a directory of their own. Numbers and units are those of the
//! machine on which the guide was written; here only the words count.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use coldstart_testing::{Turn, is_root, scratch, skip};

/// A command of a transcript.
#[derive(Debug, Default)]
struct Step {
    /// Its line in the file, from 1.
    line: usize,
    command: String,
    status: i32,
    output: Vec<String>,
}

fn guide() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/src")
}

/// The commands of a chapter, in order.
fn steps(text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut in_transcript = false;
    for (number, line) in text.lines().enumerate() {
        if line.starts_with("```") {
            in_transcript = line == "```console";
            continue;
        }
        if !in_transcript {
            continue;
        }
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step { line: number + 1, command: command.to_owned(), ..Step::default() });
            continue;
        }
        let step = steps.last_mut().expect("a transcript begins with a command");
        if let Some(more) = line.strip_prefix("> ").filter(|_| step.output.is_empty()) {
            step.command.push('\n');
            step.command.push_str(more);
        } else if let Some(status) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            step.status = status.parse().expect("an exit status");
        } else {
            step.output.push(line.to_owned());
        }
    }
    steps
}

/// A line without what differs between machines and runs: numbers, their units, bars, and how columns are filled.
fn shape(line: &str) -> String {
    const UNITS: [&str; 9] = ["ms", "s", "µs", "B", "kB", "MB", "GB", "%", "±"];
    let mut words: Vec<String> = Vec::new();
    for word in line.split_whitespace() {
        let word: String = word.chars().filter(|c| !"█▉▊▋▌▍▎▏".contains(*c)).collect();
        let mut shaped = String::new();
        for c in word.chars() {
            match c.is_ascii_digit() {
                true if shaped.ends_with('#') => {}
                true => shaped.push('#'),
                // Inside a number.
                false if (c == '.' || c == ',') && shaped.ends_with('#') => {}
                false => shaped.push(c),
            }
        }
        let is_number = shaped.trim_matches(['(', ')', ',', ';', ':', '<', '-', '+']) == "#";
        let after_number = words.last().is_some_and(|last| last == "#");
        let is_unit = UNITS.contains(&shaped.trim_end_matches(['.', ',', ';', ':', ')']));
        if shaped.is_empty() || (after_number && is_unit) || (after_number && is_number) {
            continue;
        }
        words.push(if is_number { "#".to_owned() } else { shaped });
    }
    words.join(" ")
}

/// Whether the lines are those that are expected, of which `...` stands for any.
fn fits(expected: &[String], lines: &[String]) -> bool {
    match expected.split_first() {
        None => lines.is_empty(),
        Some((first, rest)) if first.trim() == "..." => {
            (0..=lines.len()).any(|from| fits(rest, lines.get(from..).unwrap_or(&[])))
        }
        Some((first, rest)) => {
            lines.first().is_some_and(|line| shape(line) == shape(first)) && fits(rest, lines.get(1..).unwrap_or(&[]))
        }
    }
}

/// Runs a chapter; what is wrong with it, with the whole output.
fn run(chapter: &str) {
    if !is_root() {
        return skip("the guide shows cold starts, which need root");
    }
    // Another chapter would make its caches warm.
    let _turn = Turn::alone("guide");
    let path = guide().join(chapter);
    let text = fs::read_to_string(&path).unwrap();
    let home = scratch();
    let coldstart = Path::new(env!("CARGO_BIN_EXE_coldstart"));
    let programs = coldstart.parent().unwrap().display().to_string();
    let search = format!("{programs}:{}", std::env::var("PATH").unwrap_or_default());
    let place = home.path().display().to_string();
    for step in steps(&text) {
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(format!("exec 2>&1\n{}", step.command)).current_dir(home.path());
        shell.env("PATH", &search).env("HOME", home.path()).env_remove("XDG_DATA_HOME").env_remove("XDG_CONFIG_HOME");
        let output = shell.env("LC_ALL", "C.UTF-8").output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).replace(&place, "/home/me").replace(&programs, "/usr/bin");
        let lines: Vec<String> = said.lines().map(str::to_owned).collect();
        assert!(
            output.status.code() == Some(step.status) && fits(&step.output, &lines),
            "{}:{}: `{}` ended with {} and said:\n{said}",
            path.display(),
            step.line,
            step.command,
            output.status,
        );
    }
}

#[test]
fn every_chapter_is_in_the_table_of_contents_and_is_run() {
    let contents = fs::read_to_string(guide().join("SUMMARY.md")).unwrap();
    let source = include_str!("guide.rs");
    for entry in fs::read_dir(guide()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name == "SUMMARY.md" {
            continue;
        }
        assert!(contents.contains(&format!("({name})")), "SUMMARY.md does not lead to {name}");
        let has_commands = !steps(&fs::read_to_string(guide().join(&name)).unwrap()).is_empty();
        assert_eq!(
            source.contains(&format!("run(\"{name}\")")),
            has_commands,
            "{name} is not run, or has nothing to run"
        );
    }
}

#[test]
fn shapes_of_lines_forget_numbers_and_keep_words() {
    assert_eq!(shape("cold   A     5  219 ms  226 ms  ± 21  195 MB"), shape("cold A 5  1.2 s  1.31 s ± 2 1 195 MB"));
    assert_ne!(shape("a segment ends"), shape("a segment is in two parts"));
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    assert!(fits(&lines("a\n...\nb 5 ms"), &lines("a\nx\ny\nb 7 s")));
    assert!(!fits(&lines("a\n...\nb"), &lines("a\nx\nc")));
}

#[test]
fn the_introduction() {
    run("introduction.md");
}

#[test]
fn five_steps() {
    run("five-steps.md");
}

#[test]
fn desktop_users() {
    run("desktop.md");
}

#[test]
fn server_operators() {
    run("servers.md");
}

#[test]
fn packagers() {
    run("packagers.md");
}

#[test]
fn stores_and_clusters() {
    run("stores.md");
}

#[test]
fn toolchain_developers() {
    run("developers.md");
}

#[test]
fn questions() {
    run("questions.md");
}
